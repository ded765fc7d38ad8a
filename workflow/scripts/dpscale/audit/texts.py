"""Tables in text files: commas, semicolons, tabs, or Markdown within a longer text."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

from dpscale.audit.grid import Grid

MOST_BYTES = 10_000_000
MOST_LINES = 20_000
MOST_CHARACTERS = 20_000
DELIMITERS = (",", ";", "\t", "|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_PIPE = re.compile(r"(?<!\\)\|")
Suits = Callable[[list[str]], bool]
Line = tuple[int, str]


def read_bounded(path: Path) -> bytes:
    """Return a file's bytes; ValueError where it is no file, empty or too large to be a table."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: is no file; name a table")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path}: is over {MOST_BYTES // 1_000_000} MB; no table by hand is")
    if not content.strip():
        raise ValueError(f"{path}: is empty")
    return content


def decoded(content: bytes) -> tuple[str, list[str]]:
    """Return the text and a remark where it is not UTF-8; ValueError for no text at all."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16"), ["the text is read as UTF-16"]
    if b"\0" in content:
        raise ValueError("is no text; save the table as CSV, TSV, Markdown or .xlsx")
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return content.decode("cp1252"), ["the text is no UTF-8 and is read as Windows-1252"]


def text_grid(text: str, suits: Suits) -> Grid:
    """Return the first table in a text whose header suits.

    Raises ValueError that says what the header has where none does.
    """
    lines = list(enumerate(text.splitlines(), start=1))
    if len(lines) > MOST_LINES:
        raise ValueError(f"has {len(lines):,} lines, more than a table by hand; split it")
    if too_long := next((n for n, line in lines if len(line) > MOST_CHARACTERS), None):
        raise ValueError(f"line {too_long} has more than {MOST_CHARACTERS:,} characters")
    rules = [i for i, (_, line) in enumerate(lines) if "|" in line and _RULE.fullmatch(line)]
    if any(i > 0 for i in rules):
        return _markdown(lines, rules, suits)
    return _delimited(lines, suits)


def _markdown(lines: list[Line], rules: list[int], suits: Suits) -> Grid:
    headers = [_piped(lines[i - 1][1]) for i in rules if i > 0]
    for rule in rules:
        if rule == 0 or not suits(header := _piped(lines[rule - 1][1])):
            continue
        end = rule + 1
        while end < len(lines) and "|" in lines[end][1]:
            end += 1
        body = lines[rule + 1 : end]
        around = [line for _, line in lines[: rule - 1] + lines[end:]]
        return Grid(header, [_piped(line) for _, line in body], [n for n, _ in body], around)
    raise ValueError(f"no Markdown table has {_needed(headers[0])}")


def _piped(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    inside = inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inside)]


def _delimited(lines: list[Line], suits: Suits) -> Grid:
    comments = [line for _, line in lines if line.lstrip().startswith("#")]
    body = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
    # A header may begin with #: "#GPUs,b,time", or "# workers,b" as numpy writes it.
    marked = [(n, line) for n, line in lines if line in comments][::-1]
    for number, line in [*body[:1], *marked]:
        for text in (line, line.lstrip("# ")):
            for delimiter in DELIMITERS:
                if suits(header := _split(text, delimiter)):
                    rows = [(n, row) for n, row in body if n > number]
                    cells = [_split(row, delimiter) for _, row in rows]
                    others = [comment for comment in comments if comment != line]
                    return Grid(header, cells, [n for n, _ in rows], others, delimiter == ";")
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
