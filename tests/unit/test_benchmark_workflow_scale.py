"""The benchmark of the workflow's scale: growth between two numbers of runs."""

import pytest
import workflow_scale


def test_growth_is_the_exponent_between_the_two_largest(monkeypatch) -> None:
    table = {workflow_scale.IDLE: {3: 9.0, 10: 1.0, 1000: 10.0}}
    monkeypatch.setattr(workflow_scale, "measure", lambda *_: (table, {}))
    growth = workflow_scale.run()[-1]
    # Ten times the seconds for a hundred times the runs: 1/2, twice as good as linear.
    assert growth.case == "nothing to do, exponent of growth"
    assert (growth.ours, growth.ratio) == pytest.approx((0.5, 2.0))
