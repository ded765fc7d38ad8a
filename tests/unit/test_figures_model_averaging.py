"""S3's figures of a made-up study, and the columns of its tables."""

import functools

import model_averaging_builders as made
from builders import empty_lab, run_row, table
from dpscale.studies import derived_of
from figure_checks import draw, label_faults

TABLES = [
    "model_averaging",
    "averaging_times",
    "averaging_rates",
    "averaging_pairs",
    "learners",
    "published_model_averaging",
]


@functools.cache
def lab():
    rows = made.study_rows()
    rows["runs"] = [run_row(**row) for row in rows["runs"]]
    tidy = empty_lab() | {name: table(name, rows[name]) for name in rows}
    derived = derived_of(tidy)
    return {name: derived[name] for name in TABLES}


def test_the_figures_show_every_seed_and_mark_the_choice():
    figure, drawn = draw("model_averaging", lab())
    assert drawn["arm"].nunique() == 5
    assert len(drawn) == 15
    assert label_faults(figure) == []
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    mark = lines["not by the end"].get_marker()
    arrows = [
        line for line in lines.values() if line.get_marker() == mark and len(line.get_xdata())
    ]
    # Three seeds of averaging at the rate of SGD trained 12 epochs in vain.
    assert list(arrows[0].get_xdata()) == [12, 12, 12]
    assert arrows[0].get_color() == lines["averaged learners"].get_color()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert "8 learners, b = 16, rate 0.2, pull 0.125" in names
    assert not any(name.endswith("pull 0.1") for name in names)
    figure, drawn = draw("learners", lab())
    assert label_faults(figure) == []
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Network of one hidden\nlayer, b\u00a0=\u00a016",
        "Network of one hidden\nlayer, b\u00a0=\u00a0128",
        "Small residual network,\nb\u00a0=\u00a016",
    ]
    ring = [line for line in figure.axes[0].lines if line.get_label() == "chosen"]
    assert list(ring[0].get_xdata()) == [5]
