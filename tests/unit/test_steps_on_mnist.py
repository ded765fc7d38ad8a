"""S1 on real MNIST: the steps-to-goal curve of an MLP shows where perfect scaling ends."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from builders import run_row, table
from dpscale.config.sections import DataConfig
from dpscale.studies import config_model, planned_runs
from dpscale.studies.steps_to_goal.config import (
    Budget,
    SearchedModel,
    SearchSpace,
    StepsToGoalConfig,
)
from dpscale.studies.steps_to_goal.derive.fit import goal_fit
from dpscale.studies.steps_to_goal.derive.searches import batch_medians
from dpscale.studies.steps_to_goal.measure.search import measure_search
from dpscale.train.data import load_dataset
from dpscale.train.worker import Place

FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist"
BATCHES = (16, 64, 256, 1024, 4096)
# Bounded so that it ends in about 10 minutes on one core: few trials, in a narrow space.
STUDY = StepsToGoalConfig(
    models=(SearchedModel(name="mlp", goal_error_frac=0.03, optimizers=("sgd",)),),
    batch_sizes=BATCHES,
    validation_frac=0.05,  # 3,000 images
    trials=8,
    space=SearchSpace(effective_lr_low=0.05, effective_lr_high=2.0),
    budget=Budget(max_steps=8000, max_epochs=60, patience=1.3, evaluation_samples=2048),
    finalists=2,
    selection_seeds=(100, 101),
    seeds=(0, 1, 2),
)


@pytest.fixture
def mnist(tmp_path: Path) -> DataConfig:
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    packed = sorted(FILES.glob("*-ubyte.gz"))
    if len(packed) != 4:
        pytest.skip(f"no MNIST in {FILES}")
    for path in packed:
        (raw / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return DataConfig(dataset="mnist", root=str(tmp_path))


@pytest.mark.slow
def test_steps_of_an_mlp_to_3_percent_error_show_where_perfect_scaling_ends(mnist):
    config = config_model()(name="mnist", data=mnist, steps_to_goal=STUDY)
    spec = next(one for one in planned_runs(config).values() if one.kind == "search")
    found = measure_search(spec, load_dataset(spec.data), Place(0, 1, 1, torch.device("cpu")))
    tables = {
        name: table(name, [{"run": spec.run} | row for row in found.fields[name]])
        for name in ("trials", "gradient_squares")
    }
    run = run_row(spec.run, kind="search", study=spec.study, arm="sgd", model="mlp")
    fit = goal_fit(tables["trials"], tables["gradient_squares"], table("runs", [run])).iloc[0]
    steps = batch_medians(tables["trials"], spec.run)
    print(steps, fit.to_dict())
    assert set(steps) == set(BATCHES)
    slopes = np.diff(np.log([steps[batch] for batch in BATCHES])) / np.diff(np.log(BATCHES))
    assert slopes[0] == pytest.approx(-1, abs=0.35)
    assert slopes[-1] > -0.4
    assert BATCHES[0] < fit.b_crit_low < fit.b_crit_high < BATCHES[-1]
    assert 0.1 < fit.noise_over_b_crit < 10
