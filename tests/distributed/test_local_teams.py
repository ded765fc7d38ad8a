"""Local SGD of learners with a process each, by torch's classes, and of stacks of learners."""

import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from dpscale.config.sections import DataConfig, ModelConfig, TrainingConfig
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol
from dpscale.studies.local_sgd.measure.team import StackedTeam, Team
from dpscale.train.data import load_dataset
from dpscale.train.models import build_model
from dpscale.train.trained import compare_to_first, flat_parameters, flat_running_statistics
from dpscale.train.worker import Place

Launched = Callable[..., Any]
CPU = torch.device("cpu")
TRAINING = TrainingConfig(lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
RANKS, EACH, STEPS = 2, 8, 7
ARMS = [(None, 1), (0, 1), (0, 3), (3, 2), (0, 7)]  # (first local step, local steps)
ROUNDS = [7, 7, 3, 5, 1]


def network(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_model(name, in_channels=1, classes=10, image_size=8, zero_gamma=False)


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(1)
    size = RANKS * EACH
    return [(torch.randn(size, 1, 8, 8), torch.randint(10, (size,))) for _ in range(STEPS)]


def everything(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([flat_parameters(module), flat_running_statistics(module)])


def separate(
    rank: int,
    name: str,
    local_from: int | None,
    local_steps: int,
    training: TrainingConfig = TRAINING,
) -> Team:
    # Imports FSDP: seconds, of the processes alone that need it.
    from dpscale.studies.local_sgd.measure.processes import SeparateTeam

    team = SeparateTeam(
        [network(name)],
        [load_dataset(DataConfig())],
        Place(rank, RANKS, 1, CPU),
        training,
        local_steps=local_steps,
        local_from=local_from,
    )
    for images, labels in batches():
        team.step((images[None, rank::RANKS].contiguous(), labels[None, rank::RANKS]))
    team.finish()
    return team


def stacked(rank: int, name: str, ranks: int, options: dict[str, Any]) -> StackedTeam:
    learners = 4 // ranks
    team = StackedTeam(
        [network(name)],
        [load_dataset(DataConfig())],
        Place(rank, ranks, 1, CPU),
        TRAINING,
        learners=learners,
        **options,
    )
    for images, labels in batches():
        team.step((images[None, rank::ranks].contiguous(), labels[None, rank::ranks]))
    team.finish()
    return team


def ddp(rank: int, name: str) -> torch.Tensor:
    module = network(name)
    model = DistributedDataParallel(module)
    optimizer = torch.optim.SGD(
        module.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3
    )
    for images, labels in batches():
        optimizer.zero_grad()
        cross_entropy(model(images[rank::RANKS]), labels[rank::RANKS]).backward()
        optimizer.step()
    return flat_parameters(module)


def close(one: torch.Tensor, other: torch.Tensor, what: object) -> None:
    torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-5, msg=lambda text: f"{what}: {text}")


def check(rank: int, port: int) -> None:
    """What holds for every arm, on each of two ranks."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    place = Place(rank, RANKS, 1, CPU)
    plain = {name: ddp(rank, name) for name in ("mlp", "resnet_8x8")}
    for name in ("mlp", "resnet_8x8"):
        for (local_from, local_steps), rounds in zip(ARMS, ROUNDS, strict=True):
            if name == "resnet_8x8" and local_steps not in (1, 2):
                continue  # the MLP tells the rest, in less time
            what = name, local_from, local_steps
            team = separate(rank, name, local_from, local_steps)
            assert team.rounds == rounds, what
            (mean,) = team.networks()
            if local_from is not None:
                # after the final average every replica is the mean of them
                torch.testing.assert_close(everything(team._network), everything(mean))
                apart = compare_to_first(team._network, place)
                assert apart["parameter_difference_max"] == 0.0, what
                assert not apart["buffer_difference_frac"], what
            if local_steps == 1:
                close(flat_parameters(mean), plain[name], (*what, "against DDP"))
            alone = StackedTeam(
                [network(name)],
                [load_dataset(DataConfig())],
                Place(0, 1, 1, CPU),
                TRAINING,
                learners=RANKS,
                local_steps=local_steps,
                local_from=local_from,
            )
            for images, labels in batches():
                alone.step((images[None], labels[None]))
            alone.finish()
            assert alone.rounds == rounds, what
            close(everything(mean), everything(*alone.networks()), (*what, "stacked"))
    for local_from, local_steps in ARMS:
        options = {"local_from": local_from, "local_steps": local_steps}
        spread, one = stacked(rank, "mlp", RANKS, options), stacked(0, "mlp", 1, options)
        assert spread.rounds == one.rounds
        close(everything(*spread.networks()), everything(*one.networks()), options)
    fused = separate(rank, "mlp", 3, 2, TRAINING.model_copy(update={"fused": True}))
    assert fused._optimizer.param_groups[0]["fused"] is True
    ends = [everything(*one.networks()) for one in (fused, separate(rank, "mlp", 3, 2))]
    close(*ends, "fused")
    dist.destroy_process_group()


def test_torchs_optimiser_ddp_and_stacks_of_learners_agree() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    spawn(check, (port,), nprocs=RANKS)


def protocol() -> LocalProtocol:
    arms = (
        LocalArm(name="A2"),
        LocalArm(name="H1", local_from_epoch=0),
        LocalArm(name="H3", local_steps=3, local_from_epoch=1),
    )
    return LocalProtocol(
        learners=4,
        arms=arms,
        rate_factors=(1.0,),
        tuning_seeds=(9,),
        label_noise_frac=0.2,
        evaluate_epochs=1,
    )


def results(launched: Launched, workers: int) -> tuple[dict[str, float], dict[str, int]]:
    """Training loss at the end, and rounds, of each arm of a run."""
    record = launched(
        f"local-n{workers}",
        kind="local",
        study="local_sgd",
        workers=workers,
        seeds=(0,),
        per_worker_batch=64 // workers,
        model=ModelConfig(name="mlp"),
        training={"epochs": 2, "lr": 0.05},
        data={"loader": "resident"},
        protocol=protocol(),
    ).record
    assert record.status == "complete"
    losses = {row["trial"]: row["train_loss"] for row in record.curves}
    return (
        {row["arm"]: losses[row["trial"]] for row in record.trials},
        {row["arm"]: row["rounds"] for row in record.trials},
    )


@pytest.fixture(scope="module")
def alone(launched: Launched) -> tuple[dict[str, float], dict[str, int]]:
    return results(launched, 1)


@pytest.mark.parametrize("workers", [2, 4])
def test_learners_spread_over_workers_train_as_on_one(launched, alone, workers) -> None:
    losses, rounds = results(launched, workers)
    assert losses == pytest.approx(alone[0], rel=1e-3)
    assert rounds == alone[1]


def test_one_local_step_trains_as_mini_batch_sgd_and_three_save_rounds(alone) -> None:
    losses, rounds = alone
    assert losses["H1"] == pytest.approx(losses["A2"], rel=1e-3)
    # 20 steps an epoch: 20 gradients, then 6 averages and the final one
    assert rounds == {"A2": 40, "H1": 40, "H3": 27}
