"""A question of the lab: the facts that Python finds, and the template that puts them in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jinja2 import UndefinedError

from dpscale.reporting import lessons, texts, words
from dpscale.reporting.answer import (
    LEFT_OUT,
    Answer,
    AnswerCell,
    AnswerTable,
    Column,
    Figure,
    Said,
    Value,
)
from dpscale.reporting.inputs import Inputs, Row
from dpscale.units import unit_of

# title; with it a unit (empty: none), the words for what the column holds, or a macro of the row
Wording = Mapping[Any, str] | Callable[[Row], object]
Head = str | tuple[str, str | Wording]
NODES = Column(key="nodes", title="Nodes", unit="setting")


NOT_COUNTED = "accuracy: the training counts no right answers; give own.file a function correct"


@dataclass(frozen=True)
class Facts:
    """What is known for an answer.

    missing: a line for each cell without a result; values: the numbers of answers.json; said: what
    the template speaks of, by name (where something is missing, what its tables and figures need);
    formula, references: what these facts add to those of the question; effects: the ratios that the
    first sentence of the answer is about, by which it may lead the report (`lessons`).
    """

    missing: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    formula: Sequence[str] = ()
    references: Sequence[str] = ()
    effects: Sequence[Value] = ()


@dataclass(frozen=True)
class Question:
    """A question, whose words are in report/<id>.j2: what it asks, the sentence that answers it,
    the same in short for the summary, why, how it was measured, tables and figures.

    facts: finds what there is to say; formula: TeX; of_accuracy: without right answers to count
    there is nothing to conclude; vocabulary: what indexes the template's tables of words beside the
    columns of the study's derived tables (`vocabulary.words`, or `table.column` of another study).
    """

    id: str
    facts: Callable[[Inputs], Facts]
    formula: Sequence[str] = ()
    references: Sequence[str] = ()
    of_accuracy: bool = False
    vocabulary: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, inputs: Inputs) -> Answer:
        """Return the answer that the tables give."""
        return self.worded(self.found(inputs))

    def found(self, inputs: Inputs) -> Facts:
        """Return the facts with what any template may have to know of what was trained."""
        found, task = self.facts(inputs), _task_of(inputs)
        missing = found.missing or [NOT_COUNTED] * (self.of_accuracy and not task["accuracies"])
        return replace(found, missing=missing, said=found.said | task)

    def worded(self, facts: Facts) -> Answer:
        """Return the facts in words; where a result is missing the conclusion is withheld."""
        tables: list[AnswerTable] = []
        figures: list[Figure] = []
        shows = {"table": _tables_into(tables), "figure": _figures_into(figures)}
        try:
            return self._said(
                facts, words.macros(f"{self.id}.j2", facts.said | shows), tables, figures
            )
        except UndefinedError as error:
            if str(error).endswith("is undefined"):  # a name, not a column
                error.add_note(f"the template is given {', '.join(facts.said)}")
            raise

    def _said(
        self, facts: Facts, say: Any, tables: list[AnswerTable], figures: list[Figure]
    ) -> Answer:
        """What the macros of the template say."""
        say.tables()
        say.figures()
        found: dict[str, Any] = {
            "id": self.id,
            "question": words.squeezed(say.question()),
            "title": words.squeezed(say.title()) if hasattr(say, "title") else "",
            "values": facts.values,
            "tables": tables,
            "figures": figures,
            "formula": [*self.formula, *facts.formula],
        }
        if facts.missing:
            return withheld(Answer(sentence="", missing=facts.missing, **found))
        marked = Said(
            sentence=words.squeezed(say.sentence()),
            short=words.squeezed(say.short()),
            paragraphs=words.paragraphs(say.paragraphs()),
            method=words.paragraphs(say.method()),
        )
        references = [*self.references, *facts.references]
        found |= {"references": references, "weight": lessons.weight(facts.effects)}
        return Answer(marked=marked, **marked.plain(), **found)


def _task_of(inputs: Inputs) -> dict[str, Any]:
    """What was trained.

    sample: the word for one; accuracies: whether right answers were counted, as far as is known.
    """
    # Of a run without a record the word is not known: "sample".
    words = set(inputs.tidy["runs"]["sample"].fillna("image")) - {"sample"}
    known = inputs.tidy["curves"].notna()
    learnt = known["train_loss"].any()
    counted = known.filter(like="accuracy").any(axis=None)
    return {
        "sample": words.pop() if len(words) == 1 else "sample",
        "accuracies": bool(counted or not learnt),
    }


def withheld(answer: Answer, study: str = "") -> Answer:
    """Return an answer without its conclusion, which names the cells without a result.

    What was measured stays in its tables and values. study: one that the configuration leaves out.
    """
    missing = [f"{study}: {LEFT_OUT}"] if study else answer.missing
    say = words.macros("withheld.j2", {"missing": missing, "study": study})
    sentence, (paragraph,) = words.squeezed(say.sentence()), words.paragraphs(say.paragraphs())
    changes = {
        "status": "withheld",
        "missing": missing,
        "sentence": sentence,
        "short": words.squeezed(say.short()),
        "paragraphs": [paragraph],
        "marked": None,
    }
    return answer.model_copy(update=changes)


def failed(question: str, error: str) -> Answer:
    """Return what stands in place of an answer: the question, and the error in one line."""
    said = words.macros("failed.j2", {"error": error.replace("$", "\\$")})
    return Answer(
        id=question,
        status="failed",
        error=error,
        question=words.question_of(question),
        sentence=words.squeezed(said.sentence()),
        short=words.squeezed(said.short()),
    )


def _figures_into(figures: list[Figure]) -> Callable[..., str]:
    """What a template calls to show a figure."""

    def figure(name: str, title: str, caption: str, further: bool = False) -> str:
        """Keep a figure, and say nothing in its place."""
        words_of_it = texts.plain(words.squeezed(caption))
        figures.append(Figure(name=name, title=title, caption=words_of_it, further=further))
        return ""

    return figure


def _tables_into(tables: list[AnswerTable]) -> Callable[..., str]:
    """What a template calls to show a table of rows; a table of no rows is none."""

    def table(
        caption: str,
        rows: Sequence[Row],
        columns: Mapping[str, Head],
        plain: Sequence[str] = (),
        further: bool = False,
    ) -> str:
        """Keep a table of some columns of the rows, and say nothing in its place.

        plain: columns of numbers that nothing measured, so that they link to no run; further: for
        who wants to know more.
        """
        if rows:
            made = table_of(caption, rows, columns, plain)
            tables.append(made.model_copy(update={"further": further}))
        return ""

    return table


def table_of(
    caption: str, rows: Sequence[Row], columns: Mapping[str, Head], plain: Sequence[str] = ()
) -> AnswerTable:
    """Return a table of some columns of rows: numbers with their runs, words for the rest."""
    heads = {key: (head, None) if isinstance(head, str) else head for key, head in columns.items()}
    units = {key: unit_of(key) if more is None else more for key, (_, more) in heads.items()}
    said = {key: unit for key, unit in units.items() if not isinstance(unit, str)}
    given = [
        Column(key=key, title=title, unit=unit if isinstance(unit := units[key], str) else "")
        for key, (title, _) in heads.items()
    ]
    shown, runs = _placed(given, rows), [row.runs for row in rows]

    def cell(row: Row, column: Column) -> AnswerCell:
        """A cell of a row."""
        key = column.key
        return row[key] if key in plain else _cell(row, column, said.get(key))

    return AnswerTable(
        caption=caption,
        columns=shown,
        rows=[{column.key: cell(row, column) for column in shown} for row in rows],
        runs=runs if any(runs) else [],
    )


def _placed(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """Return the columns, with the nodes after the workers where any workers span several.

    Columns that hold the nodes stay as they are.
    """
    several = any((row.get("nodes") or 1) > 1 for row in rows)
    shown = any(column.key == NODES.key for column in columns)
    after = {"workers"} if several and not shown else set()
    return [
        one for column in columns for one in ([column, NODES] if column.key in after else [column])
    ]


def _cell(row: Row, column: Column, said: Wording | None) -> AnswerCell:
    found: AnswerCell = row.get(column.key)
    if isinstance(said, Mapping):
        return said[found] if found is not None else said.get(None)
    if said:
        return texts.plain(words.squeezed(str(said(row))))
    counted = found is not None and not row.runs  # a name of the row, and of no run
    if isinstance(found, Value) or counted or not column.unit:
        return found
    return row.value(column.key, column.unit)
