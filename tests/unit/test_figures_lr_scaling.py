"""What the figures of the rate study show: series, elbow, reference, and seeds that diverged."""

import pytest

import lr_scaling_builders as study
from builders import derived_lab
from dpscale.figures import style
from figure_checks import draw

SERIES = {
    style.colour_of(index): name for index, name in enumerate(("linear", "sqrt", "fixed", "lars"))
}


@pytest.fixture(scope="module")
def lab():
    return derived_lab()


def test_the_error_figure_has_a_series_a_rule_and_the_chosen_lars(lab):
    figure, drawn = draw("lr_scaling", lab)
    points = drawn.groupby("series", sort=False).global_batch.apply(list).to_dict()
    assert points == {
        "linear": [32, 128, 256, 1024],
        "sqrt": [256, 1024],
        "fixed": [256, 1024],
        "lars": [1024],
    }
    assert drawn[drawn.series == "lars"].difference_frac.tolist() == pytest.approx([0.04])
    elbow = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [list(line.get_xdata()) for line in elbow] == [[8, 8]]


def test_lines_join_neighbouring_batches_alone(lab):
    figure, _ = draw("lr_scaling", lab)
    joined = {
        line.get_color(): [round(ratio / 1.05**index) for ratio in line.get_xdata()]
        for line in figure.axes[0].lines
        if line.get_marker() == "None" and line.get_linestyle() == "-" and len(line.get_xdata()) > 1
        for index in [["linear", "sqrt", "fixed", "lars"].index(SERIES[line.get_color()]) - 1]
    }
    named = {SERIES[colour]: ratios for colour, ratios in joined.items()}
    # Nothing was run between the reference and B = 256 by the other rules.
    assert named == {"linear": [1, 4, 8, 32], "sqrt": [8, 32], "fixed": [8, 32]}


def test_a_batch_that_a_rule_lacks_parts_its_line(lab):
    table = lab["lr_scaling"]
    table = table[~((table["rule"] == "linear") & (table["global_batch"] == 256))]
    extra = lab["lr_scaling"][lab["lr_scaling"]["global_batch"] == 256]
    assert set(extra["rule"]) == {"linear", "sqrt", "fixed"}  # so that 256 stays a batch
    figure, drawn = draw("lr_scaling", lab | {"lr_scaling": table})
    assert 256 in set(drawn["global_batch"])
    linear = [
        len(line.get_xdata())
        for line in figure.axes[0].lines
        if SERIES.get(line.get_color()) == "linear" and line.get_marker() == "None"
    ]
    assert linear == [2, 1]  # 32 to 128, and 1024 by itself


def test_an_elbow_at_the_reference_itself_is_no_line(lab):
    table = lab["lr_scaling_elbow"].assign(elbow_ratio=1.0)
    figure, _ = draw("lr_scaling", lab | {"lr_scaling_elbow": table})
    assert not [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]


def test_the_published_curve_stands_on_the_same_axis_less_its_reference(lab):
    figure, _ = draw("lr_scaling", lab)
    curve = next(line for line in figure.axes[0].lines if "published" in str(line.get_label()))
    assert list(curve.get_xdata())[:3] == [0.5, 1, 2]
    assert list(curve.get_ydata())[-1] == pytest.approx(33.96 - 23.60)


def test_the_warm_up_figure_has_both_gains_and_ends_a_line_where_a_seed_diverged(lab):
    figure, drawn = draw("warmups", lab)
    assert set(zip(drawn.warmup, drawn.zero_gamma, strict=True)) == {
        (warmup, gamma) for warmup in ("none", "constant", "gradual") for gamma in (True, False)
    }
    assert drawn.epoch.max() == study.EPOCHS
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["Zero gains", "Gains of one"]
    unit = figure.axes[1].lines
    assert sorted(len(line.get_xdata()) for line in unit) == [1, 4, 4]


def test_an_iteration_takes_the_epoch_over_its_full_steps(lab):
    _, drawn = draw("iteration_times", lab)
    row = drawn[(drawn.workers == 2) & (drawn.per_worker_batch == 32)].iloc[0]
    # 10,000 samples in steps of 64: an epoch has 156.25 of them.
    assert row.iteration_s == pytest.approx(row.epoch_s / 156.25)
