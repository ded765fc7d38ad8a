"""What tests of properties share: numbers, intervals and nulls by chance, and runs that fail."""

import itertools
import re
from collections.abc import Iterator

import pandas as pd
from hypothesis import Phase, settings

from builders import Tables
from cases import plain, unended
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.studies import questions
from failed_runs import STATUSES, failed

NAN = float("nan")
# Not shrunk: that would take minutes, and the first table that fails is as good.
BY_CHANCE = settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
LONGEST_LINE = 25  # words of a line of the summary
BROKEN = re.compile(r"None|nan|<NA>|Undefined|\(\)|,,|, \.| ,|\.\.|  |no effect")


def side(low: float, high: float, mark: float = 0.0) -> str:
    """Where an interval lies: above a mark, below it, across it (indistinct), or unknown."""
    if pd.isna(low) or pd.isna(high):
        return "unknown"
    return "above" if low > mark else "below" if high < mark else "indistinct"


def failing(
    tables: Tables, names: list[str], every: list[str] | None = None
) -> Iterator[tuple[str, Tables]]:
    """The tables with each of some runs in a status without numbers, and with all in each such."""
    for name, status in zip(names, itertools.cycle(STATUSES)):
        yield f"{status}: {name}", failed(tables, [name], status)
    for status in STATUSES:
        yield f"{status}: all", failed(tables, every or names, status)


def asked(question: str, inputs: Inputs) -> tuple[Answer, str]:
    """The answer and its text, after a look that nothing in it is empty or broken."""
    known = questions()[question]
    facts = known.found(inputs)
    answer = known.worded(facts)
    spoken = [answer.sentence, *answer.paragraphs, *answer.method]
    text = plain(" ".join(spoken))
    assert answer.sentence, question
    assert not BROKEN.search(text), (BROKEN.search(text), text)
    assert not unended(answer), text
    short = plain(answer.short)
    assert bool(re.search("withheld", short, re.IGNORECASE)) == bool(facts.missing), short
    assert not BROKEN.search(short), (BROKEN.search(short), short)
    # A thin space parts digits, no words.
    assert len(answer.short.replace("\u202f", "").split(" ")) <= LONGEST_LINE, short
    return answer, text
