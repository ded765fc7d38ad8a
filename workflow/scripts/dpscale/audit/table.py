"""The typed table: which of its columns means what, and its rows by workers and batch."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpscale.audit.cells import (
    COUNT,
    RATIO,
    TIME,
    Interval,
    Scale,
    SheetCell,
    number,
    rate,
    rounded_alike,
    with_decimal_comma,
)
from dpscale.audit.files import Grid, read_grid
from dpscale.records.audit import Cause, cause
from dpscale.records.storage import about

NEEDED = ("workers", "per_worker_batch")
TIMES = ("sweep_compute_s", "epoch_s", "nodata_s")
KINDS: dict[str, Scale] = {
    **dict.fromkeys((*NEEDED, "steps"), COUNT),
    **dict.fromkeys((*TIMES, "printed_compute_s", "printed_comm_s"), TIME),
    **{"printed_speedup": RATIO, "printed_bandwidth_gb_per_s": rate},
}
USUAL_UNITS: dict[Scale, str] = {COUNT: "", TIME: "s", RATIO: "", rate: "GB/s"}
LARGEST_COUNT = 10**15
LONGEST_S, SHORTEST_S = 1e10, 1e-9
# Lower case, words apart by one space; "printed", "measured" and the like are left out before.
SPELLINGS = {
    "workers": "n|gpus|gpu|ngpus|n gpus|num gpus|no of gpus|number of gpus|gpu count|workers|"
    "worker|n workers|number of workers|no of workers|world size|worldsize|processes|nproc|ranks|"
    "devices|number of devices|number of gpu",
    "per_worker_batch": "b|bs|batch|batch size|batchsize|minibatch|mini batch|mini batch size|"
    "per worker batch|per worker batch size|batch per worker|batch size per worker|batch per gpu|"
    "batch size per gpu|per gpu batch|per gpu batch size|local batch|local batch size|batch gpu|"
    "batch size gpu",
    "sweep_compute_s": "sweep compute|sweep|sweep time|single gpu compute|one gpu compute|"
    "single gpu time|q1 time|one worker compute|single worker compute",
    "epoch_s": "epoch|epoch time|time|total|total time|time per epoch|training time|running time|"
    "runtime|run time|t|t n|tn|wall time|elapsed|elapsed time|epoch total|time with loading|"
    "with loading|time epoch",
    "nodata_s": "nodata|no data|no loading|without loading|without data loading|"
    "time without loading|time without data loading|epoch without loading|"
    "epoch without data loading|time w o loading|nodata time|epoch nodata",
    "steps": "steps|step|n steps|num steps|number of steps|iterations|iters|number of iterations|"
    "updates|global steps",
    "printed_speedup": "speedup|speed up|t1 tn|t 1 t n",
    "printed_compute_s": "compute|computation|compute time|computation time|computing|"
    "computing time|comp|comp time",
    "printed_comm_s": "comm|communication|comm time|communication time|allreduce time|"
    "all reduce time|sync time",
    "printed_bandwidth_gb_per_s": "bandwidth|bw|bandwidth utilization|bandwidth utilisation|"
    "bus bandwidth|busbw|link bandwidth|effective bandwidth",
}
NAMES = {text: name for name, texts in SPELLINGS.items() for text in texts.split("|")}
LONGEST = 80  # characters of a header that are looked at
_GLOBAL = re.compile(r"\b(global|overall|effective batch)\b", re.I)
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
_MARKUP = re.compile(r"[*`$]")
_LEADING = re.compile(r"^(printed|reported|measured|mean|average|avg|median) ")
_LAST = re.compile(r"^(.*?)(?:[\s_,/]+in)?[\s_,/]+([^\s_,/]+(?:[\s_]*(?:/|per[\s_])[\s_]*\S+)?)$")

Setting = tuple[int, int]  # N, b


@dataclass(frozen=True)
class Column:
    """A column that the audit reads; unit as the header states it, else the usual one."""

    name: str
    index: int
    header: str
    unit: str
    stated: bool

    @property
    def scale(self) -> float:
        """Base units of one of the column's unit."""
        return KINDS[self.name](self.unit) or 1.0

    def __str__(self) -> str:
        """Return its name, and its header where that is another."""
        other = "" if self.header == self.name else f" ({self.header!r:.40})"
        return f"column {self.name}{other}"


@dataclass(frozen=True)
class TimingRow:
    """A row: its place in the file, N, b and the numbers that it holds."""

    line: int
    workers: int
    per_worker_batch: int
    cells: dict[str, SheetCell]

    @property
    def place(self) -> Setting:
        """N and b."""
        return self.workers, self.per_worker_batch

    @property
    def global_batch(self) -> int:
        """N*b."""
        return self.workers * self.per_worker_batch

    def span(self, name: str) -> Interval | None:
        """The span of a number of this row; None where it is unknown."""
        return self.cells[name].span if name in self.cells else None

    def meets(self, name: str, *spans: Interval | None) -> bool:
        """Return whether a number of this row is known and meets one of these spans."""
        number = self.span(name)
        return number is not None and any(span and number.meets(span) for span in spans)


@dataclass(frozen=True)
class TimingTable:
    """Rows by their place, the columns that they have, and how the file was read."""

    rows: dict[Setting, TimingRow]
    columns: dict[str, Column]
    comments: list[str]
    remarks: list[Cause]


def found_columns(header: list[str]) -> dict[str, Column]:
    """Return the columns of a header by their fixed names.

    Raises ValueError that names the columns where two mean the same.
    """
    found: dict[str, Column] = {}
    for index, text in enumerate(header):
        if column := _column(index, text):
            if other := found.get(column.name):
                both = f"the columns {other.header!r} and {column.header!r}"
                raise ValueError(f"{both} both mean {column.name}; leave one out")
            found[column.name] = column
    return found


def suits(header: list[str]) -> bool:
    """Return whether a header has what every table needs."""
    return set(NEEDED) <= {column.name for text in header if (column := _column(0, text))}


def _column(index: int, text: str) -> Column | None:
    header = _MARKUP.sub("", text[:LONGEST]).strip()
    inside = [text.strip() for text in _BRACKETS.findall(header)]
    outside = _BRACKETS.sub(" ", header).strip()
    if outside == "B" or _GLOBAL.search(header):
        return None  # the global batch
    last = _LAST.match(outside)
    for text, unit in [*((outside, unit) for unit in inside), *([last.groups()] if last else [])]:
        name = NAMES.get(_key(text))
        if name and KINDS[name](unit) is not None:
            return Column(name, index, header, "" if KINDS[name] is COUNT else unit, stated=True)
    name = NAMES.get(_key(outside)) or NAMES.get(_key(" ".join([outside, *inside])))
    return Column(name, index, header, USUAL_UNITS[KINDS[name]], stated=False) if name else None


def _key(text: str) -> str:
    """A header's words, as NAMES has them."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower().replace("#", " number of ")).strip()
    return _LEADING.sub("", words)


def read_table(path: Path, sheet: str | None = None) -> TimingTable:
    """Return the table in a CSV, TSV, Markdown or .xlsx file.

    Raises OSError, or ValueError that says what cannot be read, by row and column where there is
    one, with a note that names the file.
    """
    with about(path):
        return _typed(read_grid(path, suits, sheet))


def _typed(grid: Grid) -> TimingTable:
    columns = found_columns(grid.header)
    used = {column.index for column in columns.values()}
    texts = (row[index] for _, row in grid.rows for index in used)
    comma = with_decimal_comma(texts, semicolons=grid.semicolons)
    places = [f"row {n} (line {line})" for n, (line, _) in enumerate(grid.rows, start=1)]
    cells = {name: _cells(grid, column, places, comma) for name, column in columns.items()}
    rows: dict[Setting, TimingRow] = {}
    for index, (line, _) in enumerate(grid.rows):
        counts = (_count(cells[name].get(index), columns[name], places[index]) for name in NEEDED)
        workers, batch = counts
        if other := rows.get((workers, batch)):
            raise ValueError(
                f"{places[index]} and line {other.line} both have {workers} workers "
                f"with batch {batch}; keep one"
            )
        known = {name: found[index] for name, found in cells.items() if index in found}
        rows[workers, batch] = TimingRow(line, workers, batch, known)
    return TimingTable(
        rows, columns, grid.comments, [*grid.remarks, *_readings(grid, columns, comma)]
    )


def _cells(
    grid: Grid, column: Column, places: list[str], decimal_comma: bool
) -> dict[int, SheetCell]:
    """The numbers of a column by the index of their row."""
    found: dict[int, SheetCell] = {}
    for index, (_, row) in enumerate(grid.rows):
        text = row[column.index]
        with about(f"{places[index]}, {column}"):
            cell = number(text, column.scale, KINDS[column.name], decimal_comma=decimal_comma)
            if cell and column.name in TIMES and not SHORTEST_S < cell.value < LONGEST_S:
                raise ValueError(f"{text.strip()!r:.40} is no time that an epoch can take")
        if cell:
            found[index] = cell
    return dict(zip(found, rounded_alike(list(found.values())), strict=True))


def _count(cell: SheetCell | None, column: Column, place: str) -> int:
    with about(f"{place}, {column}"):
        if cell is None:
            raise ValueError("is empty; every row needs it")
        if cell.typed != cell.typed.to_integral_value() or not 1 <= cell.typed <= LARGEST_COUNT:
            raise ValueError(f"{cell.typed} is no whole number of at least 1")
    return int(cell.typed)


def _readings(grid: Grid, columns: dict[str, Column], decimal_comma: bool) -> Iterator[Cause]:
    """How the header was understood, wherever it is not in the fixed words."""
    for column in columns.values():
        if column.header != column.name:
            kind = "column_stated" if column.stated else "column_unstated"
            known = {"header": repr(column.header), "column": column.name, "unit": column.unit}
            yield cause(kind if column.unit else "column", **known)
    used = {column.index for column in columns.values()}
    unused = [text.strip() for i, text in enumerate(grid.header) if i not in used and text.strip()]
    if unused:
        yield cause("unread", headers=", ".join(map(repr, unused)))
    if decimal_comma:
        yield cause("comma")
