"""The runs of S4: rates, batches and steps by hand, and settings that cannot work."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpscale.config import ConfigError
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs
from dpscale.studies.local_sgd.measure.runs import best_share, share_beyond
from dpscale.train.optim import learning_rate

CONFIGS = Path(__file__).parents[2] / "config"
STUDIES = (
    "sweep",
    "scaling",
    "communication",
    "large_batch",
    "replicas",
    "ledger",
    "data_parallel",
)
STUDY: dict[str, Any] = {
    "workers": 4,
    "per_worker_batch": 8,
    "small_workers": 2,
    "huge_factor": 3,
    "local_steps": 5,
    "post_local_steps": [16, 32],
    "base_lr": 0.1,
    "warmup_epochs": 2.0,
    "epochs": 8,
    "decay_epochs": [4, 6],
    "label_noise_fracs": [0.2],
}


def planned(**changed: Any) -> dict[str, Spec]:
    raw = {"name": "x", "local_sgd": STUDY | changed, **dict.fromkeys(STUDIES)}
    return planned_runs(load_config(raw))


def test_the_rate_grows_with_the_global_batch_and_warms_up_from_that_of_one_learner():
    runs = planned()
    batches = {name[-2:]: spec.per_worker_batch for name, spec in runs.items()}
    assert batches == {"a1": 16, "a5": 32, "a3": 96, "a4": 32}  # all learners of the one worker
    rates = {name[-2:]: spec.training.lr for name, spec in runs.items()}
    assert rates == pytest.approx({"a1": 0.2, "a5": 0.4, "a3": 1.2, "a4": 0.4})

    def rate(step: int) -> float:
        training = runs["local_sgd-noise20-a3"].training
        return learning_rate(
            step, base_lr=training.lr, schedule=training.schedule, steps_per_epoch=10, epochs=8
        )

    assert rate(0) == pytest.approx(0.1)
    assert rate(10) == pytest.approx(0.1 + 1.1 / 2)
    assert [rate(step) for step in (20, 39, 40, 60)] == pytest.approx([1.2, 1.2, 0.12, 0.012])


def test_post_local_sgd_shares_the_run_of_the_large_batch_and_starts_at_the_first_fall():
    local = planned()["local_sgd-noise20-a2-a5"].protocol
    assert local is not None
    assert [(arm.name, arm.local_steps, arm.local_from_epoch) for arm in local.arms] == [
        ("A2", 1, None),
        ("A5 H=16", 16, 4),
        ("A5 H=32", 32, 4),
    ]


def test_learners_are_spread_over_as_many_processes_as_divide_them():
    runs = planned(processes=4)
    assert {name[-2:]: spec.workers for name, spec in runs.items()} == {
        "a1": 2,
        "a5": 4,
        "a3": 4,
        "a4": 4,
    }
    assert runs["local_sgd-noise20-a1"].per_worker_batch == 8


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"decay_epochs": [4, 8]}, "local_sgd.decay_epochs"),
        ({"processes": 3}, "local_sgd.processes"),
        ({"per_worker_batch": 500}, "local_sgd.per_worker_batch"),
    ],
)
def test_settings_that_cannot_work_name_their_key(changed, key):
    with pytest.raises(ConfigError, match=key):
        planned(**changed)


def test_the_published_size_plans_sixteen_workers_of_128_at_the_scaled_rate():
    runs = planned_runs(load_config(yaml.safe_load((CONFIGS / "local_sgd.yaml").read_text())))
    large = runs["local_sgd-noise0-a2-a5"]
    assert (large.model.name, large.data.dataset) == ("resnet20", "cifar10")
    assert large.per_worker_batch == 2048
    assert large.training.lr == pytest.approx(1.6)
    assert large.training.schedule.decay_epochs == (150, 225)


@pytest.mark.parametrize(
    ("scores", "chosen", "further"),
    [
        ({0.5: 0.8, 1.0: 0.9, 2.0: 0.7}, 1.0, None),
        ({0.5: 0.9, 1.0: 0.8, 2.0: 0.7}, 0.5, 0.25),
        ({0.5: 0.7, 1.0: 0.8, 3.0: 0.9}, 3.0, 9.0),  # by the ratio at that end
        ({0.5: 0.9, 1.0: 0.9, 2.0: 0.9}, 0.5, 0.25),  # equals: the smallest
        ({0.5: -math.inf, 1.0: -math.inf}, 0.5, 0.25),  # all diverged
        ({1.0: 0.9}, 1.0, None),
    ],
)
def test_the_search_goes_on_beyond_an_end_while_the_best_rate_lies_there(scores, chosen, further):
    assert best_share(scores) == chosen
    assert share_beyond(scores) == further
