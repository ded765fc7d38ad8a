"""The benchmark of the workflow's scale: growth between two numbers of runs."""

import pandas as pd
import pytest
import workflow_scale

from dpscale.studies import load_config, planned_runs


def test_growth_is_the_exponent_between_the_two_largest(monkeypatch) -> None:
    table = {workflow_scale.IDLE: {3: 9.0, 10: 1.0, 1000: 10.0}}
    monkeypatch.setattr(workflow_scale, "measure", lambda *_: (table, {}))
    growth = workflow_scale.run()[-1]
    # Ten times the seconds for a hundred times the runs: 1/2, twice as good as linear.
    assert growth.case == "nothing to do, exponent of growth"
    assert (growth.ours, growth.ratio) == pytest.approx((0.5, 2.0))


def test_steps_of_a_run_are_of_its_own_batch_so_that_its_epoch_has_a_time() -> None:
    planned = planned_runs(load_config(workflow_scale.config(18, [1, 2])))
    spec = planned["scaling-n1-b3"]
    names = ["rank", "repeat", "step", "samples", "step_s", "load_s"]
    measured = pd.DataFrame([(0, 0, 1, 8, 0.5, 0.1), (0, 0, 2, 8, 0.7, 0.1)], columns=names)
    steps = workflow_scale.steps_of(measured, spec, pace=2.0)
    assert steps["samples"].tolist() == [3, 3]
    assert steps["step_s"].tolist() == [1.0, 1.4]
    assert steps["load_s"].tolist() == [0.2, 0.2]
    assert steps["step"].tolist() == [1, 2]


@pytest.mark.parametrize("runs", [300, 5000, 50_000])
def test_every_number_of_runs_that_is_benchmarked_can_be_configured(runs: int) -> None:
    raw = workflow_scale.config(runs, workflow_scale.WORKERS)
    assert len(planned_runs(load_config(raw))) == pytest.approx(runs, rel=0.01)
