"""All tables for people: what a row is, what makes them, and their columns with their meanings."""

import inspect
import re
from collections.abc import Iterator, Mapping

from dpscale.config.document import below_mark
from dpscale.derive.tables import Table
from dpscale.records.columns import TYPES, Columns, declared, entry, meaning
from dpscale.units import unit_of
from dpscale.vocabulary import Words

HEAD = "| column | type | unit | values | meaning |\n|---|---|---|---|---|"
KINDS = {dtype: kind for kind, dtype in TYPES.items()}


def with_tables(text: str, tidy: Mapping[str, Columns], derived: Mapping[str, Table]) -> str:
    """Return a document whose part below the mark tells of all tables; ValueError without it."""
    return below_mark(text, [*_tidy(tidy), *_derived(derived)])


def _tidy(tables: Mapping[str, Columns]) -> Iterator[str]:
    yield "## Tidy tables"
    for name, columns in tables.items():
        yield f"### `{name}`"
        yield declared()["tables"][name]
        yield f"`tables/{name}.parquet`, made by `records/tidy.py`."
        yield _columns(name, columns)


def _derived(tables: Mapping[str, Table]) -> Iterator[str]:
    yield "## Derived tables"
    for name, table in tables.items():
        module = table.make.__module__.removeprefix("dpscale.").replace(".", "/")
        made_of = ", ".join(f"`{one}`" for one in table.inputs)
        yield f"### `{name}`"
        yield _first_sentence(inspect.getdoc(table.make) or "")
        yield f"`derived/{name}.csv`, made by `{module}.py` from {made_of}."
        yield _columns(name, table.columns)


def _first_sentence(text: str) -> str:
    """What a function returns, of its docstring."""
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
    told = re.sub(r"^Return,? ", "", sentence)
    return (told[:1].upper() + told[1:]).replace("*", r"\*").replace("|", r"\|")


def _columns(table: str, columns: Mapping[str, str]) -> str:
    """The columns of a table; ends of an interval stand with what they are of."""
    ends = {f"{name}{end}" for name in columns for end in ("_low", "_high")}
    rows = [_row(table, name, columns) for name in columns if name not in ends]
    return "\n".join([HEAD, *rows])


def _row(table: str, column: str, columns: Mapping[str, str]) -> str:
    kind = columns[column]
    ends = "".join(f", `{end}`" for end in ("_low", "_high") if f"{column}{end}" in columns)
    values = ", ".join(f"`{one}`" for one in sorted(kind.values)) if isinstance(kind, Words) else ""
    unit = unit_of(entry(column))
    unit = {"setting": "", "bytes_binary": "bytes"}.get(unit, unit)
    cells = [f"`{column}`{ends}", KINDS[str(kind)], unit, values, meaning(table, column)]
    return f"| {' | '.join(cells)} |"
