"""How quiet the machine was: shares worked by hand, and which repeats are made again."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import torch

from builders import run_row, runs_table, table
from dpscale.derive.quiet import quiet
from dpscale.records.quiet import TICK_S
from dpscale.train.machine import quiet as measured
from dpscale.train.machine.quiet import Quiet, Usage, is_disturbed, others_frac
from dpscale.train.worker import Place

ALONE = Place(0, 1, 1, torch.device("cpu"))


def usage(busy_s: dict[int, float], worker_s: float, machine: str = "m") -> Usage:
    """Return what passed on a worker within two seconds."""
    return Usage(machine, 2.0, busy_s, worker_s)


@pytest.mark.parametrize(
    ("usages", "share"),
    [
        # 3.0 busy seconds of two cores, 1.9 of them the worker's: 1.1 of 4 are others'.
        ([usage({0: 2.0, 1: 1.0}, 1.9)], 0.275),
        # Two workers see the same two cores, which are counted once: 3.5 - 1.6 - 1.4 = 0.5 of 4.
        ([usage({0: 2.0, 1: 1.5}, 1.6), usage({0: 2.0, 1: 1.5}, 1.4)], 0.125),
        # Workers bound to a core each: of the two cores 0.3 of 4 are others'.
        ([usage({0: 2.0}, 1.9), usage({1: 1.8}, 1.6)], 0.075),
        # Of two machines the busier one: 0.1 of 2 and 0.4 of 2.
        ([usage({0: 1.0}, 0.9), usage({0: 1.0}, 0.6, "n")], 0.2),
        # Clocks that are read one after another may differ the other way.
        ([usage({0: 1.0}, 1.01)], 0.0),
        ([usage({}, 1.0)], None),
    ],
)
def test_others_have_what_of_the_busy_cores_no_worker_took(usages, share) -> None:
    assert others_frac(usages) == (None if share is None else pytest.approx(share))


def test_a_core_is_busy_but_for_its_idle_time_and_its_interrupts(monkeypatch) -> None:
    monkeypatch.setattr(measured, "_unused_s", lambda: {0: 3.0, 5: 4.0})
    begin = Usage.now()
    monkeypatch.setattr(measured, "_unused_s", lambda: {0: 3.5, 5: 4.0})
    passed = Usage.now().since(begin)
    assert passed.busy_s[5] == pytest.approx(passed.wall_s)
    assert passed.busy_s[0] == pytest.approx(passed.wall_s - 0.5)


def test_a_short_repeat_is_disturbed_by_more_than_a_tick_alone_could_show() -> None:
    assert is_disturbed(0.07, wall_s=100 * TICK_S)  # beyond 0.05 + 0.01
    assert not is_disturbed(0.07, wall_s=10 * TICK_S)  # within 0.05 + 0.1
    assert not is_disturbed(None, wall_s=1.0)


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Shares that the next repeats find, in turn; a repeat takes ten seconds."""
    planted: list[float] = []
    seconds = iter(range(0, 10_000, 10))

    def now() -> Usage:
        return Usage("m", float(next(seconds)), {}, 0.0)

    monkeypatch.setattr(Usage, "now", staticmethod(now))
    monkeypatch.setattr(measured, "others_frac", lambda usages: planted.pop(0))
    return planted


def attempts() -> Iterator[int]:
    yield from range(100)


def test_a_disturbed_repeat_is_made_again_and_the_quiet_one_counts(shares) -> None:
    shares[:] = [0.3, 0.2, 0.01, 0.02]
    number, watch = attempts(), Quiet(ALONE, again=5)
    assert watch.undisturbed(0, lambda: next(number)) == 2
    assert watch.undisturbed(1, lambda: next(number)) == 3
    assert [(row["repeat"], row["others_frac"], row["kept"]) for row in watch.rows] == [
        (0, 0.3, False),
        (0, 0.2, False),
        (0, 0.01, True),
        (1, 0.02, True),
    ]
    assert {row["wall_s"] for row in watch.rows} == {10.0}


def test_what_stays_disturbed_is_used_once_the_budget_is_spent(shares) -> None:
    shares[:] = [0.3, 0.3, 0.4]
    number, watch = attempts(), Quiet(ALONE, again=1)
    assert watch.undisturbed(0, lambda: next(number)) == 1
    assert watch.undisturbed(1, lambda: next(number)) == 2
    assert [row["kept"] for row in watch.rows] == [False, True, True]
    shares[:] = [0.3]
    late = Quiet(ALONE, again=5, budget_s=-1.0)
    assert late.undisturbed(0, lambda: next(number)) == 3


def repeat(run: str, wall_s: float, others: float | None, kept: bool = True) -> dict[str, Any]:
    return {"run": run, "repeat": 0, "wall_s": wall_s, "others_frac": others, "kept": kept}


def test_a_run_is_as_quiet_as_its_repeats_that_count_in_the_mean_over_their_time() -> None:
    runs = runs_table([run_row(name, workers=2) for name in ("calm", "busy", "dark", "short")])
    rows = [
        repeat("calm", 1.0, 0.9, kept=False),
        repeat("calm", 1.0, 0.08),
        repeat("calm", 3.0, 0.0),
        repeat("busy", 1.0, 0.0),
        repeat("busy", 2.0, 0.105),
        repeat("dark", 1.0, None),
        repeat("short", 10 * TICK_S, 0.06),  # a tick of one core is 0.1 of it
    ]
    found = quiet(table("repeats", rows), runs).set_index("run")
    assert list(found.index) == ["busy", "short", "calm", "dark"]  # the most disturbed first
    assert found.others_frac["busy"] == pytest.approx(0.07)
    assert found.others_frac["calm"] == pytest.approx(0.02)
    assert found.quietness.to_dict() == {
        "busy": "disturbed",
        "calm": "quiet",
        "dark": "unknown",
        "short": "unknown",
    }
    assert found.repeats.to_dict() == {"busy": 2, "calm": 2, "dark": 1, "short": 1}
    assert found.repeated["calm"] == 1
    assert pd.isna(found.others_frac["dark"])


def test_without_timed_runs_there_is_no_row() -> None:
    assert quiet(table("repeats"), runs_table([])).empty
