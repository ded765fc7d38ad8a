"""Q4.1: what a large batch does to the loss and the accuracy after the same epochs."""

from collections.abc import Mapping

from dpscale.reporting import arms, intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Effect, Facts, Question
from dpscale.reporting.references import GOYAL, KESKAR
from dpscale.studies.large_batch.answers import trainings
from dpscale.studies.large_batch.answers.trainings import STUDY, error_doublings

NAMES = ("small", "large")


def facts(inputs: Inputs) -> Facts:
    """Return both trainings after the epoch compared, and each measure with a verdict."""
    epoch = trainings.compared_epoch(inputs)
    outcomes = {name: arms.outcome(inputs, STUDY, name) for name in NAMES}
    found = {name: row for name in NAMES if (row := trainings.after(inputs, name, epoch))}
    small, large = (found.get(name) for name in NAMES)
    runs = inputs.tidy_rows("runs", study=STUDY, arm="large")
    said = {
        "rows": [trainings.shown(row) for row in found.values()], "small": small, "large": large,
        "measures": compared(small, large) if small and large else [], "outcomes": outcomes,
        "epoch": epoch, "asked_epoch": trainings.EPOCH, "boundary": inputs.rows("boundary"),
        "lost": trainings.diverged(inputs, NAMES, epoch),
        "seeds": sum(run["seeds"] or 0 for run in runs),  # those that diverged included
    }  # fmt: skip
    values = {
        f"{name}_{column}": found[name][column]
        if name in found
        else Value(value=None, unit=unit, status=outcomes[name])
        for name in NAMES
        for column, unit in arms.MEASURES.items()
    }
    values |= {f"{name}_updates": row.value("updates", "count") for name, row in found.items()}
    return Facts(arms.missing(inputs, STUDY, list(NAMES)), values, said)


def compared(small: Row, large: Row) -> list[Row]:
    """Return the measures with a verdict on the large batch against the small one."""
    verdicts = {name: intervals.compare(large[name], small[name]) for name in arms.MEASURES}
    return [
        Row(measure=name, small=small[name], large=large[name], verdict=verdict,
            kind="decided" if verdict in ("above", "below") else verdict)
        for name, verdict in verdicts.items()
    ]  # fmt: skip


def effect(_inputs: Inputs, values: Mapping[str, Value]) -> Effect | None:
    """Return how far the test errors of the two batches are apart."""
    small, large = (values[f"{name}_test_accuracy_frac"] for name in NAMES)
    verdict = intervals.compare(large, small)
    if verdict not in ("above", "below"):
        return None
    return Effect(
        error_doublings(large, small), {"small": small, "large": large, "verdict": verdict}
    )


QUESTION = Question(
    "Q4.1",
    facts,
    formula=[r"B = N b, \qquad \text{updates} = \text{epochs} \cdot \frac{D}{B}"],
    references=[KESKAR, GOYAL],
    subject="accuracy",
    effect=effect,
)
