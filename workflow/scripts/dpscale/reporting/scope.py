"""What was run on what: the networks and the data of each part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dpscale.reporting.answer import Answer
from dpscale.reporting.parts import Part
from dpscale.units.networks import dataset, network


@dataclass(frozen=True)
class Trained:
    """The networks and the data that the answers of a part rest on, in words."""

    part: Part
    networks: tuple[str, ...]
    datasets: tuple[str, ...]


def runs_of(answer: Answer) -> set[str]:
    """Return the runs that an answer's numbers and tables name."""
    named = {run for value in answer.values.values() for run in value.runs}
    return named.union(*(runs for table in answer.tables for runs in table.runs))


def trained(
    parts: Sequence[Part], answers: Mapping[str, Answer], runs: pd.DataFrame
) -> list[Trained]:
    """Return what the parts rest on, of those that rest on runs; most used first."""
    found = []
    # A run that could not begin knows no more of a training of one's own than that it is one.
    complete = runs[runs["status"] == "complete"]
    for part in parts:
        named = set().union(*(runs_of(answers[question]) for question in part.questions))
        own = complete[complete["run"].isin(named)]
        models, data = (list(own[name].value_counts().index) for name in ("model", "dataset"))
        if models:
            found.append(Trained(part, (*map(_network, models),), (*map(dataset, data),)))
    return found


def _network(name: str) -> str:
    said = network(name)
    return said if said[0].isupper() else f"a {said}"
