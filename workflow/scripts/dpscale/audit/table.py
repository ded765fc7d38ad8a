"""The typed table: rows of known columns, found by workers and batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpscale.audit.cells import Cell, is_unknown, number, rounded_alike, with_decimal_comma
from dpscale.audit.columns import KINDS, TIME, Column, found_columns, suits
from dpscale.audit.grid import NEEDED, Grid
from dpscale.audit.interval import Interval
from dpscale.audit.spreadsheet import MAGIC, spreadsheet_grid
from dpscale.audit.texts import decoded, read_bounded, text_grid

LARGEST_COUNT = 10**15
TIMES = ("sweep_compute_s", "epoch_s", "nodata_s")
LONGEST_S, SHORTEST_S = 1e10, 1e-9


@dataclass(frozen=True)
class Row:
    """A row: its place in the file, N, b and the numbers that it holds."""

    line: int
    workers: int
    per_worker_batch: int
    cells: dict[str, Cell]

    @property
    def global_batch(self) -> int:
        """N*b."""
        return self.workers * self.per_worker_batch

    def span(self, name: str) -> Interval | None:
        """The span of a number of this row; None where it is unknown."""
        cell = self.cells.get(name)
        return cell.span if cell else None


@dataclass(frozen=True)
class Table:
    """Rows by (N, b), the columns that they have, and how the file was read."""

    rows: dict[tuple[int, int], Row]
    columns: dict[str, Column]
    comments: list[str]
    remarks: list[str]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())


def read_table(path: Path, sheet: str | None = None) -> Table:
    """Return the table in a CSV, TSV, Markdown or .xlsx file.

    Raises OSError, or ValueError that names the row and the column where there is one.
    """
    content = read_bounded(path)
    try:
        if content.startswith(MAGIC):
            return _typed(spreadsheet_grid(content, suits, sheet).whole())
        if sheet is not None:
            raise ValueError("is no spreadsheet and has no sheets; leave --sheet out")
        text, remarks = decoded(content)
        grid = text_grid(text, suits)
        grid.remarks.extend(remarks)
        return _typed(grid.whole())
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text; save it as CSV, TSV, Markdown or .xlsx") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _typed(grid: Grid) -> Table:
    columns = found_columns(grid.header)
    used = {column.index for column in columns.values()}
    texts = (row[index] for row in grid.rows for index in used)
    comma = with_decimal_comma(texts, semicolons=grid.semicolons)
    cells = {
        column.name: _cells(grid, column, decimal_comma=comma) for column in columns.values()
    }  # fmt: skip
    rows: dict[tuple[int, int], Row] = {}
    for index, line in enumerate(grid.lines):
        place = _place(index, line)
        workers, batch = (_count(cells[name].get(index), columns[name], place) for name in NEEDED)
        if (workers, batch) in rows:
            raise ValueError(
                f"{place} and line {rows[workers, batch].line} both have {workers} workers "
                f"with batch {batch}; keep one"
            )
        known = {name: cells[name][index] for name in columns if index in cells[name]}
        rows[workers, batch] = Row(line, workers, batch, known)
    return Table(rows, columns, grid.comments, [*grid.remarks, *_readings(grid, columns, comma)])


def _place(index: int, line: int) -> str:
    return f"row {index + 1} (line {line})"


def _titled(column: Column) -> str:
    other = "" if column.header == column.name else f" ({column.header!r:.40})"
    return f"column {column.name}{other}"


def _cells(grid: Grid, column: Column, *, decimal_comma: bool) -> dict[int, Cell]:
    """The numbers of a column by the index of their row."""
    found: dict[int, Cell] = {}
    for index, row in enumerate(grid.rows):
        text = row[column.index]
        if is_unknown(text):
            continue
        kind = KINDS[column.name]
        try:
            cell = number(text, column.scale, kind, decimal_comma=decimal_comma)
            if kind is TIME and column.name in TIMES and not SHORTEST_S < cell.value < LONGEST_S:
                raise ValueError(f"{text.strip()!r:.40} is no time that an epoch can take")
        except ValueError as error:
            place = _place(index, grid.lines[index])
            raise ValueError(f"{place}, {_titled(column)}: {error}") from None
        found[index] = cell
    return dict(zip(found, rounded_alike(list(found.values())), strict=True))


def _count(cell: Cell | None, column: Column, place: str) -> int:
    about = f"{place}, {_titled(column)}"
    if cell is None:
        raise ValueError(f"{about}: is empty; every row needs it")
    if cell.typed != cell.typed.to_integral_value() or not 1 <= cell.typed <= LARGEST_COUNT:
        raise ValueError(f"{about}: {cell.typed} is no whole number of at least 1")
    return int(cell.typed)


def _readings(grid: Grid, columns: dict[str, Column], decimal_comma: bool) -> Iterator[str]:
    """How the header was understood, wherever it is not in the fixed words."""
    for column in columns.values():
        unit = f" in {column.unit}" if column.unit else ""
        if column.header != column.name:
            said = "" if column.stated or not unit else ", which the header does not say"
            yield f"the column {column.header!r} is {column.name}{unit}{said}"
    used = {column.index for column in columns.values()}
    unused = [text.strip() for i, text in enumerate(grid.header) if i not in used and text.strip()]
    if unused:
        yield f"not read: the columns {', '.join(map(repr, unused))}"
    if decimal_comma:
        yield "the comma is the decimal sign"
