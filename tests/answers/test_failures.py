"""No failure of a timed run ends in an error: one at a time, and all together."""

import pytest

from builders import full_lab
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of
from failed_runs import STATUSES, failed

TIMED = ("sweep", "boundary", "scaling", "link", "compression", "assignment_split")
QUESTIONS = ("Q1", "Q2", "Q3.1", "Q3.2", "H4")
RUNS = full_lab()["runs"].query("study in @TIMED")["run"].tolist()
LAB = {
    name: table[table["run"].isin(RUNS)] if "run" in table else table
    for name, table in full_lab().items()
}


def answered(status: str, runs: list[str]) -> None:
    """Answer where these runs ended so."""
    tidy = failed(LAB, runs, status)
    derived = derived_of(tidy)
    for question in QUESTIONS:
        answer = answer_one(question, Inputs(derived, tidy))
        assert answer.sentence.strip()


# Of each study the base, and a run that is compared with it.
@pytest.mark.parametrize(
    "run", [
        "sweep-b32", "sweep-b512", "boundary", "scaling-n1-b32", "scaling-n1-b512",
        "scaling-n2-b32", "scaling-n4-b8", "link-n2", "compression-n2", "assignment-split-n1",
        "assignment-split-n4",
    ],
)  # fmt: skip
def test_a_failed_run_leaves_every_answer_standing(run: str) -> None:
    answered("out_of_memory", [run])


@pytest.mark.parametrize("status", STATUSES)
def test_with_all_runs_failed_every_answer_stands(status: str) -> None:
    answered(status, RUNS)
