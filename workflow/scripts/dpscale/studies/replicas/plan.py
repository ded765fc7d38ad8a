"""Q5 and Q7: trainings whose replicas are compared, and DataParallel against DDP."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import (
    TIMED,
    TRAINING,
    Spec,
    TimedProtocol,
    Timing,
    TrainingProtocol,
    build_spec,
    launches,
)
from dpscale.studies.replicas.config import DataParallelConfig, ReplicasConfig


def replicas(config: Config, study: ReplicasConfig) -> Iterator[Spec]:
    """Q5 and Q7: the usual training, one without set_epoch, one without buffer broadcast."""
    arms = {
        "baseline": TrainingProtocol(),
        "without_set_epoch": TrainingProtocol(set_epoch=False),
        "no_broadcast": TrainingProtocol(broadcast_buffers=False),
    }
    for arm, protocol in arms.items():
        yield build_spec(
            config,
            TRAINING,
            run=f"replicas-{arm}-n{study.workers}-b{study.per_worker_batch}",
            study="replicas",
            arm=arm,
            workers=study.workers,
            per_worker_batch=study.per_worker_batch,
            seeds=study.seeds,
            training=config.training.model_copy(update={"epochs": study.epochs}),
            protocol=protocol,
        )


def data_parallel(config: Config, study: DataParallelConfig) -> Iterator[Spec]:
    """DataParallel and DDP on the same GPUs; without GPUs the one run that says why not."""
    arms = {"data_parallel": 1}
    if config.hardware.device == "cuda":
        arms["distributed"] = study.devices
    for arm, workers in arms.items():
        timing = Timing(
            arms=("without_loading",), repeats=study.repeats, min_steps=10, warmup_steps=10
        )
        # DataParallel is one process that splits a global batch over the devices.
        batch = study.per_worker_batch * (study.devices if workers == 1 else 1)
        spec = build_spec(
            config,
            TIMED,
            run=f"data_parallel-{arm}-{study.devices}devices",
            study="data_parallel",
            arm=arm,
            workers=workers,
            per_worker_batch=batch,
            protocol=TimedProtocol(
                timing=timing, scatter_devices=study.devices if workers == 1 else None
            ),
        )
        yield from launches(config, spec) if config.hardware.device == "cuda" else [spec]


PLANS = {"replicas": replicas, "data_parallel": data_parallel}
