"""Words chosen by data: verdicts on intervals, numbers with nouns, lists, quantities."""

from collections.abc import Mapping, Sequence
from typing import Literal

from dpscale.reporting.answer import LEFT_OUT, Answer, Table, Value
from dpscale.units import format_value

Verdict = Literal["below", "above", "indistinct", "unknown"]

FASTER: dict[Verdict, str] = {  # of some workers, by their speed-up against 1
    "above": "faster than one",
    "below": "slower than one",
    "indistinct": "equal to one within the noise",
    "unknown": "not comparable with one for want of repeats",
}
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def against(value: Value, reference: float) -> Verdict:
    """Return where a value's 95% interval lies: below or above a number, or across it.

    `unknown` without an interval: one repeat cannot say whether two things differ.
    """
    if value.value is None or value.low is None or value.high is None:
        return "unknown"
    if value.high < reference:
        return "below"
    return "above" if value.low > reference else "indistinct"


def compare(value: Value, other: Value) -> Verdict:
    """Return whether a value is below or above another; `indistinct` if their intervals meet."""
    ends = (value.low, value.high, other.low, other.high)
    if value.value is None or other.value is None or None in ends:
        return "unknown"
    low, high, other_low, other_high = (float(end) for end in ends if end is not None)
    if high < other_low:
        return "below"
    return "above" if low > other_high else "indistinct"


def join(items: Sequence[str], last: str = "and") -> str:
    """Return items as a list in prose: `a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def number_word(number: int) -> str:
    """Return a small whole number as a word (`two`), a larger one in digits."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the right form: `one worker`, `two workers`."""
    return f"{number_word(number)} {noun if number == 1 else plural or noun + 's'}"


def digits(number: int, noun: str) -> str:
    """Return a number in digits with its noun in the right form: `1 update`, `20 updates`."""
    return f"{number} {noun if number == 1 else noun + 's'}"


def verb(number: int, one: str, many: str) -> str:
    """Return the form of a verb that agrees with a number of things."""
    return one if number == 1 else many


def capitalised(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, `11th`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"


def batches(sizes: Sequence[int]) -> str:
    """Return batch sizes per worker as prose: `b = 32, 128 and 512`."""
    return f"b = {join([str(size) for size in sizes])}"


def cells(pairs: Sequence[tuple[int, int]]) -> str:
    """Return (workers, batch) cells by workers: `N = 2 with b = 32 and 128, N = 4 with b = 32`."""
    by_workers: dict[int, list[int]] = {}
    for workers, batch in pairs:
        by_workers.setdefault(workers, []).append(batch)
    return "; ".join(
        f"N = {workers} with {batches(sizes)}" for workers, sizes in by_workers.items()
    )


def quantity(value: Value) -> str:
    """Return a value with its unit and its interval."""
    return format_value(
        value.value, value.unit, low=value.low, high=value.high, status=value.status
    )


def bare(value: Value) -> str:
    """Return a value with its unit, without its interval (which a table beside it gives)."""
    return format_value(value.value, value.unit, status=value.status)


def points(value: float) -> str:
    """Return a difference of two fractions as unsigned percentage points."""
    return f"{format_value(abs(100 * value), 'number')} percentage points"


def median_of(repeats: Sequence[int]) -> str:
    """Return what a time is, from the numbers of its repeats: their median, or the only one."""
    if not repeats:
        return "the median of the timed repeats"
    if max(repeats) == 1:
        return "that of one timed repeat, which gives no interval,"
    return f"the median of {span(repeats)} timed repeats"


def span(numbers: Sequence[int]) -> str:
    """Return the range of some counts: `5`, or `5 to 8` when they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def nothing(unit: str) -> Value:
    """Return the null value of a withheld conclusion."""
    return Value(value=None, unit=unit, status="withheld")


def left_out(answer: Answer, study: str) -> Answer:
    """Return a withheld answer that says that the configuration does not plan its study."""
    changes = {
        "missing": [f"{study}: {LEFT_OUT}"],
        "sentence": f"The conclusion is withheld: the study {study} is {LEFT_OUT}.",
        "paragraphs": [f"The answer appears once the configuration plans the study {study}."],
    }
    return answer.model_copy(update=changes)


def withheld(
    *,
    id: str,
    question: str,
    missing: list[str],
    values: Mapping[str, Value],
    tables: Sequence[Table] = (),
    figures: Sequence[str] = (),
    formula: Sequence[str] = (),
) -> Answer:
    """Return an answer whose conclusion is withheld: it names the cells without a result.

    What was measured stays in its tables and values; a conclusion's value is `nothing`.
    """
    number = len(missing)
    return Answer(
        id=id,
        question=question,
        missing=missing,
        sentence=f"The conclusion is withheld: {counted(number, 'result')} that it needs "
        f"{verb(number, 'is', 'are')} missing.",
        paragraphs=[
            f"Missing: {'; '.join(missing)}. The answer appears once "
            f"{verb(number, 'this result exists', 'these results exist')}."
        ],
        formula=list(formula),
        values=dict(values),
        tables=list(tables),
        figures=list(figures),
    )
