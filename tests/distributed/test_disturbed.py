"""What else uses the machine beside a timed run is noticed; what the run uses is not counted."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from torch import device

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import Timing, TrainingProtocol
from dpscale.train.machine.quiet import Quiet
from dpscale.train.worker import Place

# On so few cores half of one is a large share on any machine.
CORES = sorted(os.sched_getaffinity(0))[:2]
# Starts a run on these cores alone.
ON_CORES = f"""
import os, runpy, sys
os.sched_setaffinity(0, {CORES})
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
BURN = f"""
import os, sys, time
os.sched_setaffinity(0, {CORES})
print("burning", flush=True)
share = float(sys.argv[1])
while True:
    end = time.perf_counter() + 0.01 * share
    while time.perf_counter() < end:
        pass
    time.sleep(0.01 * (1 - share))
"""


@contextmanager
def burning(share: float) -> Iterator[None]:
    """A process that keeps this share of a core busy."""
    words = [sys.executable, "-c", BURN, str(share)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_half_a_core_burnt_beside_a_timed_run_is_noticed(launcher) -> None:
    spec = launcher.spec(
        run="beside",
        kind="timed",
        model=ModelConfig(name="resnet_8x8"),
        timing=Timing(arms=("without_loading",), repeats=2, min_steps=200, warmup_steps=2),
    )
    (launcher.folder / "on_cores.py").write_text(ON_CORES, encoding="utf-8")
    with burning(0.5):
        ended = launcher.start(spec, through=[str(launcher.folder / "on_cores.py")])
    assert ended.status == 0, ended.log
    rows = launcher.result(spec).record.repeats
    # Half a core is a quarter of two, and half of one.
    assert all(row["others_frac"] > 0.1 for row in rows)
    # As many as were asked for are made again, and then what stays disturbed counts.
    assert [row["kept"] for row in rows] == [False, False, True, True]
    assert sorted(launcher.result(spec).steps["repeat"].unique()) == [0, 1]


def test_a_disturbed_training_is_made_again_and_learns_the_same(launcher) -> None:
    (launcher.folder / "on_cores.py").write_text(ON_CORES, encoding="utf-8")

    def trained(name: str, *, timed: bool) -> tuple[list[bool], list[float]]:
        spec = launcher.spec(
            run=name, seeds=(0,), training={"epochs": 2}, protocol=TrainingProtocol(timed=timed)
        )
        ended = launcher.start(spec, through=[str(launcher.folder / "on_cores.py")])
        assert ended.status == 0, ended.log
        record, steps = launcher.result(spec)
        return [row["kept"] for row in record.repeats], steps["loss"].tolist()

    with burning(0.5):
        kept, losses = trained("trained_beside", timed=True)
        not_timed, others = trained("trained_untimed", timed=False)
    assert kept == [False, True]  # as many as there are seeds; then what stays disturbed counts
    assert not_timed == []
    assert losses
    assert losses == others


@pytest.mark.alone
def test_what_the_run_itself_uses_is_not_others() -> None:
    place, affinity = Place(0, 1, 1, device("cpu")), os.sched_getaffinity(0)
    watch = Quiet(place, again=0)

    def spin() -> None:
        end_s = time.thread_time() + 0.3
        while time.thread_time() < end_s:
            pass

    os.sched_setaffinity(0, CORES)
    try:
        for repeat in range(3):
            watch.undisturbed(repeat, spin)
            with burning(1.0):
                watch.undisturbed(repeat, lambda: time.sleep(0.3))
    finally:
        os.sched_setaffinity(0, affinity)
    shares = [row["others_frac"] for row in watch.rows]
    # The same work, done by the run and by another process.
    assert sorted(shares[0::2])[1] < sorted(shares[1::2])[1] - 0.1
