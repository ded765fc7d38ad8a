"""Q2's second half: strong scaling against weak, from the measurement per base batch."""

from dataclasses import dataclass

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_subtraction import lab_rows
from dpscale.units import format_value


@dataclass(frozen=True)
class Pair:
    """The speed-ups of both kinds for N workers on one base: b = B at one worker."""

    workers: int
    base_batch: int
    weak: Value
    strong: Value

    @property
    def verdict(self) -> Verdict:
        """Where the strong speed-up lies against the weak one."""
        return prose.compare(self.strong, self.weak)


def pairs(inputs: Inputs, rows: list[Row]) -> list[Pair]:
    """Return the pairs for which both kinds have a speed-up, by workers and base batch."""

    def ratio(row: Row) -> Value:
        """The speed-up of a row."""
        return measured(row, "speedup_ratio", "ratio", inputs.runs_of(row), row.get("repeats"))

    usable = [row for row in rows if row["workers"] > 1 and row.get("speedup_ratio") is not None]
    weak = {
        (row["workers"], row["per_worker_batch"]): row for row in usable if row["kind"] == "weak"
    }
    return [
        Pair(
            row["workers"],
            row["global_batch"],
            ratio(weak[row["workers"], row["global_batch"]]),
            ratio(row),
        )
        for row in sorted(usable, key=lambda row: (row["workers"], row["global_batch"]))
        if row["kind"] == "strong" and (row["workers"], row["global_batch"]) in weak
    ]


def _groups(compared: list[Pair]) -> dict[Verdict, list[Pair]]:
    groups: dict[Verdict, list[Pair]] = {}
    for pair in compared:
        groups.setdefault(pair.verdict, []).append(pair)
    return groups


def clause(compared: list[Pair]) -> str:
    """Return whether the other kind, strong scaling, gives better or worse numbers."""
    if not compared:
        return "strong scaling was not measured, so which kind is better is not decided here"
    words: dict[Verdict, str] = {
        "above": "better numbers",
        "below": "worse numbers",
        "indistinct": "numbers not distinguishable from these",
        "unknown": "numbers that too few repeats leave undecided",
    }
    groups, total = _groups(compared), len(compared)
    if len(groups) == 1:
        where = (
            "in the one cell compared"
            if total == 1
            else (f"in all {prose.number_word(total)} cells compared")
        )
        return f"strong scaling (B fixed) gives {words[compared[0].verdict]} {where}"
    parts = [
        f"{words[verdict]} in {prose.number_word(len(found))}" for verdict, found in groups.items()
    ]
    return (
        f"strong scaling (B fixed) gives {prose.join(parts)} of the "
        f"{prose.number_word(total)} cells compared"
    )


def balance(inputs: Inputs) -> str:
    """Return why more workers are faster or slower: what they save against what they cost.

    Both are seconds of an epoch without loading, at the smallest batch of each N.
    """
    rows = {
        row["workers"]: row
        for row in reversed(lab_rows(inputs, "communication"))
        if row.get("subtraction_s") is not None
    }
    parts = []
    for workers, row in sorted(rows.items()):
        saved = row["base_epoch_s"] * (1 - 1 / workers)
        parts.append(
            f"{format_value(saved, 's')} saved and "
            f"{format_value(row['subtraction_s'], 's')} added at N = {workers}, "
            f"b = {row['per_worker_batch']}"
        )
    if not parts:
        return ""
    return (
        f"Why: N workers save $(1 - 1/N) \\, T_1$ of an epoch's computation and add what Q3.1 "
        f"finds by subtraction, communication with overhead and contention. Without loading, "
        f"that is {'; '.join(parts)}. More workers are slower where they add more than they "
        "save."
    )


def reason(compared: list[Pair]) -> str:
    """Return how the kinds were compared, and the mechanism behind the verdict."""
    if not compared:
        return ""
    verdicts = {pair.verdict for pair in compared}
    if verdicts == {"below"}:
        why = (
            "Strong scaling keeps the number of iterations at $D/B$ and shrinks what each "
            "worker computes in one; weak scaling divides the number of iterations by N. What "
            "an iteration costs whatever its size, launches, the update and one all-reduce of "
            "all gradients, is thus paid N times as often."
        )
    elif "above" in verdicts:
        why = (
            "Strong scaling pays the fixed costs of an iteration, launches, the update and the "
            "all-reduce, N times as often as weak scaling, so it was expected to be worse. "
            "Where it is better, a smaller batch per worker must run faster per sample, which "
            "the sweep of Q1 can confirm or refute at the same b."
        )
    else:
        why = (
            "Strong scaling pays the fixed costs of an iteration, launches, the update and the "
            "all-reduce, N times as often as weak scaling; where the intervals meet, that "
            "difference is within the noise of these repeats."
        )
    return (
        "The other kind was measured too, and its speed-up is set beside that of weak scaling "
        f"for the same N and the same base $T_1$. {why}"
    )


def comparison(compared: list[Pair]) -> list[Table]:
    """Return the table of both kinds' speed-ups; none when there is no pair."""
    words: dict[Verdict, str] = {
        "above": "better",
        "below": "worse",
        "indistinct": "not distinguishable",
        "unknown": "undecided",
    }
    columns = [
        Column(key="workers", title="Workers N", unit="setting"),
        Column(key="base_batch", title="Base b", unit="setting"),
        Column(key="weak", title="Weak", unit="ratio"),
        Column(key="strong", title="Strong", unit="ratio"),
        Column(key="verdict", title="Strong is"),
    ]
    rows = [
        {
            "workers": pair.workers,
            "base_batch": pair.base_batch,
            "weak": pair.weak,
            "strong": pair.strong,
            "verdict": words[pair.verdict],
        }
        for pair in compared
    ]
    return (
        [
            Table(
                caption="Speed-up of both kinds of scaling on the same base.",
                columns=columns,
                rows=rows,
            )
        ]
        if compared
        else []
    )
