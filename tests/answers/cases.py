"""Cases of answers as data: tables of a made-up lab with edits, and what the answer then says.

A question's file holds a list of cases. `test_words.py` swaps the entries of each table of words
in the question's template and expects a case to fail for it.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

from builders import Tables, derived_lab, full_lab
from dpscale.derive.tables import Derived
from dpscale.derive.verdicts import Side
from dpscale.reporting import texts
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.reporting.question import Facts, Question
from dpscale.studies import derived_of, questions, tables

# Tables that sum up others, so that they follow an edit of those.
SUMS = (
    "order_repeats",
    "equal_updates",
    "sweep_trend",
    "sweep_phases",
    "speedup_lesson",
    "strong_lesson",
    "split_causes",
    "ring_times",
    "goal_searches",
    "local_sgd_regimes",
)

Edit = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class Case:
    """What an answer says of a lab: each of `says`, none of `never`.

    edits: by derived table. lab: options of builders.full_lab, or what makes its tidy tables.
    """

    name: str
    says: Sequence[str] = ()
    never: Sequence[str] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    lab: Mapping[str, Any] | Callable[[], Tables] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    @functools.cached_property
    def inputs(self) -> Inputs:
        """The tables that the answer reads."""
        tidy, derived = _made(self.lab) if callable(self.lab) else _lab(**self.lab)
        edited = {name: edit(derived[name]) for name, edit in self.edits.items()}
        return Inputs(followed(derived, edited, tidy), tidy)

    @functools.cached_property
    def _facts(self) -> dict[str, Facts]:
        return {}

    def facts(self, question: Question) -> Facts:
        """What the question's Python finds."""
        if question.id not in self._facts:
            self._facts[question.id] = question.found(self.inputs)
        return self._facts[question.id]


def _lab(**options: Any) -> tuple[Tables, Derived]:
    return full_lab(**options), derived_lab(**options)


@functools.cache
def _made(tidy: Callable[[], Tables]) -> tuple[Tables, Derived]:
    made = tidy()
    return made, derived_of(made)


def followed(
    derived: Derived, edited: Mapping[str, pd.DataFrame], tidy: Mapping[str, pd.DataFrame]
) -> Derived:
    """The derived tables with others in place of some: their verdicts, and what sums them up."""
    made = dict(edited)
    for name, rows in edited.items():
        table = tables()[name]
        if table.judge or any(isinstance(kind, Side) for kind in table.columns.values()):
            made[name] = table.judged(rows)
    for name in SUMS:
        inputs = tables()[name].inputs
        if name not in edited and not made.keys().isdisjoint(inputs):
            given = [tidy[one] if one in tidy else (derived | made)[one] for one in inputs]
            made[name] = tables()[name](*given)
    return derived | made


def where(cell: Mapping[str, Any] | None = None, **columns: Any) -> Edit:
    """Give columns of the rows of a cell (all rows without one) new values.

    A value of the cell may be a list of them; a new value may be a function of the old ones.
    """

    def edit(rows: pd.DataFrame) -> pd.DataFrame:
        """The table with the new values."""
        chosen = _chosen(rows, cell or {})
        if not chosen.any():
            raise KeyError(f"no row has {cell}")
        new = {
            name: rows[name].mask(chosen, value(rows[name]) if callable(value) else value)
            for name, value in columns.items()
        }
        return rows.assign(**new)

    return edit


def only(**cell: Any) -> Edit:
    """Keep the rows of a cell."""
    return lambda rows: rows[_chosen(rows, cell)]


def without(**cell: Any) -> Edit:
    """Leave out the rows of a cell."""
    return lambda rows: rows[~_chosen(rows, cell)]


def both(*edits: Edit) -> Edit:
    """One edit after another."""
    return lambda rows: functools.reduce(lambda made, edit: edit(made), edits, rows)


LOOKS = {
    "looked_at": "speed-up",
    "compared": 10,
    "opened": 4,
    "decided": 3,
    "reopened": 0,
    "again": 27,
    "margin_frac": 0.05,
    "first_launches": 6,
    "most_launches": 24,
    "looks": 3,
    "repeat_budget_s": 180.0,
    "confidence_frac": 0.9792,
    "looks_ended": "budget",
    "runs": "sweep-b32",
}


def looks(parts: Mapping[str, object] | None = None, **changes: object) -> dict[str, Edit]:
    """The looks at speed-ups, and at parts where these are given."""
    of_parts = [] if parts is None else [LOOKS | changes | {"looked_at": "part"} | parts]
    rows = pd.DataFrame([LOOKS | changes, *of_parts])
    return {"looks": lambda made: rows.reindex(columns=list(made)).astype(dict(made.dtypes))}


def disturbed(*runs: str, repeated: int = 0, quietness: str = "disturbed") -> Edit:
    """Others used the machine while these runs were timed; repeated: so often made again."""

    def edit(quiet: pd.DataFrame) -> pd.DataFrame:
        rows = [{"run": run, "quietness": quietness, "repeated": repeated} for run in runs]
        return pd.DataFrame(rows, columns=list(quiet))

    return edit


def around(column: str, value: float, width: float = 0.01) -> dict[str, float]:
    """A column's value with an interval of a share of it on either side."""
    low, high = sorted([value * (1 - width), value * (1 + width)])
    return {column: value, f"{column}_low": low, f"{column}_high": high}


def _chosen(rows: pd.DataFrame, cell: Mapping[str, Any]) -> pd.Series:
    found = pd.Series(True, index=rows.index)
    for name, value in cell.items():
        found &= rows[name].isin(value if isinstance(value, list) else [value])
    return found


def said(question: str, case: Case) -> str:
    """What the answer to a question says, and its line in the summary, with plain spaces."""
    asked = questions()[question]
    answer = asked.worded(case.facts(asked))
    return f"{text_of(answer)} In short: {plain(answer.short)}"


def plain(text: str) -> str:
    """A text without the runs of its numbers, and with plain spaces."""
    return texts.plain(text).replace("\u00a0", " ").replace("\u202f", " ")


def numbers(marked: str) -> list[tuple[str, list[str]]]:
    """Return the numbers of a text of `answer.marked`, and the runs of each."""
    return [(found[2], found[1].split()) for found in texts.PRINTED.finditer(marked)]


def figures(answer: Answer) -> list[str]:
    """Names of the figures that an answer shows."""
    return [figure.name for figure in answer.figures]


def text_of(answer: Answer) -> str:
    """What an answer says, with plain spaces: its text, its captions, its tables row by row."""
    tables = [
        " ".join([one.caption, *(str(cell) for row in one.rows for cell in row.values())])
        for one in answer.tables
    ]
    captions = [one.caption for one in answer.figures]
    said = [answer.sentence, *answer.paragraphs, *answer.method, *captions, *tables]
    return plain(" ".join(said))


def unended(answer: Answer) -> list[str]:
    """Paragraphs that end within a sentence, as an empty line where a template says nothing does.

    The opening is one.
    """
    spoken = [answer.sentence, *answer.paragraphs, *answer.method]
    return [one for one in spoken if not one.rstrip().endswith((".", ":", "?"))]


def failures(case: Case, text: str) -> list[str]:
    """What a text lacks of a case, and what it says against it."""
    lacking = [f"does not say: {words}" for words in case.says if words not in text]
    return lacking + [f"says: {words}" for words in case.never if words in text]


def too_long(answer: Answer) -> list[str]:
    """How an answer is longer than people read: the result, then all that is not folded.

    In an opening a number and its unit, between which no line ends, are a word.
    """
    opening = plain(answer.sentence)
    sizes = {
        "words of the opening": (len(re.findall(r"[^ \n]+", answer.sentence)), 60),
        "sentences of the opening": (len(re.findall(r"[.?!](?=\s|$)", opening)), 3),
        "words": (len(plain(" ".join([opening, *answer.paragraphs])).split()), 400),
        "tables": (sum(not one.further for one in answer.tables), 2),
        "figures": (sum(not one.further for one in answer.figures), 2),
    }
    return [f"{size} {name}, not {most}" for name, (size, most) in sizes.items() if size > most]


def check(question: str, case: Case) -> None:
    """Fail where the answer to a question is not as the case has it."""
    assert case.says or case.never, f"the case {case.name!r} cannot fail"
    text = said(question, case)
    assert not failures(case, text), text
    found = questions()[question]
    answer = found.worded(case.facts(found))
    assert not unended(answer), text
    assert not (long := too_long(answer)), f"{long}: {text}"
    known = {*case.inputs.tidy["runs"]["run"]}
    named = {run for part in texts_of(answer) for _, runs in numbers(part) for run in runs}
    assert named <= known, f"no such runs: {named - known}"  # as where a text changed their names


def texts_of(answer: Answer) -> list[str]:
    """The texts of an answer, its numbers with their runs."""
    return [answer.sentence, answer.short, *answer.paragraphs, *answer.method]


def says(question: str, cases: Sequence[Case]) -> Callable[[Case], None]:
    """A test for each case of a question."""

    @pytest.mark.parametrize("case", cases, ids=str)
    def test(case: Case) -> None:
        check(question, case)

    return test
