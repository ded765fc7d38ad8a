"""Q3: runs that measure communication directly: arms, the link alone, compressed gradients."""

from collections.abc import Iterator
from typing import Any

from dpscale.config.root import Config
from dpscale.config.studies import CommunicationConfig
from dpscale.plan.spec import Messages, Spec, TimedArm, Timing, build_spec

DIRECT_ARMS: tuple[TimedArm, ...] = ("solo", "reference", "noop_hook", "buckets")
LINK_REPEATS = 10
LINK_BUDGET_S = 20.0


def with_direct_arms(timing: Timing, communication: CommunicationConfig, workers: int) -> Timing:
    """The timing with the arms that split a step into computation and communication.

    One worker has nobody to communicate with: there DDP itself is measured, which needs no further
    repeats.
    """
    if workers == 1:
        return timing.model_copy(update={"arms": (*timing.arms, "ddp_of_one")})
    return timing.model_copy(
        update={
            "arms": (*timing.arms, *DIRECT_ARMS),
            "repeats": max(timing.repeats, communication.repeats),
            "direct_steps": communication.steps,
            "interval_frac": communication.interval_frac,
            "budget_s": communication.budget_s,
        }
    )


def _worker_counts(config: Config) -> list[int]:
    """Numbers of workers that communicate; none where the configuration leaves them out."""
    if config.scaling is None or config.communication is None:
        return []
    return sorted(workers for workers in config.scaling.workers if workers > 1)


def links(config: Config) -> Iterator[Spec]:
    """The link alone: all-reduces of several sizes, and raw TCP, for each number of workers."""
    for workers in _worker_counts(config):
        assert config.scaling is not None
        yield build_spec(
            config,
            "link",
            run=f"link-n{workers}",
            study="link",
            workers=workers,
            per_worker_batch=min(config.scaling.per_worker_batches),
            messages=Messages(bytes=(), repeats=LINK_REPEATS, budget_s=LINK_BUDGET_S),
        )


def compression(config: Config) -> Iterator[Spec]:
    """DDP with compressed gradients against DDP without, at the fewest workers and samples."""
    communication, scaling = config.communication, config.scaling
    if communication is None or scaling is None or not communication.hooks:
        return
    for workers in _worker_counts(config)[:1]:
        timing = Timing(
            arms=("without_loading", *communication.hooks),
            repeats=communication.repeats,
            min_steps=communication.steps,
            warmup_steps=scaling.warmup_steps,
            max_steps=communication.steps,
            direct_steps=communication.steps,
            interval_frac=communication.interval_frac,
            budget_s=communication.budget_s,
        )
        yield build_spec(
            config,
            "timed",
            run=f"compression-n{workers}",
            study="compression",
            workers=workers,
            per_worker_batch=min(scaling.per_worker_batches),
            timing=timing,
        )


def link_rows(config: Config) -> list[dict[str, Any]]:
    """The links that the configuration names: the machine's own, where its rate is known, first."""
    communication = config.communication
    if communication is None:
        return []
    named = [link.model_dump() for link in communication.links]
    rows = [{"link": link.pop("name"), **link, "own": False} for link in named]
    if communication.link_bytes_per_s is None:
        return rows
    own = {
        "link": "this link",
        "bytes_per_s": communication.link_bytes_per_s,
        "source": "communication.link_bytes_per_s",
        "own": True,
    }
    return [own, *rows]
