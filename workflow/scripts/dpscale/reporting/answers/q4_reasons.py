"""Q4.1's paragraphs: how the two batches were compared, and why they differ."""

from dpscale.reporting.answers import arms, prose
from dpscale.reporting.answers.arms import Arm
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.units import format_value

STUDY = "large_batch"
EPOCH = 5


def spread_of_seeds(seeds: int) -> str:
    """Return what the interval over so few seeds is; empty where resampling narrows it."""
    if seeds == 1:
        return " With one seed there is no interval, and no difference is decided."
    if seeds > 3:
        return ""
    return (
        f" With {prose.number_word(seeds)} seeds an interval spans the smallest and the largest "
        "of them."
    )


def protocol(inputs: Inputs, small: Arm, large: Arm, epoch: int) -> str:
    """Return how the two trainings were run and measured."""
    count = arms.planned_seeds(inputs, STUDY, large)
    seeds = prose.counted(count, "seed")
    rates = {arm.row["lr"] for arm in (small, large)}
    rate = (
        f"the learning rate {large.row['lr']:g}"
        if len(rates) == 1
        else f"learning rates of their own ({small.row['lr']:g} and {large.row['lr']:g})"
    )
    short = (
        ""
        if epoch == EPOCH
        else f" The runs have {prose.counted(epoch, 'epoch')}, so the "
        f"{prose.ordinal(epoch)} stands in for the {prose.ordinal(EPOCH)}."
    )
    return (
        f"Each batch was trained with {seeds}; a number is the median over the seeds, with "
        f"the 95% bootstrap interval in brackets.{spread_of_seeds(count)} "
        "Training loss and training accuracy are "
        "averages over all samples of the epoch, taken while the model learns; test accuracy "
        "is measured after the epoch on images that training never saw. "
        f"Both use {rate}, and the same data for as many epochs.{short}"
    )


def made_updates(inputs: Inputs, small: Arm, large: Arm) -> str:
    """Return how many updates each training made; empty where unknown."""
    counts = [arms.updates(inputs, arm) for arm in (small, large)]
    if None in counts:
        return ""
    return (
        f"Both saw each training image {prose.counted(large.row['epoch'], 'time')}, but the "
        f"small batch (N = {small.row['workers']}, b = {small.row['per_worker_batch']}) made "
        f"{prose.digits(counts[0] or 0, 'update')} for it and the large one "
        f"(N = {large.row['workers']}, b = {large.row['per_worker_batch']}) {counts[1]}."
    )


def mechanism(inputs: Inputs, small: Arm, large: Arm) -> str:
    """Return the explanation that the comparison of loss and test accuracy supports."""
    counts = [arms.updates(inputs, arm) or 0 for arm in (small, large)]
    cause = " after fewer updates" if counts[1] < counts[0] else ""
    loss = arms.versus(large, small, "train_loss")
    test = arms.versus(large, small, "test_accuracy_frac")
    if loss == "higher":
        return (
            f"The large batch is behind in training loss already{cause}: what shows here is "
            "slower optimisation, the difficulty that Goyal et al. (2017) describe. The "
            "generalisation gap of Keskar et al. (2017) is another effect: lower test "
            "accuracy of models that fit the training data equally well, which this "
            "comparison of equal epochs does not isolate."
        )
    if test == "lower":
        return (
            "The large batch is not behind in training loss and still reaches a lower test "
            "accuracy: this agrees with the generalisation gap of Keskar et al. (2017), who "
            "explain it with sharp minima; sharpness was not measured here."
        )
    if loss == "lower":
        return (
            "The large batch reaches the lower training loss, so with this learning rate the "
            "noise of small batches costs more here than the extra updates gain; the loss of "
            "accuracy that Goyal et al. (2017) and Keskar et al. (2017) report is not seen."
        )
    return (
        "Neither the optimisation difficulty of Goyal et al. (2017) nor the generalisation "
        "gap of Keskar et al. (2017) can be shown with these seeds and epochs: the intervals "
        "meet."
    )


def choice(inputs: Inputs, large: Arm) -> str:
    """Return how the large batch relates to the largest that fits, and the limits of the claim."""
    boundary = (inputs.rows("boundary") or [Row()])[0]
    largest, batch = boundary.get("largest_fit_batch"), large.row["per_worker_batch"]
    text = (
        f"The claim holds for {prose.counted(large.row['workers'], 'worker')}, these epochs "
        "and this learning rate, and not for training to convergence."
    )
    if largest is None:
        return text
    if batch >= largest:
        return f"b = {batch} is the largest batch per worker that fits (Q1). {text}"
    samples, workers = large.row.get("train_samples"), large.row["workers"]
    reason = ""
    if samples and workers * largest > samples:
        updates = samples // (workers * batch)
        reason = (
            f", cut so that an epoch of {format_value(samples, 'count')} training images keeps "
            f"{prose.counted(updates, 'update')} of N = {workers} workers"
        )
    elif workers > 1:
        reason = ", which leaves memory for the buckets of DistributedDataParallel"
    return (
        f"On one worker b = {largest} fits (Q1); the large batch per worker here is "
        f"b = {batch}{reason}. {text}"
    )
