"""E1: timed runs in which all ways take turns, and a run that looks into each of them."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import (
    TIMED,
    Spec,
    TimedProtocol,
    Timing,
    build_spec,
    launches,
    network_of,
    timing_only,
)
from dpscale.plan.ways import WAYS
from dpscale.studies.strategies import SHARING
from dpscale.studies.strategies.config import SharingProtocol, StrategiesConfig

WARMUP_STEPS = 3


def runs(config: Config, asked: StrategiesConfig) -> Iterator[Spec]:
    """For each N the launches in which the ways are timed, and the run that compares the rest."""
    for workers in asked.workers:
        shared = {
            "study": "strategies",
            "workers": workers,
            "per_worker_batch": asked.per_worker_batch,
            "model": network_of(config, asked.model),
            "training": timing_only(config.training).model_copy(
                update={"optimizer": asked.optimizer, "nesterov": False}
            ),
            "data": config.data.model_copy(
                update={"loader": "resident", "augment": False, "loader_workers": 0}
            ),
        }
        timed = build_spec(
            config,
            TIMED,
            run=f"strategies-n{workers}",
            protocol=TimedProtocol(
                timing=Timing(
                    arms=("without_loading", *WAYS),
                    repeats=asked.repeats,
                    min_steps=asked.steps,
                    warmup_steps=WARMUP_STEPS,
                    max_steps=asked.steps,
                    direct_steps=asked.steps,
                    interval_frac=asked.interval_frac,
                    budget_s=asked.budget_s,
                ),
                micro_batches=asked.micro_batches,
                broadcast_buffers=False,  # which no other way does
            ),
            **shared,
        )
        yield from launches(config, timed)
        yield build_spec(
            config,
            SHARING,
            run=f"strategies-memory-n{workers}",
            protocol=SharingProtocol(
                micro_batches=asked.micro_batches,
                first_steps=asked.first_steps,
                budget_bytes=asked.memory_budget,
                resolution_frac=asked.resolution_frac,
            ),
            **shared,
        )


PLANS = {"strategies": runs}
