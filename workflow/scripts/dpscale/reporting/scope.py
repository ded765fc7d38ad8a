"""What was run on what: the networks and the data of each part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dpscale.reporting.answer import Answer
from dpscale.reporting.parts import Part
from dpscale.reporting.texts import PRINTED
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
    for part in parts:
        own = _complete([answers[question] for question in part.questions], runs)
        models, data = (list(own[name].value_counts().index) for name in ("model", "dataset"))
        if models:
            found.append(Trained(part, (*map(_network, models),), (*map(dataset, data),)))
    return found


def networks(answer: Answer, runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the networks that the opening of an answer rests on, in words, the most used first.

    Those of the runs of its numbers; of an opening without such a number those of the answer.
    """
    named = {run for found in PRINTED.finditer(answer.said.sentence) for run in found[1].split()}
    used = _complete_of(named, runs)
    used = _complete([answer], runs) if used.empty else used
    return tuple(map(network, used["model"].value_counts().index))


def _complete(answers: Sequence[Answer], runs: pd.DataFrame) -> pd.DataFrame:
    """The complete runs that answers name.

    One that could not begin knows no more of a training of one's own than that it is one.
    """
    return _complete_of(set().union(*map(runs_of, answers)), runs)


def _complete_of(named: set[str], runs: pd.DataFrame) -> pd.DataFrame:
    return runs[(runs["status"] == "complete") & runs["run"].isin(named)]


def _network(name: str) -> str:
    said = network(name)
    return said if said[0].isupper() else f"a {said}"
