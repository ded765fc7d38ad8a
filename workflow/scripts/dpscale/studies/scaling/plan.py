"""Q2: timed runs of N workers."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import (
    TIMED,
    Spec,
    TimedProtocol,
    Timing,
    build_spec,
    launches,
    with_direct_arms,
)
from dpscale.studies.scaling.config import ScalingConfig


def cells(scaling: ScalingConfig) -> list[tuple[int, int]]:
    """The (workers, per-worker batch) cells of the weak and the strong table, each once."""
    weak = {(n, b) for n in scaling.workers for b in scaling.per_worker_batches}
    strong = {(n, b // n) for n, b in weak if b % n == 0} if scaling.strong else set()
    return sorted(weak | strong)


def runs(config: Config, scaling: ScalingConfig) -> Iterator[Spec]:
    """Q2 and Q3: each cell of `cells`, its arms interleaved in one run."""
    direct = config.section("communication")
    for workers, batch in cells(scaling):
        weak = workers in scaling.workers and batch in scaling.per_worker_batches
        timing = Timing(
            arms=("with_loading", "without_loading"),
            repeats=scaling.repeats,
            min_steps=scaling.min_steps,
            warmup_steps=scaling.warmup_steps,
        )
        if weak and direct:
            timing = with_direct_arms(timing, workers, direct)
        spec = build_spec(
            config,
            TIMED,
            run=f"scaling-n{workers}-b{batch}",
            study="scaling",
            workers=workers,
            per_worker_batch=batch,
            protocol=TimedProtocol(timing=timing),
        )
        yield from launches(config, spec, scaling.launches)


PLANS = {"scaling": runs}
