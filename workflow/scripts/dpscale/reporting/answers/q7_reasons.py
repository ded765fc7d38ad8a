"""Q7's paragraphs: parameters, running statistics, and what they do to the evaluation."""

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.q7_replicas import (
    Losses,
    Replicas,
    costs,
    exceeds,
)
from dpscale.units import format_value


def loss_clause(compared: Losses) -> str:
    """Return the clause on the training losses of both arms."""
    if not compared.compared:
        return "the training losses were not recorded"
    if compared.equal == compared.compared:
        return "the training loss is the same, bit for bit, as with the broadcast"
    gap = format_value(compared.largest_gap, "number")
    return (
        f"the training loss differs from that with the broadcast in "
        f"{compared.compared - compared.equal} of {compared.compared} steps, by up to {gap}"
    )


def points(value: Value) -> str:
    """Return a difference of two accuracies in percentage points."""
    return prose.points(float(value.value or 0.0))


def protocol(off: Replicas) -> str:
    """Return how the two arms were run and compared."""
    row, count = off.rows[-1], len({one["seed"] for one in off.rows})
    seeds = "seed" if count == 1 else prose.counted(count, "seed")
    return (
        f"The same training was run on {prose.counted(row['workers'], 'worker')} with and "
        f"without the broadcast of buffers, from the same {seeds}. After each epoch "
        "the bytes of all parameters were compared between workers, then their running "
        "statistics, and every worker evaluated the whole test set with its own statistics. "
        "Numbers are the largest over workers and seeds after the last epoch."
    )


def parameters(off: Replicas, compared: Losses) -> str:
    """Return why the parameters stay identical, or that they do not."""
    if off.identical:
        text = (
            "The parameters stay identical because all replicas start equal, receive the same "
            "averaged gradients and make the same update (Li et al., 2020)."
        )
    else:
        text = (
            "Replicas that start equal and receive the same averaged gradients should make "
            "the same update (Li et al., 2020); these did not stay equal or were not "
            "compared, so something else enters the update."
        )
    if compared.compared and compared.equal == compared.compared:
        return (
            f"{text} All {compared.compared} training losses, one for each step, worker and "
            "seed, agree bit for bit: in training, batch normalisation uses the mean and "
            "variance of the batch at hand (Ioffe and Szegedy, 2015), so running statistics "
            "do not enter the loss."
        )
    return (
        f"{text} In training, batch normalisation uses the mean and variance of the batch at "
        f"hand (Ioffe and Szegedy, 2015), so equal losses are expected; here "
        f"{loss_clause(compared)}."
    )


def statistics(off: Replicas, on: Replicas) -> str:
    """Return how far the running statistics differ without and with the broadcast."""
    without, with_it = (arm.last("buffer_difference_frac_max") for arm in (off, on))
    if not without or not with_it:
        return "The running statistics were not compared."
    numbers = (
        f"at the end they differ by up to {format_value(max(without), 'fraction')} "
        f"without the broadcast and {format_value(max(with_it), 'fraction')} with it"
    )
    if min(without) > max(with_it):
        verdict = "larger without it in every seed"
    elif max(without) < min(with_it):
        verdict = "larger with it in every seed"
    else:
        verdict = (
            "not larger in every seed of either side, so the broadcast makes no clear "
            "difference here"
        )
    text = f"Each worker updates its running statistics from its own samples: {numbers}, {verdict}."
    if max(with_it) > 0:
        text += (
            " Even with the broadcast they differ after the last step, since it comes before "
            "the forward pass, and each worker then updates its own once more."
        )
    return text


def consequence(off: Replicas, on: Replicas, test_samples: int | None) -> str:
    """Return what the statistics do to the test accuracy, and what follows."""
    spreads = [arm.largest("test_accuracy_spread_frac") for arm in (off, on)]
    if None in (spreads[0].value, spreads[1].value):
        return "The spread of the test accuracy over workers was not measured."
    text = (
        f"The test accuracy of one model spreads over the workers' statistics by up to "
        f"{points(spreads[0])} without the broadcast and {points(spreads[1])} with it."
    )
    if test_samples:
        text += (
            f" One of the {format_value(test_samples, 'count')} test images weighs "
            f"{prose.points(1 / test_samples)}."
        )
    if costs(*spreads):
        seeds = _in_every_seed(off, on)
        return (
            f"{text} By the largest over the seeds{seeds} the spread is larger without the "
            "broadcast. Sending only gradients is therefore not enough for evaluation: it needs "
            "one set of statistics, broadcast or averaged before the test."
        )
    if spreads[0].value:
        differ = "; the statistics themselves differ" if max(_drifts(off), default=0) else ""
        return (
            f"{text} By the largest over the seeds it is no larger than with the broadcast, so "
            f"this test set shows no cost{differ}."
        )
    return (
        f"{text} The test set has too few images, or the drift is too small, for the "
        "statistics to change a prediction count here."
    )


def _drifts(arm: Replicas) -> list[float]:
    return arm.last("buffer_difference_frac_max")


def _in_every_seed(off: Replicas, on: Replicas) -> str:
    """Whether each seed's spread is larger without the broadcast; empty for a single seed."""
    without, with_it = (
        {
            row["seed"]: row["test_accuracy_spread_frac"]
            for row in sorted(arm.rows, key=lambda row: row["epoch"])
            if row.get("test_accuracy_spread_frac") is not None
        }
        for arm in (off, on)
    )
    both = without.keys() & with_it.keys()
    if len(both) < 2:
        return ""
    every = all(exceeds(without[seed], with_it[seed]) for seed in both)
    return ", and in every seed," if every else ", though not in every seed,"
