"""A launched training leaves how far it came: its last step, in the folder of its attempts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import HANG_S

from dpscale.attempts import History
from dpscale.config.sections import ModelConfig

LAUNCH_SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/launch.py"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_training_leaves_its_last_step_as_data(launcher, server, tmp_path, workers) -> None:
    spec = launcher.spec(
        workers=workers,
        per_worker_batch=32 // workers,
        seeds=(0, 1),
        training={"epochs": 2},
        model=ModelConfig(name="mlp"),
    )
    path = tmp_path / "spec.json"
    path.write_text(spec.model_dump_json())
    history, log = History(tmp_path / "attempts"), tmp_path / "run.log"
    command = [sys.executable, LAUNCH_SCRIPT, path, "--log", log, "--history", history.folder]
    subprocess.run(command, check=True, timeout=HANG_S, env=os.environ | server)
    last = history.progress()
    assert last is not None
    # 1,293 images are 40 full batches of 32.
    assert (last.place(), last.step, last.steps) == ("seed 1, epoch 2 of 2", 40, 40)
    assert (last.done_frac, last.left_s) == (1.0, 0.0)
    lines = [line for line in log.read_text().splitlines() if "step 40 of 40" in line]
    assert len(lines) == 4  # the last of each epoch; a slow machine says more within
    assert lines[-1].startswith("test: seed 1, epoch 2 of 2, step 40 of 40, loss 0.")
    assert {path.name for path in history.folder.iterdir()} == {"attempt-1.json", "progress.json"}
