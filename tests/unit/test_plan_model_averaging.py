"""S3's plan: the arms, their rates, and a configuration at the size of the paper."""

from pathlib import Path

import pytest

from dpscale.studies import planned_runs, read_config
from dpscale.studies.model_averaging.config import ModelAveragingConfig
from dpscale.studies.model_averaging.plan import arms

FOLDER = Path(__file__).resolve().parents[2] / "config"


def test_the_large_batch_has_the_samples_of_all_learners_at_both_rates():
    found = {arm.name: arm for arm in arms(ModelAveragingConfig())}
    assert {name: (arm.learners, arm.batch, arm.lr) for name, arm in found.items()} == {
        "sgd_small": (1, 16, 0.02),
        "sgd_large": (1, 128, 0.02),
        "sgd_large_linear": (1, 128, pytest.approx(0.16)),
        "sma α = 1/k": (8, 16, 0.02),
        "sma α = 0.1": (8, 16, 0.02),
        "sma_tuned α = 1/k": (8, 16, 0.2),
        "sma_tuned α = 0.1": (8, 16, 0.2),
    }
    assert found["sma α = 1/k"].alpha == 0.125


def test_averaging_without_a_rate_of_its_own_has_no_second_set_of_arms():
    names = [arm.name for arm in arms(ModelAveragingConfig(averaging_lr=0.02))]
    assert names == ["sgd_small", "sgd_large", "sgd_large_linear", "sma α = 1/k", "sma α = 0.1"]


@pytest.mark.parametrize("name", ["config", "smoke", "model_averaging"])
def test_each_configuration_plans_a_run_a_seed_and_one_a_cell(name):
    config = read_config(FOLDER / f"{name}.yaml")
    study = config.model_averaging
    assert study is not None
    planned = [spec for spec in planned_runs(config).values() if spec.study == "model_averaging"]
    kinds = [spec.kind for spec in planned]
    assert kinds.count("averaging") == len(study.seeds) + bool(study.rates)
    assert kinds.count("learners") == len(study.cells) * (study.launches or config.launches)
    trained = next(spec for spec in planned if spec.run == "model_averaging-seed0")
    protocol = trained.protocol
    assert protocol.expected
    assert {0.1, 1 / study.learners} == {
        arm.alpha for arm in protocol.arms if arm.algorithm == "sma"
    }
