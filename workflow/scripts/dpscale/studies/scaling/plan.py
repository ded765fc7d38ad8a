"""Q2, Q3: timed runs of N workers, further ones, and runs that measure communication directly."""

from collections.abc import Iterator, Sequence
from typing import Any

from dpscale.config import Config
from dpscale.config.checks import may_have_buffers
from dpscale.plan.spec import (
    LINK,
    TIMED,
    Arm,
    LinkProtocol,
    Spec,
    TimedProtocol,
    Timing,
    build_spec,
    launches,
    with_direct_arms,
)
from dpscale.studies.scaling import LEAST, LOOKED, LOOKS, PLANNED
from dpscale.studies.scaling.config import (
    CommunicationConfig,
    LookedCell,
    LooksProtocol,
    ScalingConfig,
)

BY_LOOKS = "dpscale.studies.scaling.looks:BY_LOOKS"
LOADING_ARMS: tuple[Arm, ...] = ("with_loading", "without_loading")
# A worker alone, and DDP around it, are beside what Q2 and Q3 compare.
UNCOMPARED: tuple[Arm, ...] = ("solo", "ddp_of_one")
LINK_REPEATS = 5  # of each launch
LINK_BUDGET_S = 20.0


def cells(scaling: ScalingConfig) -> list[tuple[int, int]]:
    """The (workers, per-worker batch) cells of the weak and the strong table, each once."""
    weak = {(n, b) for n in scaling.workers for b in scaling.per_worker_batches}
    strong = {(n, b // n) for n, b in weak if b % n == 0} if scaling.strong else set()
    return sorted(weak | strong)


def least_batches(scaling: ScalingConfig) -> list[int]:
    """The least batch of strong scaling on each number of workers, that one worker lacks."""
    several = {workers for workers in scaling.workers if workers > 1}
    least = {min(b for n, b in cells(scaling) if n == workers) for workers in several}
    return sorted(least - set(scaling.per_worker_batches))


def scaling_runs(config: Config, scaling: ScalingConfig) -> Iterator[Spec]:
    """Q2 and Q3: each cell of `cells`, its arms interleaved in one run; then what looks add.

    One worker has the `least_batches` too.
    """
    direct = config.section("communication")
    plain = Timing(
        arms=LOADING_ARMS,
        repeats=scaling.repeats,
        min_steps=scaling.min_steps,
        warmup_steps=scaling.warmup_steps,
    )
    looked = []
    for workers, batch in cells(scaling):
        weak = workers in scaling.workers and batch in scaling.per_worker_batches
        timing = _split(config, plain, workers, direct) if weak and direct else plain
        spec = build_spec(
            config,
            TIMED,
            run=f"scaling-n{workers}-b{batch}",
            study=PLANNED,
            workers=workers,
            per_worker_batch=batch,
            protocol=TimedProtocol(timing=timing),
        )
        yield from launches(config, spec, scaling.launches)
        looked.append(_looked(spec))
    for least in least_batches(scaling):
        spec = build_spec(
            config,
            TIMED,
            run=f"scaling-n1-b{least}",
            study=LEAST,
            workers=1,
            per_worker_batch=least,
            protocol=TimedProtocol(timing=plain),
        )
        yield from launches(config, spec, scaling.launches)
    if config.repeat_minutes:
        yield _looks(config, scaling, looked)


def _split(config: Config, timing: Timing, workers: int, direct: CommunicationConfig) -> Timing:
    """The timing with the direct arms, and where there may be buffers with DDP that sends none."""
    split = with_direct_arms(timing, workers, direct)
    if workers == 1 or not may_have_buffers(config):
        return split
    return split.model_copy(update={"arms": (*split.arms, "no_broadcast")})


def _looked(spec: "Spec[TimedProtocol]") -> LookedCell:
    """A cell as it is launched again: with the arms that Q2 compares, or those of Q3 too."""
    timing = spec.protocol.timing.model_copy(update={"interval_frac": None})
    arms = tuple(arm for arm in timing.arms if arm not in UNCOMPARED)
    return LookedCell(
        workers=spec.workers,
        nodes=spec.nodes,
        per_worker_batch=spec.per_worker_batch or 1,
        timing=timing.model_copy(update={"arms": LOADING_ARMS, "direct_steps": None}),
        split_timing=timing.model_copy(update={"arms": arms}),
    )


def _looks(config: Config, scaling: ScalingConfig, looked: Sequence[LookedCell]) -> Spec:
    """The looks at what is open; as wide as the widest of what they may launch."""
    return build_spec(
        config,
        LOOKS,
        run="scaling-looks",
        study=LOOKED,
        workers=max(scaling.workers),
        per_worker_batch=min(scaling.per_worker_batches),
        completed_by=BY_LOOKS,
        protocol=LooksProtocol(
            cells=tuple(looked),
            first_launches=scaling.launches or config.launches,
            repeat_budget_s=60 * config.repeat_minutes,
        ),
    )


def communication_runs(config: Config, communication: CommunicationConfig) -> Iterator[Spec]:
    """The link alone for each number of workers, and compressed gradients at the fewest.

    The arms that split a step are in the timed runs of `scaling`: without them there is none.
    """
    scaling = config.section("scaling")
    counts = sorted(workers for workers in scaling.workers if workers > 1) if scaling else []
    for workers in counts:  # all-reduces of several sizes, and raw TCP
        link = build_spec(
            config,
            LINK,
            run=f"link-n{workers}",
            study="link",
            workers=workers,
            per_worker_batch=min(scaling.per_worker_batches),
            protocol=LinkProtocol(bytes=(), repeats=LINK_REPEATS, budget_s=LINK_BUDGET_S),
        )
        yield from launches(config, link, scaling.launches)
    if communication.hooks and counts:  # DDP with compressed gradients against DDP without
        spec = build_spec(
            config,
            TIMED,
            run=f"compression-n{counts[0]}",
            study="compression",
            workers=counts[0],
            per_worker_batch=min(scaling.per_worker_batches),
            protocol=TimedProtocol(
                timing=Timing(
                    arms=("without_loading", *communication.hooks),
                    repeats=communication.repeats,
                    min_steps=communication.steps,
                    warmup_steps=scaling.warmup_steps,
                    max_steps=communication.steps,
                    direct_steps=communication.steps,
                    interval_frac=communication.interval_frac,
                    budget_s=communication.budget_s,
                )
            ),
        )
        yield from launches(config, spec, scaling.launches)


def links(communication: CommunicationConfig) -> list[dict[str, Any]]:
    """The links that the configuration names: the machine's own, where its rate is known, first."""
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


PLANS = {"scaling": scaling_runs, "communication": communication_runs}
CONFIGURED = {"links": ("communication", links)}  # rows of tidy tables that no run measures
