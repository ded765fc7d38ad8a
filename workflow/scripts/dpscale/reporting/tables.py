"""Tables as the templates show them: text, intervals and links, no value left to format."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from markupsafe import Markup, escape

from dpscale.reporting.answer import AnswerCell, AnswerTable, Column, Value
from dpscale.reporting.formula import with_formulas
from dpscale.reporting.links import Sources, runs_text
from dpscale.units import (
    MOST_DECIMALS,
    ColumnFormat,
    column_format,
    format_value,
    group_digits,
    is_null,
    status_text,
)

NOTHING = "–"
ROWS_KEPT_TOGETHER = 4
MANY_COLUMNS = 8
LETTERS_OF_A_LINE = 105  # of a table in print
LETTERS_OF_WORDS = 16  # of a cell of words, in a table without room
GAP = 3  # letters between columns
FEWEST_ROWS_OF_SPARSE = 4  # in a table of fewer rows a blank tells more than a line below
SPARSE = 0.75  # share of blanks from which a column is no column
MOST_ROWS = 50  # of a table: nobody reads more, and thousands take a PDF hours
SETTINGS = ("count", "setting")  # what was set has no runs behind it; what was measured has


@dataclass(frozen=True)
class Shown:
    """A measurement as text, its interval apart, and the link to the runs behind it.

    key: what a column of a table is sorted by, the number before it was rounded.
    """

    text: str
    interval: str = ""
    href: str = ""
    runs: str = ""
    key: str = ""


@dataclass(frozen=True)
class Head:
    """Head of a table's column; a numeric one is set flush right."""

    title: Markup
    symbol: str
    numeric: bool


@dataclass(frozen=True)
class Sparse:
    """A column that most rows have nothing in: its cells, each with the words for its row."""

    head: Head
    cells: list[tuple[Markup, Shown | str]]


@dataclass(frozen=True)
class TableView:
    """A table ready to print: every cell is a measurement (`Shown`) or text.

    caption: says so where not all rows are in `rows`.
    left_out: why, and the heads of, columns without one result that made the table too wide.
    sparse: columns that are said below the table, as they are blank in most of its rows.
    """

    number: str
    caption: Markup
    columns: list[Head]
    rows: list[list[Shown | str]]
    left_out: list[tuple[str, list[Markup]]]
    sparse: list[Sparse]

    @property
    def short(self) -> bool:
        """Whether the table can stand on one page of print."""
        return len(self.rows) <= ROWS_KEPT_TOGETHER

    @property
    def wide(self) -> bool:
        """Whether the table needs smaller type in print."""
        return len(self.columns) > MANY_COLUMNS

    @property
    def roomy(self) -> bool:
        """Whether in print an interval has room beside its value, and needs no line below it."""
        return self._letters(beside=True) <= LETTERS_OF_A_LINE

    @property
    def tight(self) -> bool:
        """Whether in print an interval has to be broken even where it stands below its value."""
        return self._letters(beside=False) > LETTERS_OF_A_LINE

    def _letters(self, *, beside: bool) -> int:
        """How long the longest line is, heads aside; beside: with intervals beside their values."""
        columns = zip(*self.rows, strict=True)
        return sum(GAP + max(_letters(cell, beside) for cell in cells) for cells in columns)


def _letters(cell: Shown | str, beside: bool) -> int:
    if isinstance(cell, str):  # words can be broken
        return len(cell) if beside else min(len(cell), LETTERS_OF_WORDS)
    parts = (len(cell.text), len(cell.interval))
    return sum(parts) + GAP if beside and cell.interval else max(parts)


def shown(value: Value, sources: Sources) -> Shown:
    """Return a measurement as text with its unit and the link to its runs."""
    text = format_value(value.value, value.unit, status=value.status)
    full = format_value(
        value.value, value.unit, low=value.low, high=value.high, status=value.status
    )
    head, _, interval = full.partition(" (")
    return Shown(
        head if interval else text,
        interval.rstrip(")"),
        sources.href(value.runs),
        runs_text(value.runs),
    )


def _number(cell: AnswerCell) -> float | None:
    if isinstance(cell, Value):
        return cell.value
    return cell if isinstance(cell, int | float) else None


def _cell(
    cell: AnswerCell, form: ColumnFormat | None, runs: Sequence[str], sources: Sources
) -> Shown | str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Value):
        behind = cell.runs or runs
        unit = form or column_format([cell.value, cell.low, cell.high], cell.unit)
        if is_null(cell.value):
            return Shown(
                unit.text(None, status=cell.status), "", sources.href(behind), runs_text(behind)
            )
        unit, ends = _with_ends(cell, unit)
        key = "" if cell.value is None else _key(cell.value)
        return Shown(unit.text(cell.value), ends, sources.href(behind), runs_text(behind), key)
    if cell is None or is_null(cell):
        return NOTHING
    text = form.text(cell) if form else group_digits(cell, 0 if float(cell).is_integer() else 3)
    if form is None or form.unit in SETTINGS:
        return text
    return Shown(text, "", sources.href(runs), runs_text(runs), _key(cell))


def _key(value: float) -> str:
    """A number as JavaScript reads it, with more digits than anything measured has."""
    return f"{value:.9g}".replace("inf", "Infinity")


def _with_ends(cell: Value, form: ColumnFormat) -> tuple[ColumnFormat, str]:
    """The interval of a value as text, and the format, with decimals that part its ends.

    No text where there is no interval, or one too narrow for any digit to show it.
    """
    if cell.value is None or cell.low is None or cell.high is None or cell.low == cell.high:
        return form, ""
    finer = form.of_interval(cell.value, cell.low, cell.high)
    while finer.text(cell.low) == finer.text(cell.high):
        if finer.decimals == MOST_DECIMALS:
            return form, ""
        finer = replace(finer, decimals=finer.decimals + 1)
    return finer, f"{finer.text(cell.low)} to {finer.text(cell.high)}"


def _form(column: Column, cells: Sequence[AnswerCell]) -> ColumnFormat | None:
    """The format of a column's numbers; None for a column without a unit."""
    units = {cell.unit for cell in cells if isinstance(cell, Value)}
    unit = column.unit or (units.pop() if len(units) == 1 else "")
    return column_format([_number(cell) for cell in cells], unit) if unit else None


def _empty(cells: Sequence[AnswerCell]) -> str | None:
    """Why a column has no result in any row; None for a column that has one."""
    if not cells or not all(isinstance(cell, Value) and is_null(cell.value) for cell in cells):
        return None
    reasons = {status_text(cell.status) for cell in cells if isinstance(cell, Value)}
    return reasons.pop() if len(reasons) == 1 else None


def _caption(table: AnswerTable) -> str:
    """The caption; of a table that is cut, with where the other rows are."""
    count = len(table.rows)
    if count <= MOST_ROWS:
        return table.caption
    shown_rows, all_rows = (group_digits(number) for number in (MOST_ROWS, count))
    return (
        f"{table.caption.rstrip('.')}. The first {shown_rows} of {all_rows} rows; all are in "
        "answers.json, and what they are made of in derived/*.csv"
    )


def _blank(cell: AnswerCell) -> bool:
    """Whether a cell says nothing; a measurement that failed says why."""
    return cell in ("", NOTHING) or (not isinstance(cell, str | Value) and is_null(cell))


def _is_sparse(cells: Sequence[AnswerCell]) -> bool:
    """Whether a column is blank in most rows."""
    blank = sum(map(_blank, cells))
    return len(cells) >= FEWEST_ROWS_OF_SPARSE and blank >= SPARSE * len(cells)


def _row_words(heads: Sequence[Head], row: Sequence[Shown | str]) -> Markup:
    """What a row is about: its first column, or its settings up to the first measurement."""
    said: list[Markup] = []
    for head, cell in zip(heads, row, strict=True):
        if not isinstance(cell, str) and said:
            break
        text = cell if isinstance(cell, str) else cell.text
        said.append(Markup("{} {}").format(head.title, text) if head.numeric else escape(text))
    return Markup(", ").join(said)


def table_view(table: AnswerTable, sources: Sources, *, number: str, image: bool) -> TableView:
    """Return a table with one scale a column and each measurement linked to its runs.

    A table of many columns leaves out those without one result, and one of very many rows all but
    the first MOST_ROWS; both say so. A column that most rows have nothing in is said below it.
    """
    of_rows = list(zip(table.rows, table.runs or repeat([]), strict=False))[:MOST_ROWS]
    heads: list[Head] = []
    columns: list[list[Shown | str]] = []
    few: list[tuple[Head, list[Shown | str]]] = []
    left_out = dict[str, list[Markup]]()
    for place, column in enumerate(table.columns):
        cells = [row[column.key] for row in table.rows]
        head, form = _head(column, cells, image=image)
        sparse = place > 0 and _is_sparse(cells[:MOST_ROWS])
        reason = _empty(cells) if len(table.columns) > MANY_COLUMNS else None
        if reason or (sparse and all(map(_blank, cells))):
            left_out.setdefault(reason or "no row has", []).append(head.title)
            continue
        drawn = [_cell(row[column.key], form, runs, sources) for row, runs in of_rows]
        if column.formulas:
            drawn = [with_formulas(c, image=image) if isinstance(c, str) else c for c in drawn]
        if sparse:
            few.append((head, drawn))
        else:
            heads.append(head)
            columns.append(drawn)
    rows = [list(row) for row in zip(*columns, strict=True)]
    words = [_row_words(heads, row) for row in rows]
    return TableView(
        number,
        with_formulas(_caption(table), image=image),
        heads,
        rows,
        list(left_out.items()),
        [Sparse(head, _said(words, drawn)) for head, drawn in few],
    )


def _said(
    words: Sequence[Markup], cells: Sequence[Shown | str]
) -> list[tuple[Markup, Shown | str]]:
    return [
        (row, cell) for row, cell in zip(words, cells, strict=True) if cell not in ("", NOTHING)
    ]


def _head(
    column: Column, cells: Sequence[AnswerCell], *, image: bool
) -> tuple[Head, ColumnFormat | None]:
    """The head of a column, and the format of its numbers."""
    title, form = with_formulas(column.title, image=image), _form(column, cells)
    if form is None:
        return Head(title, "", any(_number(cell) is not None for cell in cells)), None
    return Head(title, form.symbol, form.unit != "flag"), form
