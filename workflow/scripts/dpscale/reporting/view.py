"""Answers as the templates show them: text, links and places, no value left to format."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from dpscale.reporting import links
from dpscale.reporting import texts as marks
from dpscale.reporting.answer import Answer, Figure
from dpscale.reporting.formula import as_image, as_mathml, with_formulas
from dpscale.reporting.sources import Sources
from dpscale.reporting.tables import Shown, TableView, shown, table_view
from dpscale.reporting.texts import Printed

MOST_VALUES = 300  # of an answer


@dataclass(frozen=True)
class AnswerView:
    """A section of the report.

    further_tables, further_figures, method: folded, or in the appendix; more_values: how many are
    not in `values`, of which there are too many.
    """

    id: str
    anchor: str
    question: Markup
    sentence: Markup
    short: Markup
    paragraphs: list[Markup]
    formulas: list[Markup]
    tables: list[TableView]
    figures: list[Figure]
    method: list[Markup]
    further_tables: list[TableView]
    further_figures: list[Figure]
    values: list[tuple[str, Shown]]
    more_values: int
    missing: list[str]

    @property
    def further(self) -> bool:
        """Whether there is more than the answer itself."""
        return bool(self.method or self.further_tables or self.further_figures)


@dataclass
class Numbers:
    """The numbers of tables given so far: 1, 2, 3 in answers, A1, A2, A3 of what is further."""

    body: int = 0
    further: int = 0

    def next(self, further: bool) -> str:
        """Return the number of one more."""
        if further:
            self.further += 1
            return f"A{self.further}"
        self.body += 1
        return str(self.body)


def said(text: str, printed: Sequence[Printed], sources: Sources, *, image: bool) -> Markup:
    """Return a text with its formulas set, and its numbers linked to their runs."""
    return links.printed(with_formulas(marks.with_runs(text, printed), image=image), sources)


def answer_view(answer: Answer, sources: Sources, *, image: bool, numbers: Numbers) -> AnswerView:
    """Return an answer ready to print.

    image: formulas as images instead of MathML; numbers: of the tables before it.
    """

    texts = [answer.sentence, *answer.paragraphs, *answer.method]
    spoken = [
        links.crossing(said(text, printed, sources, image=image), sources.answers)
        for text, printed in zip(texts, answer.printed or [[]] * len(texts), strict=True)
    ]
    why = spoken[1 : 1 + len(answer.paragraphs)]
    tables = [
        (table.further, table_view(table, sources, number=numbers.next(table.further), image=image))
        for table in answer.tables
    ]
    drawn = as_image if image else as_mathml
    return AnswerView(
        id=answer.id,
        anchor=sources.answers[answer.id],
        question=with_formulas(answer.question, image=image),
        sentence=spoken[0],
        short=said(answer.short, answer.short_printed, sources, image=image),
        paragraphs=why,
        method=spoken[1 + len(why) :],
        formulas=[drawn(tex, display=True) for tex in answer.formula],
        tables=[view for further, view in tables if not further],
        further_tables=[view for further, view in tables if further],
        figures=[figure for figure in answer.figures if not figure.further],
        further_figures=[figure for figure in answer.figures if figure.further],
        values=[
            (name, shown(value, sources))
            for name, value in islice(answer.values.items(), MOST_VALUES)
        ],
        more_values=max(0, len(answer.values) - MOST_VALUES),
        missing=answer.missing,
    )
