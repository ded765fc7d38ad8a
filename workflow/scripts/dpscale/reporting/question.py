"""A question of the lab: the facts that Python finds, and the template that puts them in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Template

from dpscale.reporting import texts, words
from dpscale.reporting.answer import Answer, Cell, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, unit_of
from dpscale.reporting.answers.measured_table import placed

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
        """Return the answer that the tables give."""
        return self.worded(self.facts(inputs))

    def worded(self, facts: Facts, template: Template | None = None) -> Answer:
        """Return the facts in words; where a result is missing the conclusion is withheld.

        template: instead of the question's own.
        """
        tables: list[Table] = []
        given = facts.said | {"table": _collector(tables)}
        say = words.macros(template or f"{self.id}.j2", given)
        say.tables()
        found: dict[str, Any] = {
            "id": self.id, "question": words.squeezed(say.question()), "values": facts.values,
            "tables": tables, "figures": list(self.figures), "formula": list(self.formula),
        }  # fmt: skip
        if facts.missing:
            return prose.withheld(missing=facts.missing, **found)
        spoken = [words.squeezed(say.sentence()), *words.paragraphs(say.paragraphs())]
        return Answer(
            sentence=texts.plain(spoken[0]),
            paragraphs=[texts.plain(text) for text in spoken[1:]],
            printed=[texts.printed(text) for text in spoken],
            references=list(self.references),
            **found,
        )


def _collector(tables: list[Table]) -> Callable[..., str]:
    """What a template calls to show a table of rows; a table of no rows is none."""

    def table(caption: str, rows: Sequence[Row], columns: Mapping[str, Head]) -> str:
        """Keep a table of some columns of the rows, and say nothing in its place."""
        if rows:
            tables.append(table_of(caption, rows, columns))
        return ""

    return table


def table_of(caption: str, rows: Sequence[Row], columns: Mapping[str, Head]) -> Table:
    """Return a table of some columns of rows: numbers with their runs, words for the rest."""
    heads = {key: (head, None) if isinstance(head, str) else head for key, head in columns.items()}
    said = {key: more for key, (_, more) in heads.items() if isinstance(more, Mapping)}
    given = [
        Column(key=key, title=title, unit="" if key in said else more or unit_of(key))
        for key, (title, more) in heads.items()
    ]
    shown, runs = placed(given, rows), [row.runs for row in rows]
    return Table(
        caption=caption,
        columns=shown,
        rows=[{one.key: _cell(row, one, said.get(one.key)) for one in shown} for row in rows],
        runs=runs if any(runs) else [],
    )


def _cell(row: Row, column: Column, said: Mapping[Any, str] | None) -> Cell:
    found: Cell = row.get(column.key)
    if said:
        return said[found]
    counted = found is not None and not row.runs  # a name of the row, and of no run
    if isinstance(found, Value) or counted or not column.unit:
        return found
    return row.value(column.key, column.unit)
