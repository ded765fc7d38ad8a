"""Cells: planned runs of one (workers, nodes, per-worker batch), taken together."""

import pandas as pd
import pytest

from builders import runs_table
from dpscale.derive.cells import cells, combined_status, in_study


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["failed", "complete", "out_of_memory"], "complete"),
        (["not run yet", "out_of_memory"], "out_of_memory"),
        (["not run yet", "failed"], "failed"),
        (["something new", "not run yet"], "not run yet"),
    ],
)
def test_a_complete_run_decides_and_else_the_most_telling_one(statuses, status):
    assert combined_status(statuses) == status


def test_only_the_runs_of_the_cells_status_stand_behind_it():
    runs = runs_table([{"run": "a", "status": "failed"}, {"run": "b"}, {"run": "c"}])
    assert [(cell.status, cell.runs) for cell in cells(runs)] == [("complete", ("b", "c"))]


def test_a_cell_is_oversubscribed_when_any_of_its_runs_was():
    runs = runs_table([{"run": "a"}, {"run": "b", "oversubscribed": True}])
    assert cells(runs)[0].oversubscribed is True


def test_no_study_is_no_row_rather_than_an_error():
    runs = pd.DataFrame({"run": ["a"], "study": [None]})
    assert in_study(runs, "scaling").empty
