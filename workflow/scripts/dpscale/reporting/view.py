"""Answers as the templates show them: text, links and places, no value left to format."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from dpscale.reporting import links, texts
from dpscale.reporting.answer import Answer, Figure
from dpscale.reporting.formula import as_image, as_mathml, with_formulas
from dpscale.reporting.links import reference
from dpscale.reporting.sources import Sources
from dpscale.reporting.tables import Shown, TableView, shown, table_view
from dpscale.reporting.texts import Printed

MOST_VALUES = 300  # of an answer


@dataclass(frozen=True)
class AnswerView:
    """A section of the report; `more_values` are not in `values`, of which there are too many."""

    id: str
    anchor: str
    question: Markup
    sentence: Markup
    short: Markup
    paragraphs: list[Markup]
    formulas: list[Markup]
    tables: list[TableView]
    figures: list[Figure]
    values: list[tuple[str, Shown]]
    more_values: int
    references: list[Markup]
    missing: list[str]


def said(text: str, printed: Sequence[Printed], sources: Sources, *, image: bool) -> Markup:
    """Return a text with its formulas set, and its numbers linked to their runs."""
    return links.printed(with_formulas(texts.with_runs(text, printed), image=image), sources)


def answer_view(answer: Answer, sources: Sources, *, image: bool, first_table: int) -> AnswerView:
    """Return an answer ready to print.

    image: formulas as images instead of MathML; first_table: number of its first table.
    """

    printed = answer.printed or [[]] * (1 + len(answer.paragraphs))
    spoken = [
        said(text, numbers, sources, image=image)
        for text, numbers in zip([answer.sentence, *answer.paragraphs], printed, strict=True)
    ]
    drawn = as_image if image else as_mathml
    return AnswerView(
        id=answer.id,
        anchor="answer-" + re.sub(r"[^A-Za-z0-9]+", "-", answer.id),
        question=with_formulas(answer.question, image=image),
        sentence=spoken[0],
        short=said(answer.short, answer.short_printed, sources, image=image),
        paragraphs=spoken[1:],
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
