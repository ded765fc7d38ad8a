"""A meter tells how far a run is, in lines and as data, and costs the work next to nothing."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpscale.attempts import HISTORY, Attempt, History, Progress
from dpscale.train import progress
from dpscale.train.progress import Meter


class Loss:
    """Stands for the loss of a step on a device: reading it is counted."""

    read = 0

    def __float__(self) -> float:
        Loss.read += 1
        return 0.5118


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The time that a meter sees, in seconds; a test moves it."""
    hand = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: hand.now))
    monkeypatch.delenv(HISTORY, raising=False)
    Loss.read = 0
    return hand


@pytest.fixture
def history(clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv(HISTORY, str(tmp_path / "attempts"))
    return History(tmp_path / "attempts")


def train(meter: Meter, clock: Any, steps: int, seconds: float) -> None:
    """One unit of so many steps of 100 samples, which takes so long."""
    losses: list[Any] = []
    for _ in meter.watched([None] * steps, losses, steps=steps, samples=100):  # type: ignore[list-item]
        clock.now += seconds / steps
        losses.append(Loss())
    meter.step(loss=0.4, samples_per_s=steps * 100 / seconds, note="test accuracy 95.0%")


def test_a_line_names_unit_step_loss_rate_and_time_left(clock, capsys) -> None:
    meter = Meter("run", "epoch", 3, parts=2, shown=True)
    meter.begin("seed 0")
    train(meter, clock, steps=1562, seconds=11.0)
    first, last = capsys.readouterr().err.splitlines()
    # 1,421 of 1,562 steps are done when 10 s have passed; 10 s / (1421 / 1562) * 5.09 are left.
    assert first == (
        "run: seed 0, epoch 1 of 3, step 1,421 of 1,562, loss 0.512, 14,200 samples/s, 56 s left"
    )
    assert last == (
        "run: seed 0, epoch 1 of 3, step 1,562 of 1,562, loss 0.4, test accuracy 95.0%, "
        "14,200 samples/s, 55 s left"
    )


def test_within_a_long_epoch_a_line_comes_every_ten_seconds(clock, capsys) -> None:
    train(Meter("run", "epoch", 1, shown=True), clock, steps=1000, seconds=61.0)
    assert len(capsys.readouterr().err.splitlines()) == 6 + 1


def test_a_short_unit_has_its_own_line_alone(clock, capsys) -> None:
    meter = Meter("run", "epoch", 5, shown=True)
    for _ in range(5):
        train(meter, clock, steps=10, seconds=0.5)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"run: epoch {n} of 5" for n in range(1, 6)]


def test_the_loss_of_a_step_is_read_once_in_ten_seconds(clock, history) -> None:
    train(Meter("run", "epoch", 1, shown=True), clock, steps=10_000, seconds=35.0)
    assert Loss.read == 3


def test_ranks_that_do_not_lead_tell_nothing(history, clock, capsys) -> None:
    train(Meter("run", "epoch", 1, shown=False), clock, steps=100, seconds=60.0)
    assert capsys.readouterr().err == ""
    assert Loss.read == 0
    assert not history.folder.exists()


def test_without_a_folder_nothing_is_written(clock, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(Meter("run", "epoch", 1, shown=True), clock, steps=100, seconds=60.0)
    assert list(tmp_path.iterdir()) == []


def test_data_is_written_every_two_seconds_and_at_the_end(clock, history, monkeypatch) -> None:
    told: list[Progress] = []
    monkeypatch.setattr(History, "tell", lambda _, progress: told.append(progress))
    meter = Meter("run", "repeat", 24, shown=True)
    for number in range(1, 25):
        clock.now += 0.25
        meter.step(steps=20 * number)
    # After 0.25, 2.25 and 4.25 s, and the last one.
    assert [one.number for one in told] == [1, 9, 17, 24]


def test_steps_of_repeats_are_estimated_for_all_of_them(clock, history) -> None:
    meter = Meter("run", "repeat", 5, shown=True)
    clock.now += 3
    meter.step(steps=80, loss=2.3, samples_per_s=500.0)
    seen = history.progress()
    assert seen is not None
    assert (seen.step, seen.steps, seen.done_frac, seen.left_s) == (80, 400, 0.2, 12.0)


def test_a_repeat_beyond_the_planned_says_what_is_left_at_most(clock, capsys) -> None:
    meter = Meter("run", "repeat", 1, shown=True)
    clock.now = 5.0
    meter.step(steps=80)
    for _ in range(3):
        clock.now += 4.0
        meter.step(steps=80, left_s=20.0 - clock.now)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == ["run: repeat 4, 1 were planned, step 80 of 80, at most 3 s left"]


def test_a_part_that_ends_early_is_behind(clock, history) -> None:
    meter = Meter("run", "epoch", 4, parts=2, shown=True)
    meter.begin("seed 0")
    train(meter, clock, steps=1, seconds=1.0)
    meter.begin("seed 1")  # the loss of seed 0 was not finite
    train(meter, clock, steps=1, seconds=3.0)
    seen = history.progress()
    assert seen is not None
    # 5 of 8 epochs are behind, 2 were worked in 4 s.
    assert (seen.part, seen.done_frac, seen.left_s) == ("seed 1", 0.625, 6.0)


def test_parts_on_top_of_the_planned_ones_are_left_to_do(clock, history) -> None:
    meter = Meter("run", "epoch", 2, parts=1, shown=True)
    meter.begin("the first rate")
    train(meter, clock, steps=1, seconds=3.0)
    meter.extend(2)
    clock.now += 2.0  # time for the data
    train(meter, clock, steps=1, seconds=3.0)
    seen = history.progress()
    assert seen is not None
    # 2 of 6 epochs took 8 s.
    assert (seen.done_frac, seen.left_s) == (pytest.approx(1 / 3), 16.0)


def test_a_disk_that_takes_nothing_ends_no_run(clock, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(HISTORY, str(tmp_path / "file/attempts"))
    train(Meter("run", "epoch", 1, shown=True), clock, steps=10, seconds=1.0)


def test_a_new_attempt_has_not_come_as_far_as_the_one_before(clock, history) -> None:
    train(Meter("run", "epoch", 1, shown=True), clock, steps=10, seconds=1.0)
    assert history.progress() is not None
    history.write(
        Attempt(number=2, host="n1", process=1, born=1, began_at="2026-01-01T00:00:00+00:00")
    )
    assert history.progress() is None


def test_a_loss_that_is_not_finite_is_data_all_the_same(clock, history) -> None:
    Meter("run", "epoch", 1, shown=True).step(loss=float("nan"))
    seen = history.progress()
    assert seen is not None
    assert seen.loss is None
