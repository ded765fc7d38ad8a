"""What the figures show: plotted data, labels and words, not pixels."""

from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from builders import derived_lab, full_lab, without_runs
from dpscale.derive.tables import Derived
from dpscale.figures import draw_figure, style
from dpscale.figures.words import described
from dpscale.studies import derived_of, figures
from dpscale.studies.ledger import figures as ledger
from dpscale.studies.scaling.figures import speedup
from dpscale.studies.sweep import figures as batch_sweep
from figure_checks import axes_texts, label_faults, points, svg_of
from lazy import Lazy

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def lab() -> Derived:
    return derived_lab()


@pytest.fixture(scope="module")
def drawn(lab: Derived) -> Lazy[tuple[str, pd.DataFrame]]:
    """Each figure of the lab, drawn once: its SVG and what is plotted."""
    return Lazy(figures(), lambda name: svg_of(name, lab))


@pytest.fixture(scope="module")
def unmeasured() -> Lazy[pd.DataFrame]:
    """The tables of a lab that is planned and not run, as they come back from CSV files."""
    full = full_lab()
    return derived_of(without_runs(full, full["runs"].run.tolist()))


def sweep(
    rows: list[tuple],
    columns: str = "per_worker_batch status epoch_s epoch_s_low "
    "epoch_s_high samples_per_s peak_memory_bytes",
) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


SWEEP = sweep(
    [
        (32, "complete", 4.0, 3.9, 4.1, 250.0, 1e8),
        (128, "complete", 2.0, 1.6, 2.1, 500.0, 2e8),
        (512, "complete", 1.9, 1.8, 2.0, 526.3, 4e8),
        (2048, "out_of_memory", None, None, None, None, None),
    ]
)
BOUNDARY = pd.DataFrame({"memory_budget_bytes": [5e8]})
TREND = pd.DataFrame({"shape": ["falls then flat"], "knee_batch": [128]})
NO_BOUNDARY = pd.DataFrame({"memory_budget_bytes": [None]})


@pytest.mark.parametrize("name", figures())
def test_no_label_is_cut_off_or_covers_another(name, lab):
    entry = figures()[name]
    with style.house_style():
        figure, _ = entry.of(lab)
        assert label_faults(figure) == []


@pytest.mark.parametrize("name", figures())
def test_on_a_telephone_panels_stand_below_each_other_and_type_is_9_px_and_whole(name, lab):
    entry = figures()[name]
    with style.house_style():
        beside, _ = entry.of(lab)
    with style.house_style(narrow=True):
        figure, _ = entry.of(lab)
        style.label_each(figure, beside)
        assert label_faults(figure) == []
    shown = [text for text in figure.findobj(Text) if text.get_text().strip()]
    width_px = 72 * figure.get_figwidth()  # of the SVG, which is drawn 360 px wide
    assert min(text.get_fontsize() for text in shown) * 360 / width_px >= 9
    lefts = [axes.get_subplotspec().colspan.start for axes in figure.axes]
    assert set(lefts) == {0}


def test_messages_of_many_purposes_are_whole_on_a_telephone(lab):
    rows = lab["ledger"]
    one = rows[rows.phase.eq("construction") & rows.bytes.notna()].tail(1)
    purposes = ("parameters and buffers", "shapes and counters", "shape check", "another purpose")
    more = [one.assign(purpose=f"{purpose} at construction") for purpose in purposes]
    with style.house_style(narrow=True):
        figure, _ = figures()["ledger"].of({"ledger": pd.concat([rows, *more])})
        assert label_faults(figure) == []


@pytest.mark.parametrize("name", figures())
def test_a_figure_of_nothing_says_so(name, lab):
    _, drawn = svg_of(name, Lazy(lab, lambda source: lab[source].iloc[:0]))
    assert described(drawn) == "Nothing measured yet."


@pytest.mark.parametrize("name", figures())
def test_a_figure_of_planned_runs_says_that_nothing_is_measured(name, unmeasured):
    _, drawn = svg_of(name, unmeasured)
    assert described(drawn) == "Nothing measured yet."


@pytest.mark.parametrize("name", figures())
def test_a_figure_gives_the_same_bytes_twice(name, lab, drawn):
    assert svg_of(name, lab)[0] == drawn[name][0]


@pytest.mark.parametrize("name", figures())
def test_ids_carry_the_name_of_their_figure_and_references_resolve(name, drawn):
    root = ElementTree.fromstring(drawn[name][0])
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    links = {
        value[1:]
        for element in root.iter()
        for key, value in element.attrib.items()
        if key.endswith("href")
    }
    assert links <= ids
    assert all(identifier.startswith(name) for identifier in ids)


def test_letters_are_text_in_print_and_outlines_on_a_page(lab) -> None:
    drawings, _ = draw_figure("speedup", figures()["speedup"], lab)
    assert set(drawings) == {"svg", "narrow.svg", "print.svg"}
    assert [kind for kind, svg in drawings.items() if "<text" in svg] == ["print.svg"]
    words = [
        "".join(text.itertext())
        for text in ElementTree.fromstring(drawings["print.svg"]).iter(f"{SVG}text")
    ]
    assert "speed-up" in " ".join(words).lower()


def test_ink_is_the_colour_of_the_page_and_there_is_no_style_or_date(lab):
    svg, _ = svg_of("batch_sweep", lab)
    assert "currentColor" in svg
    assert [mark for mark in (style.INK, "<style", "<metadata", "dc:date") if mark in svg] == []


def test_an_svg_carries_its_alternative_text(lab):
    svg, drawn = svg_of("speedup", lab)
    assert ElementTree.fromstring(svg).findtext(f"{SVG}desc") == described(drawn)


def test_the_time_of_an_epoch_is_drawn_with_its_interval():
    figure, drawn = batch_sweep.draw(SWEEP, BOUNDARY, TREND)
    assert drawn.epoch_s.dropna().tolist() == [4.0, 2.0, 1.9]
    assert [y for _, y in points(figure.axes[0])][:3] == [4.0, 2.0, 1.9]
    assert len(figure.axes[0].collections) == 1


def test_throughput_has_the_interval_of_the_time_turned_round():
    _, drawn = batch_sweep.draw(SWEEP, BOUNDARY, TREND)
    row = drawn.iloc[1]
    interval = (row.samples_per_s_low, row.samples_per_s_high)
    assert interval == pytest.approx((476.19, 625.0), rel=1e-5)


@pytest.mark.parametrize(("shape", "marked"), [("falls then flat", [128]), ("falls", [])])
def test_the_batch_where_the_curve_levels_off_is_marked_by_the_verdict(shape, marked):
    figure, drawn = batch_sweep.draw(SWEEP, BOUNDARY, TREND.assign(shape=shape))
    assert drawn.per_worker_batch[drawn.levels_off].tolist() == marked
    assert ("levels off" in axes_texts(figure)) == bool(marked)


def test_of_hundreds_of_batch_sizes_those_are_drawn_that_double_and_the_last() -> None:
    many = sweep([(batch, "complete", 2.0, 1.9, 2.1, 500.0, 1e8) for batch in range(3, 501)])
    tables = {"sweep": many, "boundary": BOUNDARY, "sweep_trend": TREND}
    figure, drawn = figures()["batch_sweep"].of(tables)
    assert drawn["per_worker_batch"].tolist() == [3, 6, 12, 24, 48, 96, 192, 384, 500]
    assert "9 of 498 batch sizes are drawn" in figure.get_supxlabel()
    _, few = figures()["batch_sweep"].of(tables | {"sweep": many.head(24)})
    assert len(few) == 24


def test_a_batch_that_did_not_fit_is_a_cross_with_its_status():
    figure, _ = batch_sweep.draw(SWEEP, BOUNDARY, TREND)
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [list(cross.get_xdata()) for cross in crosses] == [[2048]]
    assert "out of memory" in axes_texts(figure)


def test_a_memory_budget_is_drawn_only_where_there_is_one():
    assert [
        "budget" in axes_texts(batch_sweep.draw_memory(SWEEP, boundary)[0])
        for boundary in (BOUNDARY, NO_BOUNDARY)
    ] == [True, False]


def scaling(*rows: tuple) -> pd.DataFrame:
    columns = (
        "kind workers nodes per_worker_batch global_batch status speedup_ratio "
        "speedup_ratio_low speedup_ratio_high oversubscribed"
    )
    return pd.DataFrame(rows, columns=columns.split())


WEAK = scaling(
    ("weak", 1, 1, 32, 32, "complete", 1.0, 1.0, 1.0, False),
    ("weak", 2, 1, 32, 64, "complete", 1.23126, 1.2, 1.26, False),
    ("weak", 4, 1, 32, 128, "complete", 0.9, 0.8, 1.0, True),
    ("weak", 4, 1, 128, 512, "failed", None, None, None, True),
)


def test_a_speedup_is_drawn_as_the_table_has_it():
    _, drawn = speedup.draw(WEAK)
    assert drawn.speedup_ratio.tolist() == [1.0, 1.23126, 0.9]


def test_only_oversubscribed_points_are_hollow():
    figure, _ = speedup.draw(WEAK)
    points = [line for line in figure.axes[0].lines if line.get_marker() not in (None, "None")]
    assert [(list(point.get_xdata()), point.get_fillstyle()) for point in points] == [
        ([1], "full"),
        ([2], "full"),
        ([4], "none"),
    ]


def test_the_ideal_line_is_the_number_of_workers():
    figure, _ = speedup.draw(WEAK)
    ideal = next(line for line in figure.axes[0].lines if line.get_linestyle() == "--")
    assert list(ideal.get_ydata()) == [1, 2, 4]


def test_a_line_names_its_batch_at_its_end():
    assert "b = 32" in axes_texts(speedup.draw(WEAK)[0])


def test_a_ledger_shows_the_largest_number_of_workers_and_gradients_first():
    rows = pd.DataFrame(
        [
            (2, "steady", "allreduce", "gradient bucket", 3, 100.0),
            (4, "steady", "broadcast", "buffers", 1, 500.0),
            (4, "steady", "allreduce", "gradient bucket", 2, 60.0),
            (4, "steady", "allreduce", "gradient bucket", 1, 40.0),
        ],
        columns=["workers", "phase", "operation", "purpose", "calls", "bytes"],
    )
    _, drawn = ledger.draw(rows)
    assert drawn[["workers", "purpose", "bytes"]].to_numpy().tolist() == [
        [4, "gradient bucket", 100.0],
        [4, "buffers", 500.0],
    ]


def test_the_baseline_is_both_the_set_epoch_and_the_broadcast_arm(lab):
    assert "with_set_epoch" in set(svg_of("order", lab)[1].arm)
    assert "broadcast" in set(svg_of("replicas", lab)[1].arm)


def test_labels_are_spread_just_far_enough_and_stay_in_order():
    assert style.spread([1.0, 1.1, 5.0], 1.0) == pytest.approx([0.55, 1.55, 5.0])


def test_labels_that_are_far_apart_stay_where_they_are():
    assert style.spread([3.0, 1.0], 1.0) == [3.0, 1.0]


def test_the_check_sees_labels_that_overlap_or_leave_the_figure():
    figure = Figure(figsize=(2, 2))
    for x, words in ((0.5, "one"), (0.52, "other"), (1.2, "outside")):
        figure.text(x, 0.5, words)
    assert label_faults(figure) == ["'outside' is cut off", "'one' overlaps 'other'"]
