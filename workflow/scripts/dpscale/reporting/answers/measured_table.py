"""One way to make a table of a derived table's rows: each cell a value with its runs."""

from collections.abc import Callable, Sequence

from dpscale.reporting.answer import Cell, Column, Table
from dpscale.reporting.answers.inputs import Inputs, Row, measured

WORKERS = Column(key="workers", title="Workers N", unit="setting")
NODES = Column(key="nodes", title="Nodes", unit="setting")
BATCH = Column(key="per_worker_batch", title="Batch per worker b", unit="setting")


def placed(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """Return the columns with the nodes after the workers, where any workers span several."""
    several = any((row.get("nodes") or 1) > 1 for row in rows)
    after = {WORKERS.key} if several else set()
    return [
        one for column in columns for one in ([column, NODES] if column.key in after else [column])
    ]


def measured_table(
    inputs: Inputs,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    also: Callable[[Row], dict[str, Cell]] | None = None,
) -> Table:
    """Return a table whose columns are those of the rows; one without a unit holds text.

    `also` gives the cells of a row that are made otherwise, by key.
    """

    columns = placed(columns, rows)

    def cells(row: Row) -> dict[str, Cell]:
        """The cells of a row by key: made otherwise, measured, or text."""
        runs, made = inputs.runs_of(row), also(row) if also else {}
        return {
            column.key: made[column.key]
            if column.key in made
            else measured(row, column.key, column.unit, runs, row.get("repeats"))
            if column.unit
            else row.get(column.key)
            for column in columns
        }

    return Table(
        caption=caption,
        columns=columns,
        rows=[cells(row) for row in rows],
        runs=[inputs.runs_of(row) for row in rows],
    )
