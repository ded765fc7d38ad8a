"""One arm of a training study: its results after an epoch, as values over its seeds."""

from collections.abc import Mapping
from dataclasses import dataclass

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured

UNITS = {
    "train_loss": "number",
    "train_accuracy_frac": "fraction",
    "test_accuracy_frac": "fraction",
}
WORDS = {
    "train_loss": "training loss",
    "train_accuracy_frac": "training accuracy",
    "test_accuracy_frac": "test accuracy",
}


@dataclass(frozen=True)
class Arm:
    """An arm's row of `accuracy` after one epoch, and the runs behind it."""

    row: Row
    runs: list[str]

    @property
    def name(self) -> str:
        """Name of the arm in the configuration."""
        return str(self.row["arm"])

    def value(self, column: str) -> Value:
        """Return train_loss, train_accuracy_frac or test_accuracy_frac, median over seeds.

        Without an interval where a seed diverged, so that nothing is claimed from the others.
        """
        found = measured(self.row, column, UNITS[column], self.runs, self.row.get("seeds"))
        return found if self.whole else found.model_copy(update={"low": None, "high": None})

    @property
    def whole(self) -> bool:
        """Whether every seed came to its end; the seeds left of a diverged arm are no sample."""
        return self.row.get("status") == "complete"


def names(inputs: Inputs, study: str) -> list[str]:
    """Return the arms of a study in the order of its table."""
    return list(dict.fromkeys(row["arm"] for row in inputs.rows("accuracy", study=study)))


def history(inputs: Inputs, study: str, arm: str) -> list[Arm]:
    """Return an arm's epochs in ascending order; none when it has no finished epoch."""
    rows = inputs.rows("accuracy", study=study, arm=arm)
    own = {"study": study, "arm": arm}
    return [
        Arm(row, inputs.runs_of(row, **own))
        for row in sorted(
            (
                row
                for row in rows
                if row.get("epoch") is not None and row.get("train_loss") is not None
            ),
            key=lambda row: row["epoch"],
        )
    ]


def after(inputs: Inputs, study: str, arm: str, epoch: int) -> Arm | None:
    """Return an arm after a given epoch, or None when it never finished that epoch."""
    return next((one for one in history(inputs, study, arm) if one.row["epoch"] == epoch), None)


def outcome(inputs: Inputs, study: str, arm: str) -> str:
    """Return the status of an arm, `not run yet` when the study has no such arm."""
    rows = inputs.rows("accuracy", study=study, arm=arm)
    return str(rows[-1]["status"]) if rows else "not run yet"


def missing(inputs: Inputs, study: str, wanted: list[str]) -> list[str]:
    """Return one line for each wanted arm without a result: failed, or not run yet."""
    results = ("complete", "diverged", "out_of_memory", "exceeds_dataset", "unavailable")
    return [
        f"{study}, {arm}: {state}"
        for arm in wanted
        if (state := outcome(inputs, study, arm)) not in results
    ]


def planned_seeds(inputs: Inputs, study: str, arm: Arm) -> int:
    """Return the seeds that an arm was planned with, those that diverged included."""
    runs = inputs.tidy_rows("runs", study=study, arm=arm.name)
    return sum(run["seeds"] for run in runs if run.get("seeds")) or arm.row.get("seeds") or 1


def left(inputs: Inputs, study: str, arm: str, epoch: int) -> int:
    """Return the seeds of an arm that have a finite training loss after an epoch."""
    runs = inputs.runs(study=study, arm=arm)
    rows = inputs.tidy_rows("epochs", epoch=epoch)
    return sum(row["run"] in runs and row.get("train_loss") is not None for row in rows)


def survivors(inputs: Inputs, study: str, epoch: int, titles: Mapping[str, str]) -> str:
    """Return that some seeds of the arms in `titles` diverged, and what follows; empty for none.

    Arms of which no seed is left are not named: they have no survivor to mislead.
    """
    some = [
        title
        for name, title in titles.items()
        if outcome(inputs, study, name) == "diverged" and left(inputs, study, name, epoch)
    ]
    if not some:
        return ""
    return (
        f"Training with {prose.join(some)} diverged for some seeds, which have no number here; "
        "the others are no fair sample, so no difference is claimed."
    )


def updates(inputs: Inputs, arm: Arm) -> int | None:
    """Return the updates that one training of the arm made up to its epoch; None if unknown."""
    steps = inputs.tidy.get("steps")
    if steps is None:
        return None
    own = steps[steps["run"].isin(arm.runs)]
    an_epoch = own[(own["epoch"] == own["epoch"].min()) & (own["seed"] == own["seed"].min())]
    count = int(an_epoch["step"].nunique())
    return count * int(arm.row["epoch"]) or None


def versus(arm: Arm, other: Arm, column: str) -> str:
    """Return `higher`, `lower`, `indistinct` or `unknown` for an arm against another.

    `unknown` where either arm is not complete: the seeds that did not diverge are no fair sample.
    """
    if not (arm.whole and other.whole):
        return "unknown"
    verdict = prose.compare(arm.value(column), other.value(column))
    return {"above": "higher", "below": "lower"}.get(verdict, verdict)


def columns_against(arm: Arm, other: Arm) -> dict[str, list[str]]:
    """Return the names of the three measures, grouped by how the arm compares with the other."""
    groups: dict[str, list[str]] = {}
    for column, words in WORDS.items():
        groups.setdefault(versus(arm, other, column), []).append(words)
    return groups


def numbers_against(arm: Arm, other: Arm) -> str:
    """Return the three measures of an arm against those of another, with their intervals."""
    return prose.join(
        [
            f"{words} {prose.quantity(arm.value(column))} against "
            f"{prose.quantity(other.value(column))}"
            for column, words in WORDS.items()
        ]
    )
