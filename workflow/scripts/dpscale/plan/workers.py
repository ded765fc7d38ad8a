"""Q2, Q5, Q6: timed and counted runs of N workers."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.communication import with_direct_arms
from dpscale.plan.spec import Spec, Timing, build_spec


def scaling_cells(config: Config) -> list[tuple[int, int]]:
    """The (workers, per-worker batch) cells of the weak and the strong table, each once."""
    scaling = config.scaling
    if scaling is None:
        return []
    weak = {(n, b) for n in scaling.workers for b in scaling.per_worker_batches}
    strong = {(n, b // n) for n, b in weak if b % n == 0} if scaling.strong else set()
    return sorted(weak | strong)


def scaling(config: Config) -> Iterator[Spec]:
    """Q2 and Q3: each cell of `scaling_cells`, its arms interleaved in one run."""
    for workers, batch in scaling_cells(config):
        assert config.scaling is not None  # no cells otherwise
        weak = workers in config.scaling.workers and batch in config.scaling.per_worker_batches
        timing = Timing(
            arms=("with_loading", "without_loading"),
            repeats=config.scaling.repeats,
            min_steps=config.scaling.min_steps,
            warmup_steps=config.scaling.warmup_steps,
        )
        if weak and config.communication:
            timing = with_direct_arms(timing, config.communication, workers)
        yield build_spec(
            config,
            "timed",
            run=f"scaling-n{workers}-b{batch}",
            study="scaling",
            workers=workers,
            per_worker_batch=batch,
            timing=timing,
        )


def ledger(config: Config) -> Iterator[Spec]:
    """Q6: one counted run for each number of workers."""
    if config.ledger is None:
        return
    for workers in config.ledger.workers:
        yield build_spec(
            config,
            "ledger",
            run=f"ledger-n{workers}",
            study="ledger",
            workers=workers,
            per_worker_batch=config.ledger.per_worker_batch,
            steady_steps=config.ledger.steady_steps,
            data=config.data.model_copy(
                update={"loader": "resident", "augment": False, "loader_workers": 0}
            ),
        )


def data_parallel(config: Config) -> Iterator[Spec]:
    """DataParallel and DDP on the same GPUs; without GPUs the one run that says why not."""
    study = config.data_parallel
    if study is None:
        return
    arms = {"data_parallel": 1}
    if config.hardware.device == "cuda":
        arms["distributed"] = study.devices
    for arm, workers in arms.items():
        timing = Timing(
            arms=("without_loading",),
            repeats=study.repeats,
            min_steps=10,
            warmup_steps=10,
        )
        # DataParallel is one process that splits a global batch over the devices.
        batch = study.per_worker_batch * (study.devices if workers == 1 else 1)
        yield build_spec(
            config,
            "timed",
            run=f"data_parallel-{arm}-{study.devices}devices",
            study="data_parallel",
            arm=arm,
            workers=workers,
            per_worker_batch=batch,
            timing=timing,
            scatter_devices=study.devices if workers == 1 else None,
        )
