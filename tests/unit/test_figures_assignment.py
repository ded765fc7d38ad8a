"""The figures of the cluster-training assignment: what they draw, and what they leave out."""

import pytest

from builders import derived_lab
from dpscale.derive.tables import Derived
from figure_checks import bars, draw, label_faults, points


def lab(**options) -> Derived:
    return derived_lab(**options)


def judged(claim: str, **cell) -> Derived:
    """The lab's tables with one published figure made comparable."""
    tables = lab()
    rows = tables["assignment_published"]
    chosen = rows["claim"] == claim
    for column, value in cell.items():
        chosen &= rows[column] == value
    return tables | {
        "assignment_published": rows.assign(verdict=rows["verdict"].mask(chosen, "agrees"))
    }


def test_a_bar_holds_epochs_then_evaluation_and_no_start_up():
    figure, _ = draw("assignment_time", lab())
    widths = [bar for bar in bars(figure.axes[0]) if bar[1]]
    # One worker: four epochs of 8 s, four evaluations of 0.5 s; not its start-up, of one launch.
    assert widths[0] == pytest.approx((0.0, 32.0))
    assert widths[3] == pytest.approx((32.0, 2.0))
    assert len(widths) == 6


def test_efficiencies_are_drawn_as_the_table_has_them():
    figure, drawn = draw("assignment_time", lab())
    assert drawn.efficiency_frac.tolist() == pytest.approx([1.0, 34 / 42.4, 34 / 54.08])
    assert [x for x, _ in points(figure.axes[1])] == pytest.approx(
        [100 * value for value in drawn.efficiency_frac]
    )


@pytest.mark.parametrize(
    ("figure", "claim", "cell"),
    [
        ("assignment_time", "efficiency_frac", {"workers": 2}),
        ("assignment_utilisation", "utilisation_frac", {"per_worker_batch": 128}),
    ],
)
def test_published_figures_are_drawn_only_where_they_can_be_compared(figure, claim, cell):
    def diamonds(tables: Derived) -> int:
        drawn, _ = draw(figure, tables)
        return sum(
            line.get_marker() == "D" and line.get_fillstyle() == "none"
            for axes in drawn.axes
            for line in axes.lines
        )

    assert diamonds(lab()) == 0
    assert diamonds(judged(claim, **cell)) == 1


def test_published_accuracies_stand_beside_the_training_of_the_same_epochs():
    tables = judged("test_accuracy_frac", workers=2, nodes=1, epochs=40)
    assert set(draw("assignment_accuracy", tables)[1].source) == {"measured"}
    rows = tables["assignment"].assign(epochs=40)
    drawn = draw("assignment_accuracy", tables | {"assignment": rows})[1]
    quoted = drawn[drawn.source == "published, other devices"]
    assert quoted[["workers", "test_accuracy_frac"]].to_numpy().tolist() == [[2, 0.9862]]


def test_the_parts_of_an_epoch_fill_its_bar():
    _, drawn = draw("assignment_split", lab())
    shares = drawn[[column for column in drawn if column.endswith("_frac")]]
    assert shares.sum(axis=1).tolist() == pytest.approx([1.0] * 3)


@pytest.mark.parametrize(("most", "named"), [(0.004, False), (0.005, True)])
def test_a_part_that_no_bar_shows_is_not_in_the_legend(most, named):
    rows = lab()["assignment_split"]
    figure, drawn = draw(
        "assignment_split", lab() | {"assignment_split": rows.assign(copy_frac=most)}
    )
    _, labels = figure.axes[0].get_legend_handles_labels()
    assert ("copy to the device" in labels) is named
    assert "computation" in labels
    assert drawn.copy_frac.tolist() == [most] * 3


@pytest.mark.parametrize("name", ["assignment_time", "assignment_split", "assignment_accuracy"])
def test_labels_of_two_nodes_fit(name):
    assert label_faults(draw(name, lab(two_nodes=True))[0]) == []
