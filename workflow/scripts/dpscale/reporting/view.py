"""Answers as the templates show them: text, links and places, no value left to format."""

from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from dpscale.reporting import links
from dpscale.reporting.answer import Answer, Figure
from dpscale.reporting.formula import as_image, as_mathml, with_formulas
from dpscale.reporting.lessons import first_sentence
from dpscale.reporting.links import Sources
from dpscale.reporting.tables import Shown, TableView, shown, table_view

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
    title: Markup
    sentence: Markup
    short: Markup
    lesson: Markup
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
    def blocks(self) -> list[Markup | TableView | Figure]:
        """What goes further, in order: paragraphs, tables, figures."""
        return [*self.method, *self.further_tables, *self.further_figures]

    @property
    def further(self) -> bool:
        """Whether there is more than the answer itself."""
        return bool(self.blocks)


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


def linked(text: str, sources: Sources, *, image: bool) -> Markup:
    """Return a text with its formulas set, and its numbers linked to their runs."""
    return links.printed(with_formulas(text, image=image), sources)


def answer_view(answer: Answer, sources: Sources, *, image: bool, numbers: Numbers) -> AnswerView:
    """Return an answer ready to print.

    image: formulas as images instead of MathML; numbers: of the tables before it.
    """
    said = answer.said

    def crossed(text: str) -> Markup:
        """The text with its links to runs and to other answers."""
        return links.crossing(linked(text, sources, image=image), sources.answers)

    tables = [
        (table.further, table_view(table, sources, number=numbers.next(table.further), image=image))
        for table in answer.tables
    ]
    drawn = as_image if image else as_mathml
    return AnswerView(
        id=answer.id,
        anchor=sources.answers[answer.id],
        question=with_formulas(answer.question, image=image),
        title=with_formulas(answer.title or answer.question, image=image),
        sentence=crossed(said.sentence),
        short=linked(said.short, sources, image=image),
        lesson=linked(first_sentence(said.sentence), sources, image=image),
        paragraphs=[*map(crossed, said.paragraphs)],
        method=[*map(crossed, said.method)],
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
