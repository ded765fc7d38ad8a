"""The settings that make a step faster change its speed and not what it trains."""

import shutil
from typing import Any

import numpy as np
import pytest
import torch

from dpscale.plan.spec import TRAINING, TrainingProtocol, build_spec
from dpscale.studies import load_config
from dpscale.train.clock import make_clock
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.loop import train_epoch
from dpscale.train.worker import Place, Replica, build_replica

CPU = torch.device("cpu")
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
BATCH, EPOCHS = 128, 2
# float32 sums in another order, over the 22 steps of these epochs.
SAME = {"rtol": 1e-3, "atol": 1e-4}
needs_compiler = pytest.mark.skipif(
    not (shutil.which("c++") or shutil.which("g++")), reason="torch.compile needs a C++ compiler"
)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")


def trained(
    model: str = "mlp", device: torch.device = CPU, **training: Any
) -> tuple[Replica, np.ndarray]:
    """A replica after EPOCHS epochs of the digits, and the loss of each of its steps."""
    config = load_config(
        {"name": "test", "model": {"name": model}, "training": {"lr": 0.02, **training}}
        | {"hardware": {"device": device.type}}
        | dict.fromkeys(STUDIES)
    )
    spec = build_spec(
        config,
        TRAINING,
        run="test",
        study="test",
        workers=1,
        per_worker_batch=BATCH,
        protocol=TrainingProtocol(),
    )
    dataset = load_dataset(spec.data)
    place = Place(rank=0, workers=1, nodes=1, device=device)
    loader = build_loader(
        dataset.train,
        dataset,
        loader="resident",
        batch=BATCH,
        workers=1,
        rank=0,
        seed=0,
        augment=False,
        device=device,
    )
    replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=len(loader))
    clock = make_clock(device)
    epochs = [train_epoch(replica, loader.batches(number), clock) for number in range(EPOCHS)]
    return replica, np.concatenate([epoch.losses for epoch in epochs])


def parameters(replica: Replica) -> torch.Tensor:
    return torch.cat([value.detach().cpu().flatten() for value in replica.module.parameters()])


@pytest.mark.parametrize(
    "optimizer", [{"optimizer": "sgd", "nesterov": True}, {"optimizer": "adam"}]
)
def test_a_fused_optimiser_ends_at_the_same_parameters(optimizer) -> None:
    plain, _ = trained(**optimizer)
    fused, _ = trained(fused=True, **optimizer)
    assert fused.optimizer.param_groups[0]["fused"] is True
    torch.testing.assert_close(parameters(fused), parameters(plain), **SAME)


def test_without_fused_the_choice_is_left_to_torch() -> None:
    plain, _ = trained()
    assert plain.optimizer.param_groups[0]["fused"] is None


def test_channels_last_trains_the_same_network_in_another_layout() -> None:
    _, plain_losses = trained("resnet_8x8")
    other, losses = trained("resnet_8x8", channels_last=True)
    kernels = [value for value in other.module.parameters() if value.ndim == 4]
    assert all(kernel.is_contiguous(memory_format=torch.channels_last) for kernel in kernels)
    np.testing.assert_allclose(losses[:5], plain_losses[:5], rtol=1e-3)


def test_bf16_learns_with_parameters_in_fp32() -> None:
    replica, losses = trained("resnet_8x8", precision="bf16", channels_last=True, fused=True)
    assert losses.dtype == np.float32
    assert losses[-3:].mean() < 0.7 * losses[:3].mean()
    assert {value.dtype for value in replica.module.parameters()} == {torch.float32}


@needs_compiler
def test_a_compiled_network_trains_as_the_other_and_leaves_the_bare_one_to_evaluation() -> None:
    plain, plain_losses = trained()
    compiled, losses = trained(compile=True)
    np.testing.assert_allclose(losses, plain_losses, rtol=1e-3)
    torch.testing.assert_close(parameters(compiled), parameters(plain), **SAME)
    assert compiled.model is not compiled.module
    assert compiled.module._compiled_call_impl is None
    assert not compiled.graphs


@needs_gpu
def test_losses_of_replayed_graphs_are_those_of_their_own_steps() -> None:
    device = torch.device("cuda", 0)
    _, plain_losses = trained(device=device)
    replica, losses = trained(device=device, compile=True, compile_mode="reduce-overhead")
    assert replica.graphs
    np.testing.assert_allclose(losses, plain_losses, rtol=1e-2)
