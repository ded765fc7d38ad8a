"""A table as the text that stands in a file: CSV, TSV, Markdown in a longer text, or .xlsx."""

import csv
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from dpscale.records.audit import Cause, cause

MOST_BYTES, MOST_UNPACKED_BYTES = 10_000_000, 100_000_000
MOST_ROWS, MOST_LINES, MOST_CHARACTERS = 2_000, 20_000, 20_000
SPREADSHEET = b"PK\x03\x04"
DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {"utf-8-sig": "", "cp1252": "windows"}  # and what is to be said of them
RULE = set("|:- \t")  # what stands below the header of a Markdown table
_PIPE = re.compile(r"(?<!\\)\|")
Suits = Callable[[list[str]], bool]  # whether a header has the columns that a table needs
Line = tuple[int, str]  # of a file, counted from 1


@dataclass(frozen=True)
class Grid:
    """A header, rows of cells with their lines in the file, and what else the file says."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    comments: list[str]
    semicolons: bool = False
    remarks: list[Cause] = field(default_factory=list)


def read_grid(path: Path, suits: Suits, sheet: str | None) -> Grid:
    """Return the first table of a file whose header suits, of the sheet of this name if any.

    Raises OSError, or ValueError where there is none, it is too large or a row is damaged.
    """
    if path.exists() and not path.is_file():
        raise ValueError("is no file; name a table")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"is over {MOST_BYTES // 1_000_000} MB; no table by hand is")
    if not content.strip():
        raise ValueError("is empty")
    if content.startswith(SPREADSHEET):
        return _whole(_spreadsheet(content, suits, sheet))
    if sheet is not None:
        raise ValueError("is no spreadsheet and has no sheets; leave --sheet out")
    text, remark = _decoded(content)
    return _whole(replace(_text_grid(text, suits), remarks=[cause(remark)] * bool(remark)))


def _whole(grid: Grid) -> Grid:
    """The grid without empty rows, once every row has a cell a column."""
    width = len(grid.header)
    kept = []
    for index, (line, row) in enumerate(grid.rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        if any(cell.strip() for cell in row[width:]) or len(row) < width:
            raise ValueError(
                f"row {index} (line {line}) has {len(row)} cells where the header has {width}"
            )
        kept.append((line, row[:width]))
    if not kept:
        raise ValueError("the table has a header and no rows")
    if len(kept) > MOST_ROWS:
        raise ValueError(f"the table has more than {MOST_ROWS:,} rows; split it")
    return replace(grid, rows=kept)


def _decoded(content: bytes) -> tuple[str, str]:
    """The text, and a remark where it is not UTF-8."""
    encodings = ENCODINGS
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):  # Excel's "Unicode text"
        encodings = {"utf-16": "utf_16"}
    for encoding, remark in encodings.items():
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if "\0" not in text:
                return text, remark
    raise ValueError("is no text; save the table as CSV, TSV, Markdown or .xlsx")


def _text_grid(text: str, suits: Suits) -> Grid:
    lines = list(enumerate(text.splitlines(), start=1))
    if len(lines) > MOST_LINES:
        raise ValueError(f"has {len(lines):,} lines, more than a table by hand; split it")
    if too_long := next((n for n, line in lines if len(line) > MOST_CHARACTERS), None):
        raise ValueError(f"line {too_long} has more than {MOST_CHARACTERS:,} characters")
    rules = [i for i, (_, line) in enumerate(lines) if {"|", "-"} <= set(line) <= RULE]
    headers = [i - 1 for i in rules if i > 0]
    return _markdown(lines, headers, suits) if headers else _delimited(lines, suits)


def _markdown(lines: list[Line], headers: list[int], suits: Suits) -> Grid:
    for index in headers:
        header = _piped(lines[index][1])
        if suits(header):
            end = index + 2
            while end < len(lines) and "|" in lines[end][1]:
                end += 1
            body = [(number, _piped(line)) for number, line in lines[index + 2 : end]]
            return Grid(header, body, [line for _, line in lines[:index] + lines[end:]])
    raise ValueError("no Markdown table has the columns workers and per_worker_batch (or N and b)")


def _piped(line: str) -> list[str]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inside)]


def _delimited(lines: list[Line], suits: Suits) -> Grid:
    comments = [(n, line) for n, line in lines if line.lstrip().startswith("#")]
    body = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
    # A header may begin with #: "#GPUs,b,time", or "# workers,b" as numpy writes it.
    for number, line in [*body[:1], *reversed(comments)]:
        for text in (line, line.lstrip("# ")):
            for delimiter in DELIMITERS:
                if suits(header := _split(text, delimiter)):
                    rows = [(n, _split(row, delimiter)) for n, row in body if n > number]
                    others = [comment for _, comment in comments if comment != line]
                    return Grid(header, rows, others, semicolons=delimiter == ";")
    if not body:
        raise ValueError("the file holds comments and no table")
    raise ValueError("the header has no columns workers and per_worker_batch (or N and b)")


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error as error:
        raise ValueError(f"a line is no CSV: {error}") from None


def _spreadsheet(content: bytes, suits: Suits, sheet: str | None) -> Grid:
    """The table of a spreadsheet: of the sheet of this name, else of the first that has one."""
    import openpyxl
    import pandas as pd

    try:
        with zipfile.ZipFile(BytesIO(content)) as parts:
            unpacked_bytes = sum(part.file_size for part in parts.infolist())
        if unpacked_bytes > MOST_UNPACKED_BYTES:
            raise ValueError("it is too large for a table by hand")
        with warnings.catch_warnings(action="ignore"):  # of styles and charts, which are not read
            sheets = pd.read_excel(BytesIO(content), sheet_name=None, header=None, dtype=object)
            books = [
                openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=shown)
                for shown in (True, False)
            ]
    except Exception as error:  # whatever its reader stumbles over
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"is no whole .xlsx spreadsheet ({reason:.200}); open it in a spreadsheet program and "
            "save it as .xlsx or CSV"
        ) from error
    if sheet is not None and sheet not in sheets:
        raise ValueError(f"has no sheet {sheet!r}; it has {', '.join(sheets)}")
    for name in sheets if sheet is None else [sheet]:
        shown = sheets[name].map(lambda value: "" if pd.isna(value) else str(value))
        if grid := _sheet_grid(name, shown.to_numpy().tolist(), suits):
            _refuse_unknown(name, *(book[name].iter_rows(max_row=len(shown)) for book in books))
            return grid
    raise ValueError("no sheet has a header with workers and per_worker_batch (or N and b)")


def _refuse_unknown(name: str, values: Iterable[Any], formulas: Iterable[Any]) -> None:
    """Raise ValueError where a cell has a formula and no program has computed its value."""
    for rows in zip(values, formulas, strict=False):
        for value, formula in zip(*rows, strict=False):
            # A formula that gives an empty text has that for its type.
            if formula.data_type == "f" and value.value is None and value.data_type != "str":
                raise ValueError(
                    f"{name}!{formula.coordinate} holds a formula without a value; open the file "
                    "in a spreadsheet program, save it, and call again"
                )


def _sheet_grid(name: str, sheet: Iterable[list[str]], suits: Suits) -> Grid | None:
    """The table below the first row that suits as its header; None where no row does."""
    rows = list(enumerate(sheet, start=1))
    head = next((line for line, texts in rows if suits(texts)), None)
    if head is None:
        return None
    comments = [" ".join(texts) for line, texts in rows if line < head or texts[0][:1] == "#"]
    body = [(line, texts) for line, texts in rows[head:] if texts[0][:1] != "#"]
    return Grid(rows[head - 1][1], body, comments, remarks=[cause("sheet", name=repr(name))])
