"""S4's paragraphs: the protocol, what differs, what it costs, and what was expected."""

from dpscale.reporting.answers import prose, s4_costs, s4_rate
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.s4_rows import (
    POST_AGAINST_LARGE,
    arm_name,
    arm_row,
    comparisons,
    difference,
    points,
    regime,
    value_of,
)


def paragraphs(inputs: Inputs) -> list[str]:
    """Return the paragraphs of the answer."""
    texts = [
        _protocol(inputs),
        *_others(inputs),
        _losses(inputs),
        _best(inputs),
        s4_costs.communication(inputs),
        s4_costs.links(inputs),
        _published(inputs),
        _expected(inputs),
    ]
    return [text for text in texts if text]


def _protocol(inputs: Inputs) -> str:
    rows = inputs.rows("local_sgd")
    large = next(row for row in rows if row["arm"] == "A2")
    run = inputs.tidy_rows("runs", run=large["runs"])[0]
    switch = next((row for row in inputs.rows("local_sgd_curves")
                   if (row.get("switch_epoch") or 0) > 0), None)  # fmt: skip
    local = (
        f" It averages gradients in every step of the first {switch['switch_epoch']:g} epochs, up "
        "to the first fall of the rate, and parameters every H steps from then on."
        if switch
        else ""
    )
    return (
        f"{prose.capitalised(prose.counted(large['workers'], 'learner'))} of "
        f"b = {large['per_worker_batch']} train {run['model']} on {run['dataset']} for "
        f"{prose.counted(large['epochs'], 'epoch')}; each has a momentum of its own. "
        f"{s4_rate.choice(inputs)}{local} "
        "Where there are fewer devices than learners several of them are stacked on one, which "
        "changes no number. Parameters and running statistics are averaged once more at the end. "
        f"Medians over {prose.counted(large['seeds'], 'seed')} with 95% intervals; differences "
        "are paired by seed. Wrong labels are in the training set alone."
    )


def _others(inputs: Inputs) -> list[str]:
    """Return the other comparisons, a paragraph for each regime."""
    names = {
        "post-local against small": ("post-local SGD", "the small mini-batch"),
        "small against large": ("the small mini-batch", "the large one"),
        "more local steps": ("post-local SGD of the most local steps", "that of the fewest"),
    }
    found: dict[str, list[str]] = {}
    for comparison, (one, other) in names.items():
        for row in comparisons(inputs, comparison):
            value = difference(inputs, row)
            word = {
                "above": "is more accurate than",
                "below": "is less accurate than",
                "indistinct": "cannot be told apart from",
                "unknown": "cannot be compared with",
            }[prose.against(value, 0.0)]
            number = "" if value.value is None else f" ({points(value)})"
            found.setdefault(regime(row), []).append(f"{one} {word} {other}{number}")
    return [f"{prose.capitalised(where)}: {'; '.join(parts)}." for where, parts in found.items()]


def _losses(inputs: Inputs) -> str:
    """Return whether post-local SGD gives up training loss for what it has in test accuracy."""
    parts = []
    for row in comparisons(inputs, POST_AGAINST_LARGE):
        values = []
        for side in ("minuend", "subtrahend"):
            values.append(
                value_of(inputs, arm_row(inputs, row, row[side]) or Row(), "train_loss", "number")
            )
        word = {
            "above": "a higher training loss than the large mini-batch",
            "below": "a lower training loss than the large mini-batch",
            "indistinct": "a training loss that cannot be told apart from the large mini-batch's",
            "unknown": "a training loss that cannot be compared with the large mini-batch's",
        }[prose.compare(*values)]
        numbers = " against ".join(prose.quantity(value) for value in values)
        parts.append(f"{word} {regime(row)} ({numbers})")
    return f"Post-local SGD has {'; '.join(parts)}." if parts else ""


def _best(inputs: Inputs) -> str:
    """Return the most accurate arm of each regime, and whether it is the one that fits least."""
    parts = []
    for row in comparisons(inputs, POST_AGAINST_LARGE):
        arms = [
            one
            for one in inputs.rows("local_sgd", label_noise_frac=row["label_noise_frac"])
            if one.get("test_accuracy_frac") is not None
        ]
        large = next((one for one in arms if one["arm"] == row["subtrahend"]), None)
        if large is None:
            continue
        better = [
            one for one in arms
            if prose.against(value_of(inputs, one, "over_large_frac", "fraction"), 0.0) == "above"
        ]  # fmt: skip
        if not better:
            parts.append(f"{regime(row)} no arm is more accurate than the large mini-batch")
            continue
        best = max(better, key=lambda one: one["test_accuracy_frac"])
        accuracy = prose.quantity(value_of(inputs, best, "test_accuracy_frac", "fraction"))
        losses = [value_of(inputs, arm, "train_loss", "number") for arm in (best, large)]
        text = f"{regime(row)} the most accurate arm is {arm_name(best)} ({accuracy})"
        if prose.compare(*losses) == "above":
            text += (
                f", which fits its training labels less than the large mini-batch, with a loss of "
                f"{prose.bare(losses[0])} against {prose.bare(losses[1])}: after equal epochs, "
                "better generalisation and slower optimisation are not told apart here"
            )
        parts.append(text)
    return f"{prose.capitalised('; '.join(parts))}." if parts else ""


def _published(inputs: Inputs) -> str:
    rows = inputs.rows("published_local_sgd")
    if not rows:
        return ""
    counts = {word: sum(row["verdict"] == word for row in rows)
              for word in ("agrees", "disagrees", "not decidable")}  # fmt: skip
    return (
        "Lin et al. (2020) find post-local SGD better than small and large mini-batches, and 32 "
        "local steps better than 16, on CIFAR-10 and CIFAR-100 with ResNet-20. Network and data "
        "differ here, so a verdict concerns the direction alone: of "
        f"{prose.digits(len(rows), 'comparison')} {counts['agrees']} "
        f"{prose.verb(counts['agrees'], 'agrees', 'agree')}, {counts['disagrees']} "
        f"{prose.verb(counts['disagrees'], 'disagrees', 'disagree')} and "
        f"{counts['not decidable']} {prose.verb(counts['not decidable'], 'is', 'are')} not "
        "decidable."
    )


def _expected(inputs: Inputs) -> str:
    rows = inputs.tidy_rows("runs", study="local_sgd")
    text = next((row["expected"] for row in rows if row.get("expected")), None)
    return f"Expected before the run: {str(text).rstrip('.')}." if text else ""
