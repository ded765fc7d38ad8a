"""What a table's numbers rest on: model and dataset, the times, or else a known mistake."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpscale.audit.cells import Interval, SheetCell
from dpscale.audit.table import TIMES, Setting, TimingRow, TimingTable
from dpscale.records.audit import Cause, cause

_COUNT = r"(?<![\d.,])(\d{1,3}(?:[ ,.'_\u00a0\u202f]\d{3})+|\d+)(?![\d.])"
_WORDS = r"(?:\s+(?!thousand|million|billion)[A-Za-z][\w-]*){0,3}?"
STATED = {  # what stands after a count, or before a colon and a count
    "parameters": (rf"{_WORDS}\s+param(?:eter)?s", r"param(?:eter)?s"),
    "samples": (r"\s+(?:train(?:ing)?\s+)?(?:images|samples|examples)", "samples"),
    "epochs": (r"\s+epochs", "epochs"),
}
# What the lab has.
FACTS = {"parameters": 11_173_962, "samples": 50_000, "itemsize": 4, "epochs": 1}
FEWEST = {"parameters": 100, "samples": 1000}  # fewer are a batch, or something else
NEARLY = 0.02  # of the number: a mistake that misses it by less may be behind it
CHANCE = 0.05  # of all numbers near a printed one that a mistake may meet without a doubt
MOST_COMMENTS, MOST_CHARACTERS = 1000, 1000


@dataclass(frozen=True)
class Given:
    """What the user says; None: the table's comments, or else the lab, decide."""

    parameters: int | None = None
    samples: int | None = None
    itemsize: int | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class Facts:
    """X parameters of itemsize bytes, D training samples; the steps are those of some epochs."""

    parameters: int
    samples: int
    itemsize: int
    epochs: int


def settled(given: Given, table: TimingTable) -> tuple[Facts, list[Cause]]:
    """Return the facts, and where each comes from."""
    values, sources = {}, []
    text = "\n".join(line[:MOST_CHARACTERS] for line in table.comments[:MOST_COMMENTS])
    for name, usual in FACTS.items():
        found = []
        if name in STATED:
            after, before = STATED[name]
            patterns = rf"{_COUNT}{after}\b", rf"\b{before}\s*[:=]\s*{_COUNT}"
            found = [count for pattern in patterns for count in re.findall(pattern, text, re.I)]
        counts = {int(re.sub(r"\D", "", count)) for count in found}
        stated = [count for count in counts if FEWEST.get(name, 1) <= count < 10**15]
        values[name] = usual
        if (option := getattr(given, name)) is not None:
            values[name], source = option, "given"
        elif len(stated) == 1:
            values[name], source = stated[0], "commented"
        else:
            source = "several" if stated else "assumed" if name == "epochs" else "lab"
        if name != "epochs" or "steps" in table.columns:
            sources.append(cause("fact", number=values[name], fact=name, source=source))
    return Facts(**values), sources


Pair = tuple[str, str]  # column of one worker's time, column of N workers' time
SWEEP, EPOCH, NODATA = TIMES
SPEEDUP = ((EPOCH, EPOCH), (NODATA, NODATA), (SWEEP, NODATA), (SWEEP, EPOCH), (EPOCH, NODATA))
COMMUNICATION = ((SWEEP, NODATA), (NODATA, NODATA), (SWEEP, EPOCH), (EPOCH, EPOCH), (EPOCH, NODATA))


@dataclass(frozen=True)
class Times:
    """One worker's time and that of N workers, under one convention."""

    base: SheetCell
    total: SheetCell
    base_column: str
    total_column: str
    same_batch: bool

    @property
    def way(self) -> tuple[str, str, str]:
        """The convention: one worker's column, that of N workers, and the batch that is alike."""
        return self.base_column, self.total_column, "b" if self.same_batch else "N*b"

    @property
    def holds_loading(self) -> bool:
        """Whether the time of N workers is with loading, and that of one is not."""
        return self.total_column == "epoch_s" != self.base_column

    @property
    def named(self) -> dict[str, str]:
        """The convention, for words."""
        return dict(zip(("base", "total", "alike"), self.way, strict=True))


def options(table: TimingTable, row: TimingRow, pairs: tuple[Pair, ...]) -> Iterator[Times]:
    """Yield what a row's derived numbers may rest on, the lab's way first.

    Times with and without loading are mixed only where the row gives no two alike.
    """
    for same_batch in (True, False):
        base = table.rows.get((1, row.per_worker_batch if same_batch else row.global_batch))
        bases = dict(base.cells) if base else {}
        if same_batch and SWEEP in row.cells:
            bases.setdefault(SWEEP, row.cells[SWEEP])  # one device's by definition, in any row
        found = [pair for pair in pairs if pair[0] in bases and pair[1] in row.cells]
        alike = [pair for pair in found if (pair[0] == EPOCH) == (pair[1] == EPOCH)]
        for pair in found:
            # A table without nodata_s means its epoch_s for the lab's subtraction.
            lab = pairs is COMMUNICATION and pair[1] == EPOCH and NODATA not in row.cells
            if lab or pair in alike or not alike:
                yield Times(bases[pair[0]], row.cells[pair[1]], *pair, same_batch)


def chosen(
    table: TimingTable, pairs: tuple[Pair, ...], fits: Callable[[TimingRow, Times], int]
) -> dict[Setting, Times]:
    """Return the times that a row is judged by, for each row that has any.

    Of those that a row can follow, the ones that most numbers of the table do.
    fits: how many printed numbers of a row follow from some times.
    """
    found = {place: list(options(table, row, pairs)) for place, row in table.rows.items()}
    votes: Counter[tuple[str, str, str]] = Counter()
    for place, row in table.rows.items():
        for times in found[place] if row.workers > 1 else ():
            votes[times.way] += fits(row, times)
    ways = {place: times for place, times in found.items() if times}
    return {place: max(w, key=lambda times: votes[times.way]) for place, w in ways.items()}


@dataclass(frozen=True)
class Guess:
    """What a mistake would have given; code: its own, where it has one."""

    span: Interval
    cause: Cause
    code: str = ""


def nearest(cell: SheetCell, guesses: Iterable[Guess]) -> Guess | None:
    """Return the guess whose span meets the printed number and is nearest to it, if any does.

    Where so many other numbers would meet one that chance may have done it, its cause says so.
    """
    every = list(guesses)
    met = [guess for guess in every if guess.span.meets(cell.span)]
    found = min(met, key=lambda guess: _miss(cell, guess.span), default=None)
    return found and _doubted(found, cell, every, (cell.span.high - cell.span.low) / 2)


def _doubted(guess: Guess, cell: SheetCell, guesses: Iterable[Guess], reach: float) -> Guess:
    """The guess, with a doubt unless fewer than CHANCE of the numbers near it meet any guess.

    reach: how far from a guess's span a number still meets it; near: half of it to twice it.
    """
    least, most = sorted((cell.value / 2, 2 * cell.value))
    spans = sorted((one.span.low - reach, one.span.high + reach) for one in guesses)
    met, end = 0.0, least
    for low, high in spans:
        met += max(0.0, min(high, most) - max(low, end))
        end = max(end, min(high, most))
    doubtful = met >= CHANCE * (most - least)
    return replace(guess, cause=replace(guess.cause, perhaps=doubtful))


def likeliest(
    cell: SheetCell, guesses: Sequence[Guess], rights: Sequence[Interval]
) -> Guess | None:
    """Return the guess that meets the printed number, else one that it misses by under NEARLY.

    rights: what the number should be.
    """
    return nearest(cell, guesses) or _nearly(cell, guesses, rights)


def _nearly(cell: SheetCell, guesses: Sequence[Guess], rights: Sequence[Interval]) -> Guess | None:
    """The guess that the printed number misses by least, if by less than NEARLY of itself.

    Its cause has both numbers: some digits got lost, or something was counted a little
    otherwise. What is right explains the number better where it is nearer.
    """
    most = min([NEARLY * abs(cell.value), *(_miss(cell, span) for span in rights)])
    close = [
        guess
        for guess in guesses
        if _miss(cell, guess.span) < most and not any(map(guess.span.meets, rights))
    ]
    if not close:
        return None
    guess = min(close, key=lambda guess: _miss(cell, guess.span))
    guess = _doubted(guess, cell, guesses, NEARLY * abs(cell.value))
    both = cell.printed, guess.span.middle / cell.scale
    return replace(guess, cause=replace(guess.cause, nearly=both))


def _miss(cell: SheetCell, span: Interval) -> float:
    return abs(span.middle - cell.span.middle)
