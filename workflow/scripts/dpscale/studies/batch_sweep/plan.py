"""Q1: the runs of the batch sweep, one process a batch."""

from collections.abc import Iterator

from dpscale.config.datasets import train_samples
from dpscale.config.root import Config
from dpscale.plan.spec import TIMED, Spec, Timing, build_spec, launches
from dpscale.studies.batch_sweep.config import SweepConfig


def sweep_probe(config: Config, batch: int, *, run: str, study: str) -> Spec:
    """The spec of one batch of the sweep, timed in a process of its own."""
    sweep: SweepConfig = config.section("sweep")
    data = config.data.model_copy(
        update={
            "repeats": sweep.data_repeats,
            "loader": "resident",
            "augment": False,
            "loader_workers": 0,
        }
    )
    if study == "sweep":
        timing = Timing(
            arms=("without_loading",),
            repeats=sweep.repeats,
            min_steps=1,
            warmup_steps=1,
        )
    else:  # whether the batch fits shows in the second step, when gradients and momentum exist
        timing = Timing(
            arms=("without_loading",),
            repeats=1,
            min_steps=2,
            max_steps=2,
            warmup_steps=2,
        )
    return build_spec(
        config,
        TIMED,
        run=run,
        study=study,
        workers=1,
        per_worker_batch=batch,
        data=data,
        timing=timing,
        memory_budget_bytes=sweep.memory_budget,
    )


def runs(config: Config, sweep: SweepConfig) -> Iterator[Spec]:
    """The batches of the sweep, ascending, up to one beyond the dataset."""
    batch = sweep.first_batch
    samples = sweep_samples(config, sweep)
    # One batch beyond the dataset is planned too: its record says `exceeds_dataset`.
    while True:
        probe = sweep_probe(config, batch, run=f"sweep-b{batch}", study="sweep")
        if batch > samples:
            yield probe
            return
        yield from launches(config, probe)
        batch *= sweep.factor


def sweep_samples(config: Config, sweep: SweepConfig) -> int:
    """Training images that the sweep offers; where that is unknown, 2^16 or the first batch."""
    samples = train_samples(config.data) or max(2**16, sweep.first_batch)
    return samples * sweep.data_repeats


PLANS = {"sweep": runs}
