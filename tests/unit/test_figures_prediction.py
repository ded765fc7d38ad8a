"""The figure of the ring model: its fit and its score."""

import itertools
import math

import pytest

from builders import derived_lab
from dpscale.figures import log_axes, style
from dpscale.studies.scaling.figures import model
from figure_checks import Tables, axes_texts, draw, points


@pytest.fixture(scope="module")
def lab() -> Tables:
    return derived_lab()


def test_medians_and_the_fitted_line_are_those_of_the_table(lab):
    figure, drawn = draw("link_fit", lab)
    rows = lab["message_times"].query("operation == 'allreduce'")
    assert sorted(points(figure.axes[0])) == sorted(zip(rows.bytes, rows.seconds, strict=True))
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "None"]
    assert [y for line in lines for y in line.get_ydata()] == rows.fitted_s.tolist()
    assert len(drawn) == len(rows) + len(lab["prediction"])


def test_a_link_without_a_fit_says_so_and_has_no_line(lab):
    nothing = {"alpha_s": None, "beta_bytes_per_s": None}
    link = lab["link"].assign(**nothing)
    figure, _ = model.draw_link_fit(
        lab["message_times"].assign(fitted_s=float("nan")),
        link,
        lab["prediction"].assign(predicted_step_s=float("nan"), note="the link has no fit"),
    )
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["N = 2: no fit", "N = 4: no fit"]
    assert all(line.get_marker() != "None" for line in figure.axes[0].lines)
    assert "the link has no fit" in " ".join(axes_texts(figure)).replace("\n", " ")


def test_a_step_is_drawn_at_its_measured_and_predicted_time(lab):
    figure, _ = draw("link_fit", lab)
    rows = lab["prediction"]
    assert list(points(figure.axes[1])) == list(
        zip(rows.measured_step_s, rows.predicted_step_s, strict=True)
    )


def test_a_logarithmic_axis_has_few_ticks_inside_its_limits():
    _, (axes,) = style.panels(1, 1, height_in=2)
    log_axes.log_ticks(axes.xaxis, 800.0, 5e9, "bytes")
    assert axes.get_xlim() == (800.0, 5e9)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "1 kB",
        "100 kB",
        "10 MB",
        "1 GB",
    ]


def test_labels_at_the_ends_of_lines_stay_between_the_limits_and_apart():
    _, (axes,) = style.panels(1, 1, height_in=2)
    log_axes.log2_axes(axes, [1, 2, 4], 0.5, 8.0)
    ends = [(4.0, y, f"{y}") for y in (0.5, 0.5, 0.5, 8.0, 8.0)]
    log_axes.end_labels(axes, ends, gap=0.1)
    heights = sorted(math.log2(text.xy[1]) for text in axes.texts)
    assert heights[0] >= -1
    assert heights[-1] <= 3
    assert min(high - low for low, high in itertools.pairwise(heights)) == pytest.approx(0.4)


@pytest.mark.parametrize(("low", "high"), [(1.02, 1.82), (0.97, 1.04), (2.1, 2.2), (3e-7, 9e2)])
def test_a_logarithmic_axis_has_ticks_however_near_its_limits_are(low, high) -> None:
    _, (axes,) = style.panels(1, 1, height_in=2)
    log_axes.log_ticks(axes.yaxis, low, high, "number")
    ticks = axes.yaxis.get_majorticklocs()
    assert 2 <= len(ticks) <= log_axes.MOST_TICKS
    assert low <= min(ticks) < max(ticks) <= high
