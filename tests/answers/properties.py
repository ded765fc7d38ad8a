"""What tests of properties share: numbers, intervals and nulls by chance, and runs that fail."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from hypothesis import Phase, settings
from hypothesis import strategies as st

from builders import Tables
from cases import plain
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.studies import questions
from failed_runs import STATUSES, failed

NAN = float("nan")
# Not shrunk: that would take minutes, and the first table that fails is as good.
BY_CHANCE = settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
QUICK = settings(BY_CHANCE, max_examples=15)  # where each lab is derived anew
LONGEST_LINE = 25  # words of a line of the summary
BROKEN = re.compile(r"None|nan|<NA>|Undefined|\(\)|,,|, \.| ,|\.\.|  |no effect")


def measured(column: str, least: float, most: float) -> st.SearchStrategy[dict[str, float]]:
    """A value with an interval around it, or with none, or nothing at all, as columns."""
    number = st.floats(least, most)
    whole = st.lists(number, min_size=3, max_size=3).map(sorted)
    found = st.one_of(
        whole.map(lambda ends: (ends[1], ends[0], ends[2])),
        number.map(lambda value: (value, NAN, NAN)),
        st.just((NAN, NAN, NAN)),
    )
    names = (column, f"{column}_low", f"{column}_high")
    return found.map(lambda values: dict(zip(names, values, strict=True)))


def edited(rows: pd.DataFrame, edits: Mapping[int, Mapping[str, object]]) -> pd.DataFrame:
    """A table with new values in some columns of some rows, by place."""
    made = rows.copy()
    for place, columns in edits.items():
        for name, value in columns.items():
            made.iloc[place, made.columns.get_loc(name)] = value
    return made


@st.composite
def nulled(draw: st.DrawFn, rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A derived table with nulls in some columns of some rows, and some rows left out."""
    made = rows.copy()
    for column in draw(st.lists(st.sampled_from(list(columns)), max_size=3)):
        chosen = draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))
        made[column] = made[column].mask(pd.Series(chosen, index=made.index))
    kept = draw(st.lists(st.integers(0, 5), min_size=len(made), max_size=len(made)))
    return made[[one > 0 for one in kept]] if draw(st.booleans()) else made


def side(low: float, high: float, mark: float = 0.0) -> str:
    """Where an interval lies: above a mark, below it, across it (indistinct), or unknown."""
    if pd.isna(low) or pd.isna(high):
        return "unknown"
    return "above" if low > mark else "below" if high < mark else "indistinct"


def lies(one: Sequence[float], other: Sequence[float]) -> str:
    """Where an interval lies beside another: above or below it, meeting it, or unknown."""
    if any(pd.isna(end) for end in (*one, *other)):
        return "unknown"
    return "above" if one[0] > other[1] else "below" if one[1] < other[0] else "indistinct"


def ends(row: Mapping[str, float] | pd.Series, column: str) -> list[float]:
    """The interval of a column."""
    return list(pd.Series([row[f"{column}_low"], row[f"{column}_high"]], dtype=float))


def side_of(row: Mapping[str, float], column: str) -> str:
    """Where a difference lies, by the ends of its interval in the table."""
    if pd.isna(row[column]):
        return "unknown"
    return side(row[f"{column}_low"], row[f"{column}_high"])


def failing(tables: Tables, names: list[str]) -> Iterator[tuple[str, Tables]]:
    """The tables with each of some runs in a status without numbers, and with all in each such."""
    for name, status in zip(names, itertools.cycle(STATUSES)):
        yield f"{status}: {name}", failed(tables, [name], status)
    for status in STATUSES:
        yield f"{status}: all", failed(tables, names, status)


def asked(question: str, inputs: Inputs) -> tuple[Answer, str]:
    """The answer and its text, after a look that nothing in it is empty or broken."""
    known = questions()[question]
    facts = known.found(inputs)
    answer = known.worded(facts)
    spoken = [answer.sentence, *answer.paragraphs, *answer.method]
    text = plain(" ".join(spoken))
    assert answer.sentence, question
    assert not BROKEN.search(text), (BROKEN.search(text), text)
    for one in spoken:
        assert one.rstrip().endswith((".", ":", "?")), text
    short = plain(answer.short)
    assert bool(re.search("withheld", short, re.IGNORECASE)) == bool(facts.missing), short
    assert not BROKEN.search(short), (BROKEN.search(short), short)
    # A thin space parts digits, no words.
    assert len(answer.short.replace("\u202f", "").split(" ")) <= LONGEST_LINE, short
    return answer, text
