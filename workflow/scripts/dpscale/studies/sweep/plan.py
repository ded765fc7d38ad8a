"""Q1: the runs of the batch sweep, one process a batch, and the search of the boundary in it."""

from collections.abc import Iterator

from dpscale.config.datasets import train_samples
from dpscale.config.root import Config
from dpscale.plan.spec import TIMED, Spec, TimedProtocol, Timing, build_spec, launches
from dpscale.studies.sweep import BOUNDARY
from dpscale.studies.sweep.config import BoundaryProtocol, SweepConfig

BY_SEARCH = "dpscale.studies.sweep.boundary:BY_SEARCH"


def runs(config: Config, sweep: SweepConfig) -> Iterator[Spec]:
    """The batches of the sweep, ascending, up to one beyond the dataset, and the search."""
    resident = {"loader": "resident", "augment": False, "loader_workers": 0}
    data = config.data.model_copy(update={"repeats": sweep.data_repeats, **resident})
    timing = Timing(arms=("without_loading",), repeats=sweep.repeats, min_steps=1, warmup_steps=1)
    timed = TimedProtocol(timing=timing, memory_budget_bytes=sweep.memory_budget)
    batch, samples = sweep.first_batch, sweep_samples(config, sweep)
    # One batch beyond the dataset is planned too: its record says `exceeds_dataset`.
    while True:
        spec = build_spec(
            config,
            TIMED,
            run=f"sweep-b{batch}",
            study="sweep",
            workers=1,
            per_worker_batch=batch,
            data=data,
            protocol=timed,
        )
        if batch > samples:
            yield spec
            break
        yield from launches(config, spec, sweep.launches)
        batch *= sweep.factor
    yield build_spec(
        config,
        BOUNDARY,
        run="boundary",
        study="boundary",
        workers=1,
        per_worker_batch=None,
        data=data,
        completed_by=BY_SEARCH,
        protocol=BoundaryProtocol(
            resolution_frac=sweep.resolution_frac,
            confirmations=sweep.confirmations,
            memory_budget_bytes=sweep.memory_budget,
        ),
    )


def sweep_samples(config: Config, sweep: SweepConfig) -> int:
    """Training images that the sweep offers; where that is unknown, 2^16 or the first batch."""
    samples = train_samples(config.data) or max(2**16, sweep.first_batch)
    return samples * sweep.data_repeats


PLANS = {"sweep": runs}
