"""The figure of the steps to a goal: where regimes end, and only where that was measured."""

import pandas as pd

from builders import derived_lab
from dpscale.studies.steps_to_goal.figures import draw_steps


def dotted(fit: pd.DataFrame) -> list[int]:
    figure, _ = draw_steps(derived_lab()["steps_to_goal"], fit)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    return [sum(line.get_linestyle() == ":" for line in axes.lines) for axes in panels]


def test_an_end_of_a_regime_beyond_the_batch_sizes_has_no_line():
    fit = derived_lab()["goal_fit"]
    assert dotted(fit) == [2, 2, 2]
    assert dotted(fit.assign(maximal_start=float("nan"))) == [1, 1, 1]
    assert dotted(fit.assign(maximal_start=float("nan"), b_crit=float("nan"))) == [0, 0, 0]
