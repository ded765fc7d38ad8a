"""Looks at open verdicts: that they err no more often than one look, what is launched, and when."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from builders import timed_cells
from dpscale.derive.statistics import CONFIDENCE, Estimate, median, median_ratio
from dpscale.plan.looks import CONFIDENCE_OF_EACH, ERRORS, SHARES, launches_at_looks
from dpscale.plan.spec import Spec
from dpscale.studies import load_config, planned_runs
from dpscale.studies.completion import earlier_runs
from dpscale.studies.scaling.derive.arms import communication, one_worker
from dpscale.studies.scaling.derive.looks import looks, open_parts
from dpscale.studies.scaling.derive.speedup import scaling
from dpscale.studies.scaling.looks import BY_LOOKS, look_again
from dpscale.studies.study import Earlier
from test_derive_statistics import DRAWN

SAMPLES = 1000
RUNS = {"workers": [1, 2, 4], "per_worker_batches": [32, 64], "strong": False}


def test_at_each_look_there_are_twice_as_many_launches() -> None:
    assert [launches_at_looks(first) for first in (3, 6)] == [(3, 6, 12), (6, 12, 24)]


def test_a_mean_without_an_effect_stays_within_the_bound_at_all_looks_in_95_of_100() -> None:
    # Sums of 1, 2 and 4 parts share the smaller number of them.
    correlation = np.sqrt(np.minimum.outer(SHARES, SHARES) / np.maximum.outer(SHARES, SHARES))
    bound = np.full(len(SHARES), ERRORS)
    within = multivariate_normal.cdf(bound, cov=correlation, lower_limit=-bound)
    assert within == pytest.approx(0.95, abs=1e-4)
    assert pytest.approx(0.97921, abs=1e-5) == CONFIDENCE_OF_EACH


def peeked(x: np.ndarray, y: np.ndarray, first: int, confidence: float) -> Estimate:
    """The ratio of x and y as who looks until it is told from 1, or to the last look, prints it."""
    for count in launches_at_looks(first):
        found = median_ratio(x[:count], y[:count], confidence)
        if found.low > 1 or found.high < 1:
            break
    return found


def coverage(drawn, first: int, confidence: float, ratio: float = 1.0) -> float:
    """How often the printed interval holds the ratio of two samples."""
    rng = np.random.default_rng(first)
    pairs = [(ratio * drawn(rng, 4 * first), drawn(rng, 4 * first)) for _ in range(SAMPLES)]
    found = [peeked(x, y, first, confidence) for x, y in pairs]
    return float(np.mean([one.low <= ratio <= one.high for one in found]))


@pytest.mark.parametrize("ratio", [1.0, 1.03])
@pytest.mark.parametrize("first", [3, 5, 6])
@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_the_interval_of_who_looks_until_it_is_decided_covers(drawn, first, ratio) -> None:
    assert coverage(drawn, first, CONFIDENCE_OF_EACH, ratio) >= 0.93


def test_intervals_of_one_look_would_cover_too_seldom() -> None:
    assert coverage(DRAWN["normal"], 6, CONFIDENCE) < 0.93


@pytest.mark.parametrize(("count", "ends"), [(7, (1, 7)), (12, (2, 11))])
def test_an_interval_at_one_of_several_looks_is_two_of_seven_values_and_more(count, ends) -> None:
    values = [float(n) for n in range(1, count + 1)]
    assert median(values, CONFIDENCE_OF_EACH)[1:3] == pytest.approx(ends)
    # Of six [least, largest] holds 96.9%: not enough.
    assert median(values[:6], CONFIDENCE_OF_EACH)[2] > 6


def planned(**changes: object) -> dict[str, Spec]:
    return planned_runs(load_config({"name": "x", "scaling": RUNS, "launches": 3, **changes}))


def test_looks_are_planned_where_there_is_time_for_them_and_leave_other_runs_as_they_are() -> None:
    without, plan = planned(), planned(repeat_minutes=2.0)
    assert plan.keys() - without.keys() == {"scaling-looks"}
    assert {run: plan[run] for run in without} == without
    looks = plan["scaling-looks"]
    assert (looks.workers, looks.protocol.repeat_budget_s) == (4, 120.0)
    of_plan = [run for run, spec in without.items() if spec.study == "scaling"]
    assert earlier_runs(looks, plan) == of_plan


def split_cell(workers: int, batch: int, *, decided: bool) -> dict[str, object]:
    """A row of `communication` whose overhead is told from zero, or is not."""
    row: dict[str, object] = {"workers": workers, "per_worker_batch": batch, "epoch_s": 1.0}
    for part in ("exposed", "overhead", "contention"):
        low = 0.01 if decided or part != "overhead" else -0.1
        row |= {f"{part}_s": 0.2, f"{part}_s_low": low, f"{part}_s_high": 0.4}
    return row


class Machine:
    """Cells that tell their speed-ups apart after some launches, and a clock.

    decided_after: by (workers, batch), launches that it takes; their logarithms are 0.1 b / 64.
    parts_after: the same of the parts of their epochs.
    """

    def __init__(
        self,
        decided_after: Mapping[tuple[int, int], int],
        launch_s: float = 1.0,
        parts_after: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        self._decided_after, self._launch_s = decided_after, launch_s
        self._parts_after = parts_after or {}
        self.now_s, self.launched = 0.0, list[str]()

    def launch(self, spec: Spec) -> None:
        assert (spec.kind, spec.study, spec.completed_by) == ("timed", "scaling_again", None)
        split = any(batch == spec.per_worker_batch for _, batch in self._parts_after)
        every = ("reference", "noop_hook", "buckets", "no_broadcast")
        direct = every if split and spec.workers > 1 else ()
        assert spec.protocol.timing.arms == ("with_loading", "without_loading", *direct)
        self.now_s += self._launch_s
        self.launched.append(spec.run)

    def derived(self, runs: Sequence[str]) -> dict[str, pd.DataFrame]:
        assert list(runs) == self.launched
        rows = []
        for (workers, batch), launches in self._decided_after.items():
            ratio = math.exp(0.1 * batch / 64)
            low = 1.01 if (decided := self._made(workers, batch) >= launches) else 0.9
            ends = {"speedup_ratio_low": low, "speedup_ratio_high": ratio / low * ratio}
            pace = "above" if decided else "indistinct"
            cell = {"kind": "weak", "workers": workers, "per_worker_batch": batch}
            rows.append(cell | {"speedup_ratio": ratio, "pace": pace} | ends)
        split = [
            split_cell(workers, batch, decided=self._made(workers, batch) >= launches)
            for (workers, batch), launches in self._parts_after.items()
        ]
        return {"scaling": pd.DataFrame(rows), "communication": pd.DataFrame(split)}

    def _made(self, workers: int, batch: int) -> int:
        return 3 + sum(run.startswith(f"scaling-n{workers}-b{batch}-") for run in self.launched)

    def look(self, minutes: float = 10.0) -> Spec:
        spec = planned(repeat_minutes=minutes)["scaling-looks"]
        earlier = Earlier(
            pd.DataFrame(), self.derived([]), 1293, pytest.fail, self.launch, self.derived
        )
        return look_again(spec, earlier, lambda: self.now_s)


def again(*cells: tuple[int, int], numbers: Sequence[int]) -> list[str]:
    """Names of launches of a base and what is compared with it, round by round."""
    return [f"scaling-n{n}-b{b}-again{number}" for number in numbers for n, b in cells]


def test_nothing_is_launched_where_every_speedup_is_decided(capsys) -> None:
    machine = Machine({(2, 32): 3, (4, 64): 3})
    spec = machine.look()
    assert (spec.protocol.further, spec.protocol.looks_ended) == ((), "decided")
    assert machine.launched == []
    assert capsys.readouterr().err == "Q2: nothing is open\n"


ON_64 = ((1, 64), (2, 32), (2, 64), (4, 64))  # with b = 64 fixed, and with B = 64 fixed


def test_a_base_and_all_compared_with_it_are_launched_until_nothing_is_open(capsys) -> None:
    machine = Machine({(2, 64): 3, (4, 64): 6})
    spec = machine.look()
    # Looks at 3, 6 and 12 launches: decided at the second.
    assert machine.launched == again(*ON_64, numbers=[1, 2, 3])
    assert spec.protocol.further == tuple(machine.launched)
    assert spec.protocol.looks_ended == "decided"
    told = "Q2: open after 3 launches: N = 4 at b = 64; launched up to 6 times\n"
    assert capsys.readouterr().err == told + "Q2: nothing is open\n"


def test_an_open_part_has_its_batch_launched_again_and_a_negligible_one_is_not_open(capsys) -> None:
    machine = Machine({(2, 64): 3}, parts_after={(4, 32): 6, (2, 64): 3})
    spec = machine.look()
    # What shares the base of b = 32; B = 64 with two workers of b = 32 is of the base b = 64.
    assert machine.launched == again((1, 32), (2, 32), (4, 32), numbers=[1, 2, 3])
    assert spec.protocol.looks_ended == "decided"
    told = "Q2: open after 3 launches: the parts of N = 4 at b = 32; launched up to 6 times\n"
    assert capsys.readouterr().err == told + "Q2: nothing is open\n"


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ((-0.06, 0.02), ["overhead"]),  # of an epoch of 1 s: beyond 5% of it
        ((-0.05, 0.05), []),  # within
        ((0.001, 0.4), []),  # above zero
        ((-0.4, -0.001), []),
        ((None, None), []),  # without an interval nothing says how many launches would do
    ],
)
def test_a_part_is_open_that_neither_differs_from_zero_nor_is_negligible(ends, found) -> None:
    low, high = ends
    row = split_cell(2, 32, decided=True) | {"overhead_s_low": low, "overhead_s_high": high}
    assert open_parts(row) == found
    assert open_parts(row | {"workers": 1}) == []


def test_what_stays_open_is_launched_to_the_last_look_each_cell_as_often(capsys) -> None:
    machine = Machine({(2, 32): 99, (4, 64): 99})
    spec = machine.look()
    every = ((1, 32), (1, 64), (2, 32), (2, 64), (4, 32), (4, 64))
    assert machine.launched == again(*every, numbers=range(1, 10))
    assert spec.protocol.looks_ended == "launches"
    told = capsys.readouterr().err
    assert "Q2: still open: N = 2 at b = 32, N = 4 at b = 64; this was the last look" in told


@pytest.mark.parametrize(
    ("launch_s", "rounds"), [(10.0, 3), (29.0, 1), (200.0, 1)], ids=["fits", "too long", "beyond"]
)
def test_no_round_begins_that_would_not_end_within_the_budget(launch_s, rounds, capsys) -> None:
    machine = Machine({(4, 64): 99}, launch_s)
    spec = machine.look(minutes=2.0)
    assert machine.launched == again(*ON_64, numbers=range(1, 1 + rounds))[: 4 * rounds]
    assert spec.protocol.looks_ended == "budget"
    assert "still open: N = 4 at b = 64; 2 min are spent" in capsys.readouterr().err


def lab(*, looks: bool, again: int = 0, ended: str | None = "launches", ends: Sequence[str] = ()):
    """Epoch times and runs of one and of two workers at b = 32, three launches and some again.

    ends: of the launches' names; launches that are not named as planned ones are not paired.
    """
    launches = []
    for number in range(3 + again):
        of_look = {"study": "scaling_again" if number >= 3 else "scaling"}
        seconds = {(1, 32): [10.0 + 0.5 * number], (2, 32): [7.0 + number % 3 - 1]}
        launches.append(timed_cells(seconds, **of_look))
    times, runs = zip(*launches, strict=True)
    ends = ends or [f"-{n}" for n in range(3 + again)]
    named = [table.assign(run=table["run"] + end) for end, table in zip(ends, times, strict=True)]
    every = [table.assign(run=table["run"] + end) for end, table in zip(ends, runs, strict=True)]
    if looks:
        row = timed_cells({(2, 32): []}, study="scaling_looks", status={(2, 32): "complete"})[1]
        told = {"first_launches": 3, "repeat_budget_s": 60.0, "looks_ended": ended}
        every.append(row.assign(run="scaling-looks", **told))
    return pd.concat(named), pd.concat(every).astype(dict(runs[0].dtypes))


def of_two(times: pd.DataFrame, runs: pd.DataFrame) -> pd.Series:
    return scaling(times, runs).query("kind == 'weak' and workers == 2").iloc[0]


def test_intervals_of_q2_are_wider_where_somebody_may_look_again() -> None:
    plain, looked = of_two(*lab(looks=False)), of_two(*lab(looks=True))
    assert plain["speedup_ratio"] == looked["speedup_ratio"]
    for name in ("epoch_s", "speedup_ratio", "efficiency_frac"):
        assert looked[f"{name}_low"] < plain[f"{name}_low"]
        assert looked[f"{name}_high"] > plain[f"{name}_high"]


def test_a_look_judges_by_the_intervals_that_the_report_will_show() -> None:
    times, runs = lab(looks=False)
    looked = pd.DataFrame(BY_LOOKS.configured(planned(repeat_minutes=1.0)["scaling-looks"])["runs"])
    at_look = of_two(times, pd.concat([runs, looked], ignore_index=True))
    shown = of_two(*lab(looks=True))
    for name in ("speedup_ratio_low", "speedup_ratio_high"):
        assert at_look[name] == pytest.approx(shown[name], rel=1e-12)


def test_launches_of_a_look_count_in_q2_and_q3() -> None:
    found = of_two(*lab(looks=True, again=2))
    assert found["launches"] == 5
    assert len(found["runs"].split()) == 5
    ends = ("", "-launch2", "-launch3", "-again1", "-again2")
    times, runs = lab(looks=True, again=2, ends=ends)
    spans = pd.DataFrame({"run": [], "iteration": [], "span_s": []})
    split = communication(times.assign(arm="without_loading"), spans, runs)
    assert split["launches"].tolist() == [5, 5]
    # T_1: 10, 10.5, 11, 11.5 and 12 s.
    no_sweep = pd.DataFrame({"per_worker_batch": []})
    alone = one_worker(split, no_sweep, runs).set_index("place")["epoch_s"]
    assert alone.to_dict() == {"base": 11.0}


NO_SPANS = pd.DataFrame({"run": [], "iteration": [], "span_s": []})


def looks_of(times: pd.DataFrame, runs: pd.DataFrame, latest: pd.DataFrame) -> list[dict]:
    split = communication(times, NO_SPANS, runs)
    return looks(times, NO_SPANS, runs, latest, split).to_dict("records")


def test_the_looks_are_summed_up_by_what_they_decided() -> None:
    times, runs = lab(looks=True, again=3)
    (row,) = looks_of(times, runs, scaling(times, runs))
    # 10, 10.5, 11 over 6, 7, 8 s: open; with three more of each the ratio is told from 1.
    assert (row["looked_at"], row["compared"], row["opened"]) == ("speed-up", 1, 1)
    assert (row["decided"], row["again"]) == (1, 6)
    assert (row["first_launches"], row["most_launches"], row["looks"]) == (3, 12, 3)
    assert row["looks_ended"] == "launches"


def test_parts_are_summed_up_beside_the_speedups() -> None:
    ends = ("", "-launch2", "-launch3", "-again1", "-again2", "-again3")
    loaded, runs = lab(looks=True, again=3, ends=ends)
    several = loaded[loaded["workers"] == 2]
    arms = [loaded, loaded.assign(arm="without_loading")]
    # Waiting and overhead are 1 s in each launch; contention is T_N - 2 s - T_1/2: -1, -0.25 and
    # 0.5 s, then -1.75, -1 and -0.25 s, of which neither three nor six show that it is below zero.
    for arm, less_s in {"noop_hook": 1.0, "reference": 2.0}.items():
        arms.append(several.assign(arm=arm, epoch_s=several["epoch_s"] - less_s))
    speedup, part = looks_of(pd.concat(arms), runs, scaling(pd.concat(arms), runs))
    assert (speedup["looked_at"], part["looked_at"]) == ("speed-up", "part")
    assert (part["compared"], part["opened"], part["decided"], part["reopened"]) == (3, 1, 0, 0)
    assert (speedup["again"], part["again"]) == (6, 6)


def test_a_speedup_that_more_launches_of_its_base_open_is_counted_as_such() -> None:
    times, runs = lab(looks=True, again=3)
    latest = scaling(times, runs)
    opened = scaling(*lab(looks=True)).assign(kind="strong")  # open, and of another name
    (row,) = looks_of(times, runs, pd.concat([latest, opened]))
    assert (row["opened"], row["decided"], row["reopened"]) == (1, 1, 1)


def test_without_looks_there_is_nothing_to_sum_up() -> None:
    times, runs = lab(looks=False)
    assert not looks_of(times, runs, scaling(times, runs))
