"""The figure of the steps to a goal: a critical batch size only where a fit places one."""

import pandas as pd

from builders import derived_lab
from dpscale.studies.steps_to_goal.figures import draw_steps


def dotted(fit: pd.DataFrame) -> list[int]:
    figure, _ = draw_steps(derived_lab()["steps_to_goal"], fit)
    return [sum(line.get_linestyle() == ":" for line in axes.lines) for axes in figure.axes]


def test_each_optimiser_of_a_network_has_its_critical_batch_size() -> None:
    fit = derived_lab()["goal_fit"]
    sizes = fit.dropna(subset="b_crit").groupby("model", sort=False).size().tolist()
    assert sorted(dotted(fit)) == sorted(sizes)
    assert max(sizes) > 1
    assert set(dotted(fit.assign(b_crit=float("nan")))) == {0}
