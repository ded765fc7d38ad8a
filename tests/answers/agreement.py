"""Pairs of answers, and the first page, that must not contradict each other: one list of them.

Each pair gives a line for each contradiction that it finds in a lab and its answers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cases import numbers, plain, text_of
from dpscale.derive.columns import known
from dpscale.derive.verdicts import ends, lies
from dpscale.reporting import texts
from dpscale.reporting.answer import Answer
from dpscale.reporting.lessons import first_sentence
from dpscale.reporting.tables import NOTHING

CELL = ["workers", "nodes", "per_worker_batch"]
Rows = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Report:
    """A lab's tables, and its answers that are complete."""

    derived: Rows
    tidy: Rows
    answers: Mapping[str, Answer]

    @classmethod
    def of(cls, derived: Rows, tidy: Rows, answers: Sequence[Answer]) -> "Report":
        """Return the report of these, without what lacks a result."""
        whole = {one.id: one for one in answers if one.status == "complete"}
        return cls(derived, tidy, whole)

    def model_of(self, runs: str) -> str:
        """Return the network of a row's runs."""
        own = self.tidy["runs"]
        return str(own[own["run"].isin(runs.split())]["model"].iloc[0])


def exposed_communication(report: Report) -> Iterator[str]:
    """Q3.1 and H4: at an equal cell of one network their intervals of exposed time meet."""
    if not {"Q3.1", "H4"} <= report.answers.keys():
        return
    both = report.derived["communication"].merge(
        report.derived["assignment_split"], on=CELL, suffixes=("", "_of_h4")
    )
    for row in both.to_dict("records"):
        same = report.model_of(row["runs"]) == report.model_of(row["runs_of_h4"])
        share = {f"x{end}": known(row[f"exposed_frac{end}"]) for end in ("", "_low", "_high")}
        first, second = ends(row, "exposed_s"), ends(share, "x")
        if not first or not second or not row["epoch_s"]:
            continue
        shares = (first[0] / row["epoch_s"], first[1] / row["epoch_s"])
        if same and lies(shares, second) in ("above", "below"):
            yield f"{[row[name] for name in CELL]}: exposed {shares} in Q3.1, {second} in H4"


def linear_rule(report: Report) -> Iterator[str]:
    """Q4.2 and S2: where the rule helps in one and loses in the other, one names the other."""
    if not {"Q4.2", "S2"} <= report.answers.keys():
        return
    accuracy, elbows = report.derived["large_batch"], report.derived["lr_scaling_elbow"]
    helped = accuracy[(accuracy["arm"] == "linear_scaling") & (accuracy["base"] == "large")]
    lost = elbows[(elbows["rule"] == "linear") & elbows["lost_batch"].notna()]
    if (helped["test_accuracy_side"] == "above").any() and len(lost):
        first, second = (text_of(report.answers[name]) for name in ("Q4.2", "S2"))
        if "S2" not in first and "Q4.2" not in second:
            yield "the linear rule helps in Q4.2 and loses in S2, and neither says why"


def zero_gains(report: Report) -> Iterator[str]:
    """Q4.2 and S2: where zero gains without warm-up do opposite things, both say so."""
    if not {"Q4.2", "S2"} <= report.answers.keys():
        return
    accuracy, error = report.derived["large_batch"], report.derived["lr_scaling"]
    here = accuracy[
        (accuracy["arm"] == "zero_gamma_alone") & (accuracy["base"] == "linear_scaling")
    ]
    there = error[error["large"] & error["zero_gamma"] & (error["warmup"] == "none")]
    # What is above as an accuracy is below as an error.
    if {*here["test_accuracy_side"]} & {*there["to_unit"]} & {"above", "below"}:
        first, second = (text_of(report.answers[name]) for name in ("Q4.2", "S2"))
        if "here they do the opposite, at" not in first or "it in Q4.2" not in second:
            yield "zero gains do opposite things in Q4.2 and S2, and one does not say so"


def accuracies_of_workers(report: Report) -> Iterator[str]:
    """H3 and H5: the accuracy of a number of workers is one number."""
    if not {"H3", "H5"} <= report.answers.keys():
        return
    first, second = (report.answers[name].values for name in ("H3", "H5"))
    for name in first.keys() & second.keys():
        if name.startswith("test_accuracy") and first[name] != second[name]:
            yield f"{name}: {first[name]} in H3, {second[name]} in H5"


def first_page(report: Report) -> Iterator[str]:
    """The first page and the answers: no number that the answer has not, no other lesson."""
    for one in report.answers.values():
        if not one.sentence.startswith(texts.plain(first_sentence(one.said.sentence))):
            yield f"{one.id}: its lesson is not its first sentence"
        cells = [cell for table in one.tables for row in table.rows for cell in row.values()]
        held = text_of(one) + " ".join(
            plain(str(value)) for value in [*one.values.values(), *cells]
        )
        for number, _ in numbers(one.said.short):
            if plain(number) != NOTHING and plain(number).split(" (")[0] not in held:
                yield f"{one.id}: {plain(number)} is on the first page alone"


PAIRS: tuple[Callable[[Report], Iterator[str]], ...] = (
    exposed_communication,
    linear_rule,
    zero_gains,
    accuracies_of_workers,
    first_page,
)


def contradictions(derived: Rows, tidy: Rows, answers: Sequence[Answer]) -> list[str]:
    """Return a line for each contradiction of any pair."""
    report = Report.of(derived, tidy, answers)
    return [f"{pair.__name__}: {line}" for pair in PAIRS for line in pair(report)]


def read(folder: Any, derived: Mapping[str, Any], tidy: Mapping[str, Any]) -> tuple[Rows, Rows]:
    """Return the tables of a folder of results; derived, tidy: the columns of each, by name."""
    from dpscale.records.storage import read_table

    return (
        {
            name: read_table(folder / f"derived/{name}.csv", table.columns)
            for name, table in derived.items()
        },
        {
            name: read_table(folder / f"tables/{name}.parquet", columns)
            for name, columns in tidy.items()
        },
    )
