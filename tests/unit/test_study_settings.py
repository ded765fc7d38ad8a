"""A setting of `training` is followed by each study of large batches, or refused by its key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dpscale.config import ConfigError
from dpscale.config.sections import DataConfig, TrainingConfig
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs, read_config
from dpscale.studies.local_sgd.measure.runs import measure_local
from dpscale.studies.local_sgd.measure.team import StackedTeam
from dpscale.studies.model_averaging.config import AveragingArm
from dpscale.studies.model_averaging.measure.trainees import (
    ModelAveraging,
    SynchronousSgd,
    Trainee,
    build_trainee,
)
from dpscale.studies.steps_to_goal.measure.search import measure_search
from dpscale.train.data import load_dataset
from dpscale.train.machine.device import set_backends
from dpscale.train.models import build_model
from dpscale.train.trained import flat_parameters
from dpscale.train.worker import Place

FOLDER = Path(__file__).resolve().parents[2] / "config"
PLACE = Place(0, 1, 1, torch.device("cpu"))
OTHERS = ("sweep", "scaling", "communication", "large_batch", "replicas", "ledger", "data_parallel")
STUDIES = ("steps_to_goal", "lr_scaling", "model_averaging", "local_sgd")
STACKING = ("steps_to_goal", "model_averaging", "local_sgd")
LARS = {"lars_groups": 8, "lars_lrs": [1.0]}


def configured(study: str, training: dict[str, Any], **section: Any) -> Any:
    """A configuration for a GPU that plans this study alone."""
    return load_config(
        {"name": "x", "hardware": {"device": "cuda"}, "training": training, study: section}
        | dict.fromkeys(OTHERS)
    )


def error_of(study: str, training: dict[str, Any], **section: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(study, training, **section)
    return str(caught.value)


@pytest.mark.parametrize("study", STACKING)
@pytest.mark.parametrize(
    ("setting", "value", "words", "valid"),
    [
        ("precision", "bf16", "trains in fp32 or tf32", "fp32"),
        ("channels_last", True, "keeps no images in channels-last format", "false"),
        ("compile", True, "compiles no network", "false"),
    ],
)
def test_what_stacked_networks_are_not_given_is_refused(
    study, setting, value, words, valid
) -> None:
    assert error_of(study, {setting: value}) == (
        f"config: training.{setting} = {json.dumps(value)}: {study} {words}; set it to {valid}, or "
        f"{study} to null"
    )


@pytest.mark.parametrize(
    ("study", "section", "training", "message"),
    [
        (
            "steps_to_goal",
            {},
            {"fused": True},
            "training.fused = true: steps_to_goal updates the trials of a stack by an SGD of its "
            "own; set it to false, or steps_to_goal to null",
        ),
        (
            "model_averaging",
            {},
            {"nesterov": True},
            "training.nesterov = true: model_averaging trains by SGD without Nesterov's form; "
            "set it to false, or model_averaging to null",
        ),
        (
            "lr_scaling",
            {},
            {"optimizer": "adam"},
            'training.optimizer = "adam": lr_scaling scales the rates of SGD; '
            "set it to sgd, or lr_scaling to null",
        ),
        (
            "lr_scaling",
            LARS,
            {"fused": True},
            "training.fused = true: lr_scaling.lars_groups asks for LARS, which is not fused; "
            "set it to false, or lr_scaling.lars_groups to null",
        ),
        (
            "lr_scaling",
            LARS,
            {"nesterov": True},
            "training.nesterov = true: lr_scaling.lars_groups asks for LARS, which has no "
            "Nesterov's form; set it to false, or lr_scaling.lars_groups to null",
        ),
    ],
)
def test_what_the_update_of_a_study_does_not_have_is_refused(
    study, section, training, message
) -> None:
    assert error_of(study, training, **section) == f"config: {message}"


@pytest.mark.parametrize(
    ("study", "training"),
    [
        *((study, {"precision": "tf32", "cudnn_benchmark": True}) for study in STUDIES),
        ("model_averaging", {"fused": True}),
        ("local_sgd", {"fused": True}),
        (
            "lr_scaling",
            {
                "precision": "bf16",
                "channels_last": True,
                "compile": True,
                "fused": True,
                "compile_mode": "reduce-overhead",
                "nesterov": True,
            },
        ),
    ],
)
def test_what_a_study_follows_is_valid_and_reaches_its_runs(study, training) -> None:
    for spec in planned_runs(configured(study, training)).values():
        own = spec.training.model_dump()
        assert {name: own[name] for name in training} == training


@pytest.mark.parametrize("setting", ["channels_last", "compile", "fused"])
def test_a_study_that_is_left_out_refuses_nothing(setting) -> None:
    config = {"name": "x", "training": {setting: True}} | dict.fromkeys([*OTHERS, *STUDIES])
    assert getattr(load_config(config).training, setting)


def batches(*shape: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(1)
    return [(torch.randn(*shape, 1, 8, 8), torch.randint(10, shape)) for _ in range(7)]


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return build_model("mlp", in_channels=1, classes=10, image_size=8, zero_gamma=False)


def trainee(kind: type, *, fused: bool) -> Trainee:
    algorithm = "sma" if kind is ModelAveraging else "sgd"
    arm = AveragingArm(
        name="one", algorithm=algorithm, learners=3, batch=8, lr=0.05, alpha=0.3, tau=2
    )
    training = TrainingConfig(momentum=0.9, weight_decay=1e-3, fused=fused)
    return build_trainee(network(), load_dataset(DataConfig()), arm, training, PLACE, 7)


@pytest.mark.parametrize(("kind", "shape"), [(ModelAveraging, (3, 8)), (SynchronousSgd, (24,))])
def test_fused_trainees_of_model_averaging_end_at_the_same_parameters(kind, shape) -> None:
    one, other = (trainee(kind, fused=fused) for fused in (True, False))
    assert one._optimizer.param_groups[0]["fused"] is True
    assert other._optimizer.param_groups[0]["fused"] is None
    ends = []
    for each in (one, other):
        for batch in batches(*shape):
            each.learn(batch)
        ends.append(flat_parameters(each.network()).clone())
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_fused_team_of_post_local_sgd_ends_at_the_same_parameters(momentum) -> None:
    ends = []
    for fused in (True, False):
        training = TrainingConfig(lr=0.05, momentum=momentum, weight_decay=1e-3, fused=fused)
        team = StackedTeam(
            [network()],
            [load_dataset(DataConfig())],
            PLACE,
            training,
            learners=4,
            local_steps=2,
            local_from=3,
        )
        for images, labels in batches(24):
            team.step((images[None], labels[None]))
            assert team._optimizer.param_groups[0]["fused"] is (fused or None)
        team.finish()
        ends.append(flat_parameters(*team.networks()))
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-5)


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leaves torch's precision of float32 and cuDNN's settings as they were."""
    before = torch.get_float32_matmul_precision()
    for setting in ("allow_tf32", "benchmark"):
        monkeypatch.setattr(torch.backends.cudnn, setting, getattr(torch.backends.cudnn, setting))
    yield
    torch.set_float32_matmul_precision(before)


def of_float32() -> tuple[str, bool]:
    return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32


@pytest.mark.usefixtures("backends")
def test_fp32_means_fp32_in_convolutions_too_and_tf32_means_both() -> None:
    set_backends(TrainingConfig(precision="tf32"))
    assert of_float32() == ("high", True)
    for other in ("fp32", "bf16"):
        set_backends(TrainingConfig(precision=other))
        assert of_float32() == ("highest", False)


@pytest.mark.usefixtures("backends")
def test_cudnn_times_its_algorithms_where_a_run_asks_for_it_and_not_in_the_next() -> None:
    for asked in (True, False):
        set_backends(TrainingConfig(cudnn_benchmark=asked))
        assert torch.backends.cudnn.benchmark is asked


def test_the_limit_track_takes_the_fastest_of_cudnns_algorithms_in_every_run() -> None:
    limit, every = (read_config(FOLDER / f"{name}.yaml") for name in ("limit", "config"))
    update = {"hardware": limit.hardware, "training": limit.training}
    specs = [*planned_runs(limit).values(), *planned_runs(every.model_copy(update=update)).values()]
    assert {spec.study for spec in specs} >= {"sweep", "choose", "steps_to_goal"}
    assert all(spec.training.cudnn_benchmark for spec in specs)


SMALL: dict[str, dict[str, Any]] = {
    "steps_to_goal": {
        "models": [{"name": "softmax", "goal_error_frac": 0.5, "optimizers": ["sgd"]}],
        "batch_sizes": [64],
        "trials": 2,
        "selection_seeds": [9],
        "seeds": [0],
        "budget": {"max_steps": 2},
    },
    "local_sgd": {
        "workers": 2,
        "small_workers": 1,
        "per_worker_batch": 256,
        "huge_factor": 1,
        "epochs": 2,
        "decay_epochs": [1],
        "label_noise_fracs": [0.0],
        "seeds": [0],
    },
}


def small(study: str, precision: str) -> Spec:
    specs = planned_runs(configured(study, {"precision": precision}, **SMALL[study]))
    return next(iter(specs.values()))


@pytest.mark.usefixtures("backends")
@pytest.mark.parametrize(
    ("study", "measure"), [("steps_to_goal", measure_search), ("local_sgd", measure_local)]
)
@pytest.mark.parametrize(
    ("name", "found"), [("tf32", ("high", True)), ("fp32", ("highest", False))]
)
def test_a_run_trains_in_the_precision_of_its_spec(study, measure, name, found) -> None:
    spec = small(study, name)
    torch.set_float32_matmul_precision("medium")
    measure(spec, load_dataset(spec.data), PLACE)
    assert of_float32() == found
