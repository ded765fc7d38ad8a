"""Q4.2: what each remedy for the large batch gives when it is run."""

from collections.abc import Mapping
from typing import Any

from dpscale.reporting import arms, intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Effect, Facts, Question
from dpscale.reporting.references import GOYAL, HOFFER, YOU
from dpscale.studies.large_batch.answers import trainings
from dpscale.studies.large_batch.answers.trainings import STUDY, error_doublings

ADDED_TO = {"warmup": "linear_scaling", "zero_gamma": "warmup"}
REMEDIES = ("linear_scaling", "warmup", "zero_gamma", "more_epochs")


def facts(inputs: Inputs) -> Facts:
    """Return the remedies that were run, each with its verdicts, and those without a result."""
    planned = [row["arm"] for row in inputs.rows("accuracy", study=STUDY)]
    names = [name for name in dict.fromkeys(planned) if name in REMEDIES]
    missing = arms.missing(inputs, STUDY, ["small", "large", *names])
    missing += [] if names else [f"{STUDY}: no remedy has a run"]
    epoch = trainings.compared_epoch(inputs)
    small, large = (trainings.after(inputs, name, epoch) for name in ("small", "large"))
    last = {name: row for name in names if (row := trainings.after(inputs, name))}
    tried = [judged(row, small, large) for row in last.values() if arms.whole(row)]
    failed = [
        Row(arm=name, status=arms.outcome(inputs, STUDY, name))
        for name in names
        if name not in last or not arms.whole(last[name])
    ]
    base = [trainings.shown(row) | {"verdict": row["arm"]} for row in (small, large) if row]
    said: dict[str, Any] = {"rows": [*base, *tried]}
    if not missing:
        said |= {
            "names": names, "tried": tried, "failed": failed, "added": added(tried),
            "small": small if small and arms.whole(small) else None,
            "large": large if large and arms.whole(large) else None, "epoch": epoch,
            "plan": inputs.rows("accuracy", study=STUDY, arm="large")[0],
            "left": trainings.left(inputs, "large", epoch),
            "lost": trainings.diverged(inputs, ["small", "large", *names], epoch),
        }  # fmt: skip
    return Facts(missing, _values([large] if large else [], tried, failed), said)


def judged(row: Row, small: Row | None, large: Row | None) -> Row:
    """Return a remedy with its verdicts; `unknown` where there is nothing to compare it with."""
    compared = {
        "verdict": ("test_accuracy_frac", large),
        "loss_verdict": ("train_loss", large),
        "to_small": ("test_accuracy_frac", small),
    }
    return row | {
        name: intervals.compare(row[measure], other[measure]) if other else "unknown"
        for name, (measure, other) in compared.items()
    }


def added(tried: list[Row]) -> list[Row]:
    """Return the remedies that are added to another one, with a verdict on what they add."""
    accuracy = {row["arm"]: row["test_accuracy_frac"] for row in tried}
    return [
        Row(arm=name, base=base, verdict=intervals.compare(accuracy[name], accuracy[base]))
        for name, base in ADDED_TO.items()
        if name in accuracy and base in accuracy
    ]


def _values(base: list[Row], tried: list[Row], failed: list[Row]) -> dict[str, Value]:
    found = {f"{row['arm']}_{name}": row[name] for row in base + tried for name in arms.MEASURES}
    found |= {
        f"{row['arm']}_test_accuracy_frac": Value(value=None, unit="fraction", status=row["status"])
        for row in failed
    }
    return found or {"large_test_accuracy_frac": intervals.nothing("fraction")}


def effect(_inputs: Inputs, values: Mapping[str, Value]) -> Effect | None:
    """Return how much less test error the best remedy leaves."""
    accuracy = {
        name.removesuffix("_test_accuracy_frac"): value
        for name, value in values.items()
        if name.endswith("_test_accuracy_frac")
    }
    large = accuracy.pop("large", None)
    accuracy.pop("small", None)
    found = [
        (error_doublings(value, large), arm)
        for arm, value in accuracy.items()
        if large and intervals.compare(value, large) == "above"
    ]
    if not found:
        return None
    size, arm = max(found)
    return Effect(size, {"arm": arm, "large": large, "remedied": accuracy[arm]})


QUESTION = Question(
    "Q4.2",
    facts,
    formula=[
        r"\eta_{\text{large}} = \eta_{\text{small}} \cdot "
        r"\frac{B_{\text{large}}}{B_{\text{small}}}"
    ],
    references=[GOYAL, HOFFER, YOU],
    subject="accuracy",
    effect=effect,
)
