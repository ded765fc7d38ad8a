"""The figures about communication: what each draws of its tables, and what it leaves out."""

import pandas as pd
import pytest

from builders import derived_lab
from dpscale.figures import style
from dpscale.figures.words import described
from dpscale.studies.scaling.figures import epochs, rates
from figure_checks import Tables, axes_texts, bars, draw, label_faults, points

NAMES = ["communication", "bandwidth", "step_split", "link_fit", "compression"]


@pytest.fixture(scope="module")
def lab() -> Tables:
    return derived_lab()


@pytest.mark.parametrize("end", ["_low", "_high", "_ratio", "_s", "_frac", "note", "flags"])
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_where_columns_are_null(name, end, lab):
    flags = ["below_noise", "exposed_below_noise", "exceeds_dataset", "oversubscribed"]
    nulled = {
        source: table.assign(
            **{
                column: float("nan")
                for column in table
                if column.endswith(end) or (end == "flags" and column in flags)
            }
        )
        for source, table in lab.items()
    }
    with style.house_style():
        figure, drawn = draw(name, nulled)
        assert label_faults(figure) == []
    assert described(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_one_worker_alone_is_no_figure(name, lab):
    alone = {
        source: table[table.workers == 1] if "workers" in table else table.iloc[:0]
        for source, table in lab.items()
    }
    assert described(draw(name, alone)[1]) == "Nothing measured yet."


def communication_rows(*cells: tuple) -> pd.DataFrame:
    columns = (
        "workers nodes per_worker_batch status compute_s subtraction_s subtraction_s_low "
        "subtraction_s_high exposed_s below_noise"
    )
    return pd.DataFrame(cells, columns=columns.split())


def test_communication_lies_beside_computation_and_adds_up():
    figure, _ = epochs.draw_communication(
        communication_rows((2, 1, 32, "complete", 2.0, 0.5, 0.4, 0.6, None, False))
    )
    assert bars(figure.axes[0]) == [(0.0, 2.0), (2.0, 0.5)]


def test_a_negative_difference_is_drawn_left_of_zero():
    figure, _ = epochs.draw_communication(
        communication_rows((2, 1, 32, "complete", 2.0, -0.5, -0.9, 0.1, None, True))
    )
    assert bars(figure.axes[0])[1] == (0.0, -0.5)
    assert figure.axes[0].get_xlim()[0] < -0.9


def test_communication_below_noise_says_so():
    figure, _ = epochs.draw_communication(
        communication_rows((2, 1, 32, "complete", 2.0, 0.1, -0.2, 0.3, None, True))
    )
    assert any("below noise" in text for text in axes_texts(figure))


def test_neither_one_worker_nor_a_cell_without_a_result_is_a_bar():
    _, drawn = epochs.draw_communication(
        communication_rows(
            (1, 1, 32, "complete", 4.0, 0.0, 0.0, 0.0, 0.0, None),
            (2, 1, 32, "failed", None, None, None, None, None, None),
        )
    )
    assert drawn.empty


def split_row(**given: object) -> dict[str, object]:
    """Return a cell of two workers that takes 10 s: 6 s, 1.5 s, 0.5 s and 2 s."""
    row: dict[str, object] = dict.fromkeys(
        [
            f"{name}_s_{end}"
            for name in ("contention", "overhead", "exposed")
            for end in ("low", "high")
        ]
    )
    row |= {
        "workers": 2,
        "nodes": 1,
        "per_worker_batch": 32,
        "status": "complete",
        "epoch_s": 10.0,
        "compute_s": 6.0,
        "contention_s": 1.5,
        "overhead_s": 0.5,
        "exposed_s": 2.0,
    }
    return row | given


def test_the_parts_of_an_epoch_lie_end_to_end_and_fill_it():
    figure, drawn = epochs.draw_step_split(pd.DataFrame([split_row()]))
    parts = bars(figure.axes[0])
    assert [width for _, width in parts] == pytest.approx([60, 15, 5, 20])
    assert [start for start, _ in parts] == pytest.approx([0, 60, 75, 80])
    assert drawn[list(epochs.PARTS)].iloc[0].sum() == pytest.approx(1.0)


def test_a_part_below_zero_lies_left_of_zero():
    row = split_row(exposed_s=-1.0, contention_s=4.5)
    figure, _ = epochs.draw_step_split(pd.DataFrame([row]))
    assert bars(figure.axes[0])[-1] == pytest.approx((0, -10))
    assert figure.axes[0].get_xlim()[0] < -10


def test_a_part_whose_interval_covers_zero_is_dotted_and_not_hatched():
    row = split_row(overhead_s_low=-0.1, overhead_s_high=1.0)
    figure, drawn = epochs.draw_step_split(pd.DataFrame([row]))
    overhead, exposed = figure.axes[0].patches[2:4]
    assert (overhead.get_linestyle(), overhead.get_hatch()) == (":", None)
    assert (exposed.get_linestyle(), exposed.get_hatch()) == ("-", "////")
    assert drawn.overhead_below_noise.tolist() == [True]


def test_the_legend_names_a_part_by_its_hatch_though_a_bar_is_dotted():
    row = split_row(overhead_s_low=-0.1, overhead_s_high=1.0)
    figure, _ = epochs.draw_step_split(pd.DataFrame([row]))
    handles = dict(zip(*reversed(figure.axes[0].get_legend_handles_labels()), strict=True))
    assert handles["overhead of DDP"].get_hatch() == epochs.PARTS["overhead_frac"][2]
    assert handles[epochs.NOISE].get_linestyle() == ":"


def test_a_cell_that_was_not_measured_arm_by_arm_is_not_split():
    _, drawn = epochs.draw_step_split(
        pd.DataFrame([split_row(), split_row(workers=4, overhead_s=None)])
    )
    assert drawn.workers.tolist() == [2]


def test_ratios_of_a_hook_are_bars_of_their_own_panels(lab):
    figure, drawn = draw("compression", lab)
    assert [[width for _, width in bars(axes)] for axes in figure.axes] == [
        drawn.bytes_ratio.tolist(),
        drawn.step_ratio.tolist(),
    ]


def test_hooks_of_several_cells_name_their_cell(lab):
    table = lab["compression"]
    _, drawn = rates.draw_compression(pd.concat([table, table.assign(workers=4)]))
    assert drawn.label.tolist()[:1] == ["bf16, N = 2, b = 32"]


def test_a_rate_without_an_upper_bound_is_dotted_to_the_edge(lab):
    rows = lab["bandwidth"].iloc[:1].assign(lab_bytes_per_s_high=None)
    figure, _ = rates.draw_bandwidth(rows, lab["communication"])
    segment = figure.axes[0].collections[0].get_segments()[0]
    assert segment[1][0] == pytest.approx(figure.axes[0].get_xlim()[1])
    assert "time may be zero" in axes_texts(figure)


def test_a_rate_that_does_not_exist_has_no_mark_and_says_so(lab):
    nothing = dict.fromkeys(["", "_low", "_high"])
    rows = lab["bandwidth"].assign(**{f"lab_bytes_per_s{end}": None for end in nothing})
    figure, _ = rates.draw_bandwidth(rows, lab["communication"])
    assert set(axes_texts(figure)) == {"none above zero"}
    assert len(list(points(figure.axes[0]))) == 2 * len(rows)
