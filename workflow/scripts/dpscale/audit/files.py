"""A table as the text that stands in a file: CSV, TSV, Markdown in a longer text, or .xlsx."""

import csv
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

MOST_BYTES = 10_000_000
MOST_UNPACKED_BYTES = 100_000_000
MOST_LINES, MOST_CHARACTERS = 20_000, 20_000
MOST_ROWS = 2_000
MOST_SHEET_ROWS = MOST_ROWS + 100  # with what stands above the table
LAST_ROW = 2**20  # that a sheet can have
SPREADSHEET = b"PK\x03\x04"
DELIMITERS = (",", ";", "\t", "|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_PIPE = re.compile(r"(?<!\\)\|")
_DECIMALS = re.compile(r"0\.(0+)")
Suits = Callable[[list[str]], bool]  # whether a header has the columns that a table needs
Line = tuple[int, str]  # of a file, counted from 1


@dataclass(frozen=True)
class Grid:
    """A header, rows of cells with their lines in the file, and what else the file says."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    comments: list[str]
    semicolons: bool = False
    remarks: list[str] = field(default_factory=list)


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
    text, remarks = _decoded(content)
    grid = _whole(_text_grid(text, suits))
    grid.remarks.extend(remarks)
    return grid


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


def _decoded(content: bytes) -> tuple[str, list[str]]:
    """The text, and a remark where it is not UTF-8."""
    encodings = {"utf-8-sig": [], "cp1252": ["the text is no UTF-8 and is read as Windows-1252"]}
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = {"utf-16": ["the text is read as UTF-16"]}
    elif b"\0" in content:
        encodings = {}
    for encoding, remarks in encodings.items():
        with suppress(UnicodeDecodeError):
            return content.decode(encoding), remarks
    raise ValueError("is no text; save the table as CSV, TSV, Markdown or .xlsx")


def _text_grid(text: str, suits: Suits) -> Grid:
    lines = list(enumerate(text.splitlines(), start=1))
    if len(lines) > MOST_LINES:
        raise ValueError(f"has {len(lines):,} lines, more than a table by hand; split it")
    if too_long := next((n for n, line in lines if len(line) > MOST_CHARACTERS), None):
        raise ValueError(f"line {too_long} has more than {MOST_CHARACTERS:,} characters")
    rules = [i for i, (_, line) in enumerate(lines) if "|" in line and _RULE.fullmatch(line)]
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
    raise ValueError(f"no Markdown table has {_needed(_piped(lines[headers[0]][1]))}")


def _piped(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    inside = inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside
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
    raise ValueError(f"the header has {_needed(_split(body[0][1], ','))}")


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error as error:
        raise ValueError(f"a line is no CSV: {error}") from None


def _needed(header: list[str]) -> str:
    found = ", ".join(f"{name.strip()!r:.30}" for name in header[:12])
    return f"no columns workers and per_worker_batch (or N and b); it has {found}"


def _spreadsheet(content: bytes, suits: Suits, sheet: str | None) -> Grid:
    """The table of a spreadsheet, its cells as they are shown."""
    import openpyxl

    with _damage_said(), zipfile.ZipFile(BytesIO(content)) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > MOST_UNPACKED_BYTES:
        raise ValueError("is a spreadsheet too large to be a table by hand; save its sheet as CSV")
    with _damage_said():  # once for what the cells show, once for their formulas
        books = [
            openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=shown)
            for shown in (True, False)
        ]
        names = [name for name in books[0].sheetnames if hasattr(books[0][name], "iter_rows")]
    if sheet is not None and sheet not in names:
        raise ValueError(f"has no sheet {sheet!r}; it has {', '.join(names)}")
    for name in names if sheet is None else [sheet]:
        rows = _sheet_rows([book[name] for book in books])
        if grid := _sheet_grid(name, rows, suits):
            return grid
    raise ValueError("no sheet has a header with workers and per_worker_batch (or N and b)")


@contextmanager
def _damage_said() -> Iterator[None]:
    """Say that a spreadsheet is damaged, whatever its library stumbles over."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and charts, which are not read
            yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"is no whole .xlsx spreadsheet ({reason:.200}); open it in a spreadsheet program and "
            "save it as .xlsx or CSV"
        ) from error


def _sheet_rows(sheets: list[Any]) -> list[tuple[int, list[str]]]:
    """The rows of a sheet that hold something, of which one too many is enough to refuse it.

    sheets: the same one twice, with the values of its cells and with their formulas.
    """
    rows, unknown = [], []
    with _damage_said():
        for sheet in sheets:
            sheet.reset_dimensions()  # some programs write them wrong
        both = zip(*(sheet.iter_rows(max_row=LAST_ROW) for sheet in sheets), strict=True)
        for line, (values, formulas) in enumerate(both, start=1):
            for value, formula in zip(values, formulas, strict=True):
                # A formula that gives an empty text has that for its type.
                if formula.data_type == "f" and value.value is None and value.data_type != "str":
                    unknown.append(formula.coordinate)
            texts = [_shown(cell) for cell in values]
            if any(text.strip() for text in texts):
                rows.append((line, texts))
            if len(rows) > MOST_SHEET_ROWS:
                break
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise ValueError(
            f"{sheets[0].title}!{unknown[0]}{more} holds a formula without a value; open the file "
            "in a spreadsheet program, save it, and call again"
        )
    return rows


def _sheet_grid(name: str, rows: list[tuple[int, list[str]]], suits: Suits) -> Grid | None:
    """The table below the first row that suits as its header; None where no row does."""
    grid = Grid([], [], [], remarks=[f"the sheet {name!r} is read"])
    for line, texts in rows:
        comment = "".join(texts[:1]).lstrip().startswith("#") and not suits(texts)
        if grid.header and not comment:
            grid.rows.append((line, texts))
        elif suits(texts):
            grid.header.extend(texts)
        else:
            grid.comments.append(" ".join(texts))
    if grid.header and len(rows) > MOST_SHEET_ROWS:
        raise ValueError(f"the sheet {name!r} has more than {MOST_SHEET_ROWS:,} rows; split it")
    while grid.header and not grid.header[-1].strip():
        grid.header.pop()
    # A row ends in the file with its last cell that was ever touched.
    padded = [(line, texts + [""] * (len(grid.header) - len(texts))) for line, texts in grid.rows]
    return replace(grid, rows=padded) if grid.header else None


def _shown(cell: Any) -> str:
    """A cell's text; a number has the decimals of its format where it is stored with fewer."""
    value = cell.value
    if value is None:
        return ""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    stored, shape = repr(value), cell.number_format or ""
    decimals = _DECIMALS.search(shape)
    places = len(decimals[1]) + 2 * ("%" in shape) if decimals else 0
    shown = f"{value:.{places}f}"
    return shown if float(shown) == value and len(shown) > len(stored) else stored
