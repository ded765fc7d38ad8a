"""The trainings of the study: the epoch that is compared, and each arm after some epoch."""

from collections.abc import Iterable

from dpscale.derive.cells import first_known
from dpscale.reporting import arms
from dpscale.reporting.inputs import Inputs, Row
from dpscale.studies.large_batch.derive import STUDY, compared_epoch, updates


def epoch_of(inputs: Inputs) -> int:
    """Return the epoch that is compared."""
    rows = inputs.rows("accuracy", study=STUDY)
    return compared_epoch(row["epochs"] for row in rows if row["arm"] in ("small", "large"))


def apart(inputs: Inputs, arm: str, base: str) -> Row | None:
    """Return how far one arm is from another, as the table has it; None where it has not."""
    found = inputs.rows(STUDY, arm=arm, base=base)
    return found[0] if found else None


def after(inputs: Inputs, arm: str, epoch: int | None = None) -> Row | None:
    """Return an arm after an epoch, or after its last one; None where it has no such epoch.

    `updates` are those that one training made for it; None where unknown.
    """
    rows = arms.history(inputs, STUDY, arm)
    found = [row for row in rows if epoch in (None, row["epoch"])][-1:]
    if not found:
        return None
    made = updates(inputs.tidy["steps"], found[0].runs, int(found[0]["epoch"]))
    return found[0] | {"updates": made}


def level(inputs: Inputs) -> Row | None:
    """Return the small batch after as many updates as the large one, as the table has it.

    apart: the test accuracy of the large batch less that.
    """
    rows = inputs.rows("equal_updates")
    found = after(inputs, "small", rows[0]["epoch"]) if rows else None
    if found is None:
        return None
    apart = rows[0].value("test_accuracy_difference_frac", "points")
    return found | {"to_level": rows[0]["to_level"], "apart": apart}


def sampled(inputs: Inputs) -> dict[str, int | None]:
    """Return what an interval rests on: the seeds, those that diverged too, and the test images."""
    runs = inputs.tidy_rows("runs", study=STUDY, arm="large")
    images = first_known(run["test_samples"] for run in runs)
    return {"seeds": sum(run["seeds"] or 0 for run in runs), "test_samples": images}


def shown(row: Row) -> Row:
    """Return a training as a table has it: `small_left` where seeds of it diverged."""
    return row | {"training": row["arm"] if arms.whole(row) else f"{row['arm']}_left"}


def diverged(inputs: Inputs, names: Iterable[str], epoch: int) -> list[str]:
    """Return the arms that diverged for some seeds while others finished the epoch."""
    lost = [name for name in names if arms.outcome(inputs, STUDY, name) == "diverged"]
    return [name for name in lost if left(inputs, name, epoch)]


def left(inputs: Inputs, arm: str, epoch: int) -> int:
    """Return the seeds of an arm that have a finite training loss after an epoch."""
    runs = inputs.runs(study=STUDY, arm=arm)
    rows = inputs.tidy_rows("curves", epoch=epoch)
    return sum(row["run"] in runs and row["train_loss"] is not None for row in rows)
