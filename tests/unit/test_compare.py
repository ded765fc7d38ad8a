"""What two results are compared by: sources, cells, ratios and what they say; worked by hand."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import empty_lab, run_row, table, training_rows
from compare_builders import results, timed
from dpscale.compare.differences import cells_of, of_machines, of_settings
from dpscale.compare.judge import Comparison, Judged, by_chance, compare, titled, with_verdicts
from dpscale.compare.observations import CORE, Sample, Source, quantity_of, samples, sources
from dpscale.compare.page import html_page, terminal_text
from dpscale.compare.ratios import ratio_of, spread_of, together
from dpscale.compare.results import Results, flat, read_results
from dpscale.reporting.words import TEMPLATES
from dpscale.studies import schemas

TIME = Source("epoch_times", "epoch_s", ("arm",))


def sample(*values: float, quantity="time", repeats=(), run="r", images=None) -> Sample:
    return Sample(TIME, quantity, run, (), np.array(values), np.array(repeats), images)


def judged(a: list[float], b: list[float], quantity="time", images=None) -> Judged:
    sides = [[sample(*values, quantity=quantity, images=images)] for values in (a, b)]
    ratio = ratio_of(*sides, (spread_of(sides[:1]), spread_of(sides[1:])))
    assert ratio
    return Judged(TIME, quantity, "cell", (), ratio)


def read(folder: Path) -> Results:
    return read_results(folder, schemas())


@pytest.mark.parametrize(
    ("column", "quantity"),
    [
        ("epoch_s", "time"),
        ("seconds", "time"),
        ("samples_per_s", "rate"),
        ("bytes_per_s", "rate"),
        ("peak_memory_bytes", "memory"),
        ("peak_bytes", "memory"),
        ("test_accuracy_frac", "accuracy"),
        ("wall_s", None),
        ("sent_bytes", None),
        ("payload_bytes", None),
        ("utilisation_frac", None),
        ("speedup_ratio", None),
        ("steps_to_goal", None),
    ],
)
def test_a_columns_name_tells_what_it_measures(column, quantity):
    assert quantity_of(column) == quantity


def test_a_table_of_a_study_that_nobody_knows_is_compared_by_its_columns():
    known = {
        **schemas(),
        "passes": {"run": "str", "way": "str", "repeat": "Int64", "forward_s": "float64"},
    }
    rows = [("n1", "eager", 0, 1.0), ("n1", "eager", 1, 3.0), ("n1", "graph", 0, 0.5)]
    tables = empty_lab() | {
        "runs": table("runs", [run_row("n1")]),
        "passes": pd.DataFrame(rows, columns=list(known["passes"])),
    }
    found = [one for one in samples(tables, known) if one.source.table == "passes"]
    assert [(one.key, one.quantity, one.values.tolist()) for one in found] == [
        ((("way", "eager"),), "time", [2.0]),
        ((("way", "graph"),), "time", [0.5]),
    ]


def test_messages_are_compared_as_the_bandwidth_of_the_ring():
    # Four workers send 2*3/4 of 8 bytes, in 2 s; raw TCP sends them as they are.
    tables = empty_lab() | {
        "runs": table("runs", [run_row("link", kind="link", workers=4)]),
        "messages": table(
            "messages",
            [
                {"run": "link", "operation": name, "bytes": 8, "repeat": 0, "seconds": 2.0}
                for name in ("allreduce", "tcp")
            ],
        ),
    }
    found = {
        dict(one.key)["operation"]: one
        for one in samples(tables, schemas())
        if one.source.table == "messages"
    }
    assert {name: one.values.tolist() for name, one in found.items()} == {
        "allreduce": [6.0],
        "tcp": [4.0],
    }


def test_an_accuracy_is_that_of_each_seeds_last_epoch():
    ends = ((0, 2, 0.9), (0, 1, 0.5), (1, 1, 0.4), (1, 2, 0.8))
    epochs = [
        {"run": "n1", "seed": seed, "epoch": epoch, "test_accuracy_frac": value}
        for seed, epoch, value in ends
    ]
    tables = empty_lab() | {
        "runs": table("runs", [run_row("n1", kind="training")]),
        **{name: table(name, rows) for name, rows in training_rows(epochs).items()},
    }
    found = [one for one in samples(tables, schemas()) if one.quantity == "accuracy"]
    assert [one.values.tolist() for one in found] == [[0.9, 0.8]]


def test_a_trial_that_did_not_come_to_its_end_has_no_accuracy():
    rows = [
        {"run": "n1", "trial": trial, "seed": trial, "role": "result", "status": status}
        for trial, status in ((0, "complete"), (1, "diverged"))
    ]
    ends = [
        {"run": "n1", "trial": trial, "step": step, "test_accuracy_frac": value}
        for trial, step, value in ((0, 1, 0.5), (0, 2, 0.7), (1, 2, 0.1))
    ]
    tables = empty_lab() | {
        "runs": table("runs", [run_row("n1")]),
        "trials": table("trials", rows),
        "curves": table("curves", ends),
    }
    (found,) = [one for one in samples(tables, schemas()) if one.source.table == "trials"]
    assert found.values.tolist() == [0.7]


def test_epochs_are_timed_of_trainings_alone_and_not_of_a_search_that_stops_elsewhere():
    runs = [run_row("n1", kind="training"), run_row("n2", kind="goal")]
    curves = [
        {"run": run, "trial": 0, "step": step, "steps_s": 4.0 * step}
        for run in ("n1", "n2")
        for step in (1, 2)
    ]
    tables = empty_lab() | {"runs": table("runs", runs), "curves": table("curves", curves)}
    found = [
        (one.run, one.source.column)
        for one in samples(tables, schemas())
        if one.source.table == "epochs"
    ]
    assert found == [("n1", "epoch_s")]


def test_each_source_of_the_core_has_a_title():
    words = (TEMPLATES / "compare.words.j2").read_text(encoding="utf-8")
    assert [one for one in CORE if f'("{one.table}", "{one.column}"):' not in words] == []


def test_no_measurement_is_judged_from_two_tables():
    tables = empty_lab()
    found = [(one.table, one.column) for one, _ in sources(tables, schemas())]
    assert len(found) == len(set(found))
    assert not {"steps", "spans", "replicas"} & {name for name, _ in found}


def test_a_ratio_is_of_geometric_means_with_the_launches_as_repeats():
    # Means 2 and 4; logarithms scatter by 2*log(2)^2 on a side, a part is log(2)^2 of 1 freedom,
    # and of two equal parts the freedom is 2: t is 4.3027.
    ratio = judged([1.0, 4.0], [2.0, 8.0]).ratio
    assert (ratio.a, ratio.b, ratio.value) == pytest.approx((2.0, 4.0, 2.0))
    assert ratio.contrast
    low, high = ratio.contrast.interval(0.95)
    half = 4.30265 * math.log(2) * math.sqrt(2)
    assert (low, high) == pytest.approx((math.log(2) - half, math.log(2) + half), rel=1e-4)


def test_one_launch_scatters_as_the_other_cells_of_its_results_do():
    others = [sample(1.0, math.e), sample(1.0, math.e)]
    spread = spread_of([[one] for one in others])
    ratio = ratio_of([sample(2.0)], [sample(3.0)], (spread, spread))
    assert ratio
    assert ratio.basis == "others"
    assert ratio.contrast
    assert ratio.contrast.error == pytest.approx(1.0)  # each part is 0.5


def test_where_no_cell_has_launches_the_repeats_of_one_are_taken():
    sides = [[sample(2.0, repeats=(1.0, 4.0))], [sample(2.0, repeats=(1.0, 4.0))]]
    ratio = ratio_of(*sides, (spread_of(sides[:1]), spread_of(sides[1:])))
    assert ratio
    assert ratio.basis == "repeats"


def test_a_single_value_has_a_ratio_and_no_interval():
    found = judged([2.0], [3.0])
    assert (found.ratio.value, found.ratio.contrast) == (pytest.approx(1.5), None)
    assert with_verdicts([found])[0].verdict == "unknown"


def test_an_accuracy_holds_the_sampling_of_the_test_images():
    # Seeds that agree: 1 - 0.5 over 0.5 * 100, twice.
    ratio = judged([0.5, 0.5], [0.5, 0.5], "accuracy", images=100).ratio
    assert ratio.contrast
    assert ratio.contrast.error == pytest.approx(math.sqrt(0.02))


def test_an_accuracy_of_zero_has_no_ratio():
    side = [sample(0.0, 0.0, quantity="accuracy")]
    assert ratio_of(side, side, (spread_of([side]), spread_of([side]))) is None


def test_cells_together_tell_what_lies_between_their_ratios():
    # Logarithms 0, 1 and 2: mean 1, error 1/sqrt(3).
    ratios = [judged([1.0, 1.0], [value, value]).ratio for value in np.exp([0.0, 1.0, 2.0])]
    found = together(ratios)
    assert found
    assert found.contrast
    assert (found.value, found.contrast.error) == pytest.approx((math.e, 1 / math.sqrt(3)))
    assert together(ratios[:2]) is None


def test_a_cell_is_named_with_what_of_it_is_meant():
    key = (("arm", "A1"), ("learners", 4), ("stacked", True), ("kept", False), ("lr", None))
    assert titled("local-a1", key, "epoch_s") == "local-a1, A1, learners 4, stacked, epoch_s"


QUICK, SLOW = [1.0, 1.001, 0.999], [1.2, 1.201, 1.199]


@pytest.mark.parametrize(
    ("quantity", "a", "b", "verdict"),
    [
        ("time", QUICK, SLOW, "worse"),
        ("time", SLOW, QUICK, "better"),
        ("memory", QUICK, SLOW, "worse"),
        ("rate", QUICK, SLOW, "better"),
        ("rate", SLOW, QUICK, "worse"),
        ("accuracy", [0.9, 0.901, 0.899], [0.7, 0.701, 0.699], "worse"),
        ("time", QUICK, QUICK, "indistinct"),
    ],
)
def test_the_quantity_says_which_way_is_worse(quantity, a, b, verdict):
    assert with_verdicts([judged(a, b, quantity)])[0].verdict == verdict


def test_what_is_told_by_itself_is_open_in_a_large_family():
    found = judged([1.0, 1.02, 0.98], [1.06, 1.08, 1.04])
    same = judged(QUICK, QUICK)
    assert with_verdicts([found])[0].verdict == "worse"
    assert with_verdicts([found, *[same] * 99])[0].verdict == "indistinct"


@pytest.mark.parametrize(
    ("quantity", "bound", "beyond"),
    [
        ("time", 0.1, True),
        ("time", 0.3, False),
        ("rate", 0.1, False),
        ("memory", 0.1, False),
        ("time", None, False),
    ],
)
def test_beyond_the_bound_is_what_is_slower_by_more(quantity, bound, beyond):
    assert with_verdicts([judged(QUICK, SLOW, quantity)], bound)[0].beyond == beyond


def test_a_bound_is_asked_of_one_side():
    """At twice the level a two-sided test of the bound would miss it."""
    found = with_verdicts([judged([1.0, 1.05, 0.95], [1.28, 1.22, 1.34])], 0.15)[0]
    contrast = found.ratio.contrast
    assert contrast.p_value(math.log1p(0.15)) > 0.05 > contrast.p_above(math.log1p(0.15))
    assert found.beyond
    assert contrast.p_above(math.log1p(0.5)) > 0.5


def cell(apart: bool) -> Judged:
    low = 1.01 if apart else 0.9
    return replace(judged(QUICK, SLOW), low=low, high=1.2)


def test_many_small_changes_are_a_finding_together_and_few_are_none():
    many = by_chance([cell(number < 50) for number in range(130)])
    assert many == (130, 50, pytest.approx(6.5), True)
    assert not by_chance([cell(number < 8) for number in range(130)]).more
    assert not by_chance([]).more


def test_the_least_change_that_a_cell_could_show_is_told_when_it_comes():
    family = [judged(QUICK, QUICK)] * 9
    least = with_verdicts([judged(QUICK, QUICK), *family])[0].least
    for factor, verdict in ((1.02, "worse"), (0.98, "indistinct")):
        changed = judged(QUICK, [value * least**factor for value in QUICK])
        assert with_verdicts([changed, *family])[0].verdict == verdict


@pytest.mark.parametrize(
    ("with_an_interval", "words"),
    [
        (0, "no cell has an interval, so none could show a change\n"),
        (1, "and half of them none at all, without an interval\n"),
        (2, "and half of them none below "),
    ],
)
def test_what_the_cells_could_not_show_is_said_first_of_all_of_them(with_an_interval, words):
    cells = [judged(QUICK, QUICK)] * with_an_interval + [judged([1.0], [2.0])] * 2
    found = Comparison(
        "a", "b", [], [], [], [], with_verdicts(cells[:3]), [], [], bound=None, predictions=None
    )
    assert words in terminal_text(found)
    assert words.strip()[1:] in html_page(found)


def test_a_rate_is_beyond_the_bound_where_it_is_smaller():
    assert with_verdicts([judged(SLOW, QUICK, "rate")], 0.1)[0].beyond


def test_sections_of_a_spec_are_flat_and_lists_whole():
    spec = {"run": "r", "training": {"lr": 0.1, "schedule": {"decay_epochs": [1, 2]}}}
    assert dict(flat(spec)) == {
        "run": "r",
        "training.lr": 0.1,
        "training.schedule.decay_epochs": "[1, 2]",
    }


def test_launches_seeds_and_the_machine_are_no_part_of_a_cell(tmp_path):
    here = {"seeds": [0], "hardware": {"device": "cpu", "threads_per_worker": 1}}
    there = {"seeds": [1, 2], "hardware": {"device": "cuda", "threads_per_worker": 1}}
    a = read(results(tmp_path / "a", timed(launches=3), spec=here))
    b = read(results(tmp_path / "b", timed(launches=2), spec=there))
    one, other = cells_of(a, b)
    assert one.keys() == other.keys()
    assert [len(runs) for runs in one.values()] == [3] * 6
    assert [(d.field, d.a, d.b) for d in of_settings(a, b)] == [
        ("hardware.device", "cpu", "cuda"),
        ("seeds", "[0]", "[1, 2]"),
    ]


@pytest.mark.parametrize(
    "changed", [{"data": {"dataset": "mnist"}}, {"hardware": {"threads_per_worker": 2}}]
)
def test_another_setting_is_another_cell_and_is_named(tmp_path, changed):
    spec = {"data": {"dataset": "digits"}, "hardware": {"threads_per_worker": 1}}
    a = read(results(tmp_path / "a", timed(), spec=spec))
    b = read(results(tmp_path / "b", timed(), spec=spec | changed))
    found = compare(a, b, schemas())
    assert (found.cells, len(found.only_a), len(found.only_b)) == ([], 18, 18)
    assert [one.runs for one in found.settings] == [30]


def test_a_field_that_a_later_version_added_parts_no_cells(tmp_path):
    a = read(results(tmp_path / "a", timed(), spec={"version": 1}))
    b = read(results(tmp_path / "b", timed(), spec={"version": 1, "micro_batches": 4}))
    assert len(compare(a, b, schemas()).cells) == 18


def test_a_run_that_is_not_run_yet_needs_no_spec(tmp_path):
    a = read(results(tmp_path / "a", timed(), spec={"version": 1}))
    later = {"runs": [run_row("scaling-n8-b32", workers=8, status="not run yet")]}
    folder = results(tmp_path / "b", timed(), later, spec={"version": 1})
    (folder / "runs/scaling-n8-b32/spec.json").unlink()
    assert len(compare(a, read(folder), schemas()).cells) == 18


def test_machine_and_versions_are_named_where_they_differ(tmp_path):
    a = read(results(tmp_path / "a", timed()))
    b = read(results(tmp_path / "b", timed(device="H200", versions="Python 3.11, torch 2.15")))
    assert [(one.field, one.a, one.b) for one in of_machines(a, b)] == [
        ("device", "cpu", "H200"),
        ("torch", "2.14", "2.15"),
    ]


@pytest.mark.parametrize("launches", [3, 5])
def test_of_pairs_of_one_machine_at_most_one_in_twenty_has_a_false_find(launches):
    rng = np.random.default_rng(1)
    noise = np.linspace(0.01, 0.1, 12)  # of two arms of six cells
    pairs, false = 300, 0
    for _ in range(pairs):
        a, b = (
            [[sample(*np.exp(width * rng.standard_normal(launches)))] for width in noise]
            for _ in "ab"
        )
        spreads = spread_of(a), spread_of(b)
        ratios = [ratio_of(*sides, spreads) for sides in zip(a, b, strict=True)]
        ratios += [together(ratios[:6]), together(ratios[6:])]
        found = with_verdicts(Judged(TIME, "time", "", (), ratio) for ratio in ratios)
        together_too = by_chance(found[:12]).more
        false += together_too or any(one.verdict in ("worse", "better") for one in found)
    assert false / pairs <= 0.05 + 0.025  # two standard errors of 5% in 300 pairs


def test_a_cell_slower_by_a_tenth_is_found_as_often_as_the_comparison_says_it_could_be():
    """Twelve cells of five launches; the last one is slower. `least` says what it could show."""
    rng = np.random.default_rng(2)
    found: dict[bool, list[bool]] = {True: [], False: []}
    for noise in (0.005, 0.06) * 60:
        a, b = (
            [[sample(*np.exp(noise * rng.standard_normal(5)))] for _ in range(12)] for _ in "ab"
        )
        b[-1] = [sample(*(1.1 * b[-1][0].values))]
        spreads = spread_of(a), spread_of(b)
        ratios = [ratio_of(*sides, spreads) for sides in zip(a, b, strict=True)]
        last = with_verdicts(Judged(TIME, "time", "", (), ratio) for ratio in ratios)[-1]
        assert last.least is not None
        found[last.least < 1.1].append(last.verdict == "worse")
    assert np.mean(found[True]) > 0.9
    assert np.mean(found[False]) < 0.5
