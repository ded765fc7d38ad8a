"""What is tried on a few samples before anything is measured.

A step of the configured network, which not every machine can make as it is configured; and what
studies do with a user's own networks, which raises OwnTrainingError where one does not allow it.
"""

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._pytree import tree_map_only

from dpscale.config.own import OwnFacts
from dpscale.config.sections import TrainingConfig
from dpscale.plan import Spec
from dpscale.plan.spec import OwnFile
from dpscale.processes import end_with_parent
from dpscale.provenance import cpu_model
from dpscale.train.clock import make_clock
from dpscale.train.communication.sync import FullyShard, Solo
from dpscale.train.data import Dataset, load_task
from dpscale.train.data.own import TRIED, OwnTask, OwnTrainingError
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.machine.device import device_model, open_device
from dpscale.train.stacked import Stack, dealt
from dpscale.train.worker import Place, build_replica

CPU = torch.device("cpu")
STACKERS = "model_averaging, local_sgd and steps_to_goal"
# A step that is compiled takes minutes on a slow processor.
STEP_S = 600.0
WARM_UP, MOST_STEPS, SOON_S = 3, 200, 1.0  # of a step that is timed
SETTINGS = ("compile", "precision", "fused", "channels_last")  # what a machine may not be able to
COMPILER = "install a C compiler and Python's headers (gcc and python3-dev), or "


def steps(spec: Spec, count: int = 1, samples: int = TRIED) -> Epoch:
    """Make steps of the spec's network as its runs do: forward, backward, update.

    samples: of the batch, one for all steps.
    """
    task = load_task(spec)
    place = Place(0, 1, 1, open_device(spec.hardware, 0))
    replica = build_replica(spec, task, place, seed=0, steps_per_epoch=count, sync=Solo())
    if isinstance(task, OwnTask):
        batch = task.few("train", samples)
    else:
        assert isinstance(task, Dataset)
        batch = torch.randn(samples, *task.image_shape), torch.arange(samples) % task.classes
    return train_epoch(replica, [batch] * count, make_clock(place.device))


def step_s(spec: Spec, samples: int) -> float:
    """Return what a step of the spec's network takes here, in a median of so many as are soon done.

    samples: of its batch. Raises DatasetError, OwnTrainingError.
    """
    first_s = steps(spec, 2, samples).seconds["step_s"][-1]
    count = int(np.clip(SOON_S / first_s, 1, MOST_STEPS))
    timed = steps(spec, WARM_UP + count, samples)
    return float(np.median(timed.seconds["step_s"][WARM_UP:]))


def refusal(spec: Spec, limit_s: float = STEP_S) -> str | None:
    """Return why no step of the spec can be made here, by key and value, with what to do.

    None where it can. The setting without which it can be made is the one that is named.
    limit_s: seconds after which a step is given up.
    """
    error = _step_error(spec, limit_s)
    if error is None:
        return None
    on_cpu = spec.hardware.device == "cpu"
    machine = cpu_model() if on_cpu else device_model(spec.hardware)
    key, value = ("own.file", spec.own.file) if spec.own else ("model.name", spec.model.name)
    for name in SETTINGS:
        plain = TrainingConfig.model_fields[name].default
        changed = spec.training.model_copy(update={name: plain})
        without = spec.model_copy(update={"training": changed})
        if changed != spec.training and not _step_error(without, limit_s):
            given, plain = (str(one).lower() for one in (getattr(spec.training, name), plain))
            return (
                f"training.{name} = {given}: {machine} does not train {value} so: {error}; "
                f"{COMPILER if name == 'compile' else ''}set it to {plain}"
            )
    return (
        f"{key} = {value}: {machine} does not train it: {error}; mend or choose another, or "
        "install a build of torch for this machine (envs/README.md)"
    )


def _step_error(spec: Spec, limit_s: float) -> str | None:
    """Why a step fails, in a process of its own: an unknown instruction ends a process."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_tell_error, args=(spec, sender, os.getpid()))
    child.start()
    sender.close()
    try:
        if receiver.poll(limit_s):
            error: str | None = receiver.recv()
            return error
        child.kill()
        return f"nothing came of a step in {limit_s:.0f} s"
    except EOFError:
        child.join()
        return f"ended by {signal.Signals(-(child.exitcode or 0)).name}"
    finally:
        child.join()


def _tell_error(spec: Spec, sender: Connection, parent: int) -> None:
    end_with_parent(parent)
    try:
        steps(spec)
        sender.send(None)
    except Exception as error:
        reason, *_ = [*str(error).strip().splitlines(), ""]  # advice may follow
        sender.send(f"{type(error).__name__}: {reason[:300]}")


def stacked(task: OwnTask) -> None:
    """Train two networks as one on the samples of both."""
    if task.has_optimizer:
        reason = f"{STACKERS} train by SGD of their own; set them to null, or leave it out"
        raise OwnTrainingError(f"{task.name}: optimizer: {reason}")
    networks = [task.network() for _ in range(2)]
    # What is dealt to two learners has to be even.
    batch = tree_map_only(Tensor, lambda one: torch.cat([one, one]), task.few("train"))
    failed = "model or loss cannot be stacked by torch.func.vmap"
    with task.about(f"{failed} (set {STACKERS}, which train several as one, to null)"):
        Stack(networks, CPU, task).backward(*dealt(batch, 2))


def sharded(task: OwnTask) -> None:
    """Train a network as FSDP2 shards it, in a group of one."""
    inputs, targets = task.few("train")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with task.about("model cannot be sharded by torch's fully_shard (set strategies to null)"):
            network = FullyShard().wrap(task.network(), CPU)
            task.loss(network(inputs), targets).backward()
    finally:
        dist.destroy_process_group()


TRIES: dict[str, Callable[[OwnTask], None]] = {"stacked": stacked, "sharded": sharded}


def look(own: OwnFile) -> OwnFacts:
    """Use all of a user's own file once on two samples; raises OwnTrainingError where it fails."""
    task, refused = OwnTask(own).checked(), {}
    for name, tried in TRIES.items():
        try:
            tried(task)
        except OwnTrainingError as error:
            refused[name] = str(error)
    return OwnFacts(
        train_samples=len(task.train),
        validation_samples=len(task.validation),
        test_samples=len(task.test),
        counts_correct=task.counts_correct,
        refused=refused,
    )
