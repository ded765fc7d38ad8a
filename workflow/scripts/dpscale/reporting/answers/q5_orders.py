"""Q5's orders of samples: whether later epochs repeat the first, with and without set_epoch."""

from dataclasses import dataclass
from typing import Literal

from dpscale.reporting.answer import Column, Table
from dpscale.reporting.answers.inputs import Inputs, Row

Repetition = Literal["every", "no", "some"]


@dataclass(frozen=True)
class Orders:
    """The orders of an arm after its first epoch, and how many of them are the first again."""

    compared: int
    repeated: int
    runs: list[str]

    @property
    def repetition(self) -> Repetition:
        """Whether every, no or some later epoch repeats the order of the first."""
        if self.repeated == self.compared:
            return "every"
        return "some" if self.repeated else "no"


def orders(inputs: Inputs, arm: str) -> Orders:
    """Return the comparison of the orders of an arm's later epochs with its first."""
    rows = [row for row in inputs.rows("order", arm=arm) if row.get("epoch") is not None]
    later = [row for row in rows if row["epoch"] > 1 and row.get("same_as_first") is not None]
    return Orders(
        len(later),
        sum(bool(row["same_as_first"]) for row in later),
        sorted({run for row in later for run in inputs.runs_of(row)}),
    )


def orders_clause(given: Orders, absent: Orders) -> str:
    """Return the clause on the orders without and with set_epoch."""
    without = {
        "every": "without set_epoch every epoch has the same order of samples as the first",
        "no": "without set_epoch no later epoch repeats the order of the first, so these "
        "runs do not show the need for it",
        "some": f"without set_epoch {absent.repeated} of {absent.compared} later orders "
        "are those of the first epoch",
    }[absent.repetition]
    with_it = {
        "no": "with it no later epoch repeats the order of the first",
        "every": "with it, too, every epoch has the order of the first",
        "some": f"with it {given.repeated} of {given.compared} later orders are those of "
        "the first epoch",
    }[given.repetition]
    return f"{without}, and {with_it}"


def sampler(given: Orders, absent: Orders) -> str:
    """Return why the sampler needs the epoch, and how many orders were compared."""
    text = (
        "Since every process draws for itself, all must agree on one permutation without "
        "talking: the sampler draws it from seed and epoch, and each worker takes its own "
        "part. The sampler does not know the epoch; set_epoch tells it."
    )
    if absent.repetition == "every":
        text += (
            " Untold, it keeps epoch 0: the same samples meet in the same batches, and each "
            "worker sees the same part of the data in the same order, epoch after epoch."
        )
    return text + (
        f" Compared were the orders of all workers and seeds in the epochs after the "
        f"first: {absent.repeated} of {absent.compared} repeat the first order without "
        f"set_epoch, {given.repeated} of {given.compared} with it."
    )


def order_table(inputs: Inputs) -> Table | None:
    """Return the first samples of worker 0 in each epoch of the first seed."""
    rows: list[Row] = [row for row in inputs.rows("order") if row.get("digest") is not None]
    if not rows:
        return None
    seed = min(row["seed"] for row in rows)
    chosen = [row for row in rows if row["seed"] == seed and row["rank"] == 0]
    columns = [
        Column(key="arm", title="Sampler"),
        Column(key="epoch", title="Epoch"),
        Column(key="first_indices", title="First samples of worker 0"),
        Column(key="same_as_first", title="Order of the first epoch", unit="flag"),
    ]
    cells = [
        {
            **{column.key: row[column.key] for column in columns},
            "arm": str(row["arm"]).replace("_", " ", 1),
        }
        for row in chosen
    ]
    return Table(
        caption=f"The order of samples by epoch, worker 0, seed {seed}.",
        columns=columns,
        rows=cells,
        runs=[inputs.runs_of(row) for row in chosen],
    )
