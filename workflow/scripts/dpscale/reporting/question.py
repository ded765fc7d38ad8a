"""A question of the lab: the facts that Python finds, and the template that puts them in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpscale.reporting import texts, words
from dpscale.reporting.answer import Answer, Cell, Column, Table, Value
from dpscale.reporting.answers.inputs import Inputs, Row, unit_of

# key: title, or title and unit, or title and the words for what the column holds
Head = str | tuple[str, str] | tuple[str, Mapping[Any, str]]


@dataclass(frozen=True)
class Facts:
    """What is known for an answer.

    missing: a line for each cell without a result; values: the numbers of answers.json; said: what
    the template speaks of, by name (where something is missing, what its tables need).
    """

    missing: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question, whose words are in report/<id>.j2: what it asks, the sentence that answers it,
    paragraphs, and tables.

    facts: finds what there is to say; figures: names in figures.FIGURES; formula: TeX.
    """

    id: str
    facts: Callable[[Inputs], Facts]
    figures: Sequence[str] = ()
    formula: Sequence[str] = ()
    references: Sequence[str] = ()

    def __call__(self, inputs: Inputs) -> Answer:
        """Return the answer; where a result is missing its conclusion is withheld."""
        facts = self.facts(inputs)
        tables: list[Table] = []
        said = facts.said | {"table": _collector(tables), "missing": facts.missing}
        own = f"{self.id}.j2"
        question, _ = words.said(own, said, "question", "tables")
        frame = "withheld.j2" if facts.missing else own
        sentence, paragraphs = words.said(frame, said, "sentence", "paragraphs")
        spoken = [words.one(sentence), *paragraphs]
        return Answer(
            id=self.id,
            question=words.one(question),
            sentence=texts.plain(spoken[0]),
            paragraphs=[texts.plain(text) for text in spoken[1:]],
            printed=[texts.printed(text) for text in spoken],
            formula=list(self.formula),
            values=facts.values,
            tables=tables,
            figures=list(self.figures),
            references=[] if facts.missing else list(self.references),
            missing=facts.missing,
        )


def _collector(tables: list[Table]) -> Callable[..., str]:
    """What a template calls to show a table of rows; a table of no rows is none."""

    def table(caption: str, rows: Sequence[Row], columns: Mapping[str, Head]) -> str:
        if rows:
            tables.append(table_of(words.squeezed(caption), rows, columns))
        return ""

    return table


def table_of(caption: str, rows: Sequence[Row], columns: Mapping[str, Head]) -> Table:
    """Return a table of some columns of rows: numbers with their runs, words for the rest."""
    heads = {key: _head(key, head) for key, head in columns.items()}
    if "workers" in heads and any((row.get("nodes") or 1) > 1 for row in rows):
        nodes: tuple[str, tuple[Column, Mapping[Any, str]]] = (
            "nodes",
            (Column(key="nodes", title="Nodes", unit="setting"), {}),
        )
        at = list(heads).index("workers") + 1
        heads = dict([*list(heads.items())[:at], nodes, *list(heads.items())[at:]])
    return Table(
        caption=caption,
        columns=[column for column, _ in heads.values()],
        rows=[{key: _cell(row, column, said) for key, (column, said) in heads.items()}
              for row in rows],
        runs=[row.runs for row in rows] if any(row.runs for row in rows) else [],
    )  # fmt: skip


def _head(key: str, head: Head) -> tuple[Column, Mapping[Any, str]]:
    title, more = (head, None) if isinstance(head, str) else head
    if isinstance(more, Mapping):
        return Column(key=key, title=title), more
    return Column(key=key, title=title, unit=unit_of(key) if more is None else more), {}


def _cell(row: Row, column: Column, said: Mapping[Any, str]) -> Cell:
    found = row.get(column.key)
    if said:
        return said[found]
    bare = found is not None and not row.runs
    if isinstance(found, Value) or bare or not column.unit:
        return found
    return row.value(column.key, column.unit)
