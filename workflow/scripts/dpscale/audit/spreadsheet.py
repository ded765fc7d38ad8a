"""Tables in spreadsheets (.xlsx): the first sheet, or the one named, whose header suits."""

import re
import warnings
import zipfile
from io import BytesIO
from typing import Any

from dpscale.audit.grid import MOST_ROWS, Grid
from dpscale.audit.texts import Suits

MOST_UNPACKED_BYTES = 100_000_000
MAGIC = b"PK\x03\x04"
_DECIMALS = re.compile(r"0\.(0+)")


def spreadsheet_grid(content: bytes, suits: Suits, sheet: str | None) -> Grid:
    """Return the table of a spreadsheet, its cells as they are shown.

    Raises ValueError for a damaged file, an unknown sheet, or where no header suits.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > MOST_UNPACKED_BYTES:
            raise ValueError("is a spreadsheet too large to be a table by hand")
        book = _opened(content)
    except (zipfile.BadZipFile, KeyError, OSError, SyntaxError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"is no .xlsx spreadsheet: {reason}; save it anew") from None
    names = [name for name in book.sheetnames if hasattr(book[name], "iter_rows")]
    if sheet is not None and sheet not in names:
        raise ValueError(f"has no sheet {sheet!r}; it has {', '.join(names)}")
    for name in names if sheet is None else [sheet]:
        if grid := _table(book[name], suits):
            return grid
    raise ValueError("no sheet has a header with workers and per_worker_batch (or N and b)")


def _opened(content: bytes) -> Any:
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and charts, which are not read
        return openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=True)


def _table(sheet: Any, suits: Suits) -> Grid | None:
    """The table below the first row that suits as its header; None where no row does."""
    comments: list[str] = []
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, row in enumerate(sheet.iter_rows(max_row=MOST_ROWS + 100), start=1):
        texts = [_shown(cell) for cell in row]
        if texts and texts[0].lstrip().startswith("#") and not suits(texts):
            comments.append(" ".join(texts))
        elif header:
            rows.append(texts)
            lines.append(line)
        elif suits(texts):
            header = texts
        else:
            comments.append(" ".join(texts))
    while header and not header[-1].strip():
        header.pop()
    remarks = [f"the sheet {sheet.title!r} is read"]
    return Grid(header, rows, lines, comments, remarks=remarks) if header else None


def _shown(cell: Any) -> str:
    """A cell's text; a number has the decimals of its format where it is stored with fewer."""
    value = cell.value
    if value is None:
        return ""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    stored = repr(value)
    decimals = _DECIMALS.search(cell.number_format or "")
    places = len(decimals[1]) if decimals else 0
    places += 2 if "%" in (cell.number_format or "") and decimals else 0
    shown = f"{value:.{places}f}"
    return shown if float(shown) == value and len(shown) > len(stored) else stored
