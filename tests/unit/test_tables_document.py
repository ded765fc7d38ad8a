"""Each column of each table is declared once, and docs/tables.md tells of all of them."""

from pathlib import Path

import pytest

from dpscale.derive.document import with_tables
from dpscale.derive.tables import Table
from dpscale.records.columns import TYPES, columns, declared, entry, intervals, meaning, reals
from dpscale.studies import schemas, tables
from dpscale.vocabulary import words

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- by python workflow/scripts/write_schema.py -->"
# Of a tidy and a derived table of one name, both.
USED = [*schemas().items(), *((name, table.columns) for name, table in tables().items())]


@pytest.mark.parametrize("table", sorted({name for name, _ in USED}))
def test_every_column_of_a_table_has_a_meaning(table) -> None:
    for name, held in USED:
        for column in held if name == table else ():
            assert meaning(table, column).endswith("."), column


def test_every_line_is_of_a_column_or_of_a_tidy_table_that_there_is() -> None:
    there = {entry(column) for _, held in USED for column in held}
    there |= {f"{table}.{entry(column)}" for table, held in USED for column in held}
    assert {name for section in TYPES for name in declared()[section]} - there == set()
    assert set(declared()["tables"]) == set(schemas())


def test_a_name_stands_under_one_type() -> None:
    names = [name for section in TYPES for name in declared()[section]]
    assert sorted(set(names)) == sorted(names)


def test_columns_have_the_types_of_the_file() -> None:
    assert columns("workers epoch_s status oversubscribed") == {
        "workers": "Int64",
        "epoch_s": "float64",
        "status": "str",
        "oversubscribed": "boolean",
    }
    assert columns("epochs") | reals("epochs") == {"epochs": "float64"}
    assert list(intervals("epoch_s")) == ["epoch_s", "epoch_s_low", "epoch_s_high"]


def test_a_column_that_is_not_declared_is_named_with_the_file() -> None:
    with pytest.raises(KeyError, match=r"no column epoch_seconds in .*columns\.toml"):
        columns("workers epoch_seconds")


def make(runs: object) -> None:
    """Return a row for each N, or a | b.

    More of it.
    """


def test_a_table_is_told_by_its_row_its_maker_and_its_columns() -> None:
    held = columns("workers") | intervals("epoch_s") | words("verdict")
    text = with_tables(
        f"# T\n\n{MARK}\n\nold\n",
        {"links": columns("own")},
        {"spreads": Table(make, ["runs"], held)},
    )
    assert text.startswith(f"# T\n\n{MARK}\n\n## Tidy tables\n\n### `links`\n\nA link of the")
    assert text.endswith(
        "### `spreads`\n\nA row for each N, or a \\| b.\n\n"
        f"`derived/spreads.csv`, made by `{make.__module__}.py` from `runs`.\n\n"
        "| column | type | unit | values | meaning |\n|---|---|---|---|---|\n"
        "| `workers` | integer |  |  | Workers that train together, N. |\n"
        "| `epoch_s`, `_low`, `_high` | real | s |  | Epoch of D samples. |\n"
        "| `verdict` | text |  | `above`, `below`, `indistinct`, `unknown` "
        "| Where the difference lies of one test image, by its interval. |\n"
    )


def test_the_document_of_all_tables_is_current() -> None:
    written = (ROOT / "docs/tables.md").read_text(encoding="utf-8")
    assert written == with_tables(written, schemas(), tables()), (
        "docs/tables.md is stale; write it anew: python workflow/scripts/write_schema.py"
    )
