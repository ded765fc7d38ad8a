"""Answers as the templates show them: text, links and places, no value left to format."""

import re
from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from dpscale.reporting import links, texts
from dpscale.reporting.answer import Answer
from dpscale.reporting.formula import as_image, as_mathml, with_formulas
from dpscale.reporting.links import linked, reference
from dpscale.reporting.sources import Sources
from dpscale.reporting.tables import Shown, TableView, shown, table_view

MOST_VALUES = 300  # of an answer


@dataclass(frozen=True)
class AnswerView:
    """A section of the report; `more_values` are not in `values`, of which there are too many."""

    id: str
    anchor: str
    question: Markup
    sentence: Markup
    paragraphs: list[Markup]
    formulas: list[Markup]
    tables: list[TableView]
    figures: list[str]
    values: list[tuple[str, Shown]]
    more_values: int
    references: list[Markup]
    missing: list[str]


def answer_view(answer: Answer, sources: Sources, *, image: bool, first_table: int) -> AnswerView:
    """Return an answer ready to print.

    image: formulas as images instead of MathML; first_table: number of its first table.
    """

    def prose(text: str, place: int) -> Markup:
        """A text with its formulas set and its measurements linked."""
        if not answer.printed:
            return linked(with_formulas(text, image=image), answer.values.values(), sources)
        with_runs = texts.with_runs(text, answer.printed[place])
        return links.printed(with_formulas(with_runs, image=image), sources)

    drawn = as_image if image else as_mathml
    return AnswerView(
        id=answer.id,
        anchor="answer-" + re.sub(r"[^A-Za-z0-9]+", "-", answer.id),
        question=with_formulas(answer.question, image=image),
        sentence=prose(answer.sentence, 0),
        paragraphs=[prose(text, place) for place, text in enumerate(answer.paragraphs, start=1)],
        formulas=[drawn(tex, display=True) for tex in answer.formula],
        tables=[
            table_view(table, sources, number=number, image=image)
            for number, table in enumerate(answer.tables, start=first_table)
        ],
        figures=answer.figures,
        values=[
            (name, shown(value, sources))
            for name, value in islice(answer.values.items(), MOST_VALUES)
        ],
        more_values=max(0, len(answer.values) - MOST_VALUES),
        references=[reference(text) for text in answer.references],
        missing=answer.missing,
    )
