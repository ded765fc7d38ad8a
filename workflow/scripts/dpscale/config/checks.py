"""Combinations of settings that cannot work, found before the graph is built."""

from collections.abc import Iterator
from pathlib import Path

from dpscale.config.assignment_checks import assignment_findings
from dpscale.config.datasets import train_samples
from dpscale.config.finding import Finding
from dpscale.config.root import Config
from dpscale.config.study_checks import study_findings
from dpscale.config.training_checks import training_findings

STUDIES_OF_ACCURACY = (
    "large_batch", "replicas", "assignment", "steps_to_goal", "lr_scaling", "local_sgd",
)  # fmt: skip
RESIDUAL_MODELS = ("resnet18_cifar", "resnet18", "resnet20", "resnet_8x8")


def impossible_combinations(config: Config) -> Iterator[Finding]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    yield from _data(config)
    yield from _model(config)
    yield from training_findings(config)
    yield from _devices(config)
    yield from _nodes(config)
    yield from _training_on_synthetic(config)
    yield from _batches(config)
    yield from _tables(config)
    yield from assignment_findings(config)
    yield from study_findings(config)


def _data(config: Config) -> Iterator[Finding]:
    data = config.data
    needed = {
        "synthetic": ("image_size", "channels", "classes", "samples"),
        "image_folder": ("image_size",),
    }
    for field in needed.get(data.dataset, ()):
        if getattr(data, field) is None:
            yield f"data.{field}", f"missing; data.dataset = {data.dataset!r} needs it"
    if data.repeats > 1:
        yield (
            "data.repeats",
            "repeated images are for timing only; set sweep.data_repeats instead",
        )


def _model(config: Config) -> Iterator[Finding]:
    hardware = config.hardware
    if config.model.zero_gamma and config.model.name not in RESIDUAL_MODELS:
        yield "model.zero_gamma", f"{config.model.name} has no residual block; set it to false"
    if hardware.backend == "nccl" and hardware.device == "cpu":
        yield "hardware.backend", "nccl needs hardware.device: cuda; the nearest valid is gloo"
    if config.training.precision == "tf32" and hardware.device == "cpu":
        yield "training.precision", "tf32 exists on CUDA alone; the nearest valid is fp32"
    if config.sweep and config.sweep.memory_budget and hardware.device == "cuda":
        yield "sweep.memory_budget", "is a limit for the cpu; set it to null on cuda"
    if config.lr_scaling and config.model.name not in RESIDUAL_MODELS:
        yield "model.name", f"{config.model.name} has no residual blocks for lr_scaling"
    remedies = config.large_batch.remedies if config.large_batch else ()
    if "zero_gamma" in remedies and config.model.name not in RESIDUAL_MODELS:
        yield (
            "large_batch.remedies",
            f"zero_gamma needs residual blocks and {config.model.name} has none; leave it out",
        )


def _devices(config: Config) -> Iterator[Finding]:
    hardware = config.hardware
    if hardware.allow_oversubscription and hardware.backend == "nccl":
        yield (
            "hardware.allow_oversubscription",
            "nccl takes one worker a GPU; set it to false, or hardware.backend to gloo",
        )
    devices = hardware.devices
    if devices is None or config.hardware.allow_oversubscription:
        return
    for key, workers in _worker_counts(config):
        if workers > devices:
            yield (
                key,
                f"{workers} workers where hardware.devices offers {devices}; use at most "
                f"{devices}, or set hardware.allow_oversubscription: true",
            )


def _nodes(config: Config) -> Iterator[Finding]:
    share = config.hardware.workers_per_node
    for key, workers in _worker_counts(config):
        if share and workers > share and workers % share:
            yield (
                key,
                f"{workers} workers do not fill nodes of hardware.workers_per_node = {share}; "
                f"the nearest valid is {workers // share * share}",
            )


def _worker_counts(config: Config) -> Iterator[tuple[str, int]]:
    for workers in config.scaling.workers if config.scaling else ():
        yield "scaling.workers", workers
    if config.large_batch:
        yield "large_batch.workers", config.large_batch.workers
    if config.replicas:
        yield "replicas.workers", config.replicas.workers
    if config.model_averaging:
        yield "model_averaging.workers", config.model_averaging.workers
    if config.local_sgd:
        yield "local_sgd.processes", config.local_sgd.processes
    for workers in config.ledger.workers if config.ledger else ():
        yield "ledger.workers", workers
    for workers in config.assignment.workers if config.assignment else ():
        yield "assignment.workers", workers
    if config.lr_scaling:
        yield "lr_scaling.workers", config.lr_scaling.workers


def _training_on_synthetic(config: Config) -> Iterator[Finding]:
    if config.data.dataset != "synthetic":
        return
    for key in STUDIES_OF_ACCURACY:
        if getattr(config, key) is not None:
            yield (
                key,
                "asks for accuracy, which synthetic data cannot give; set it to null, "
                "or data.dataset to a real one, for example digits",
            )


def _batches(config: Config) -> Iterator[Finding]:
    if config.scaling and 1 not in config.scaling.workers:
        yield "scaling.workers", "leaves out 1, the base of every speed-up; add it"
    large = config.large_batch
    if large and large.large_per_worker_batch is None and config.sweep is None:
        yield (
            "large_batch.large_per_worker_batch",
            "null asks for the largest batch that Q1 finds, and sweep is null; give a number",
        )
    samples = train_samples(config.data)
    if samples is None:
        return
    for key, workers, batch in _planned_batches(config):
        if workers * batch > samples:
            yield (
                key,
                f"{workers} workers of {batch} need {workers * batch:,} samples in a step, more "
                f"than the {samples:,} training images of {config.data.dataset}; "
                f"the largest valid is {samples // workers}",
            )
    if large and samples // (large.workers * large.min_updates_per_epoch) < 1:
        yield (
            "large_batch.min_updates_per_epoch",
            f"leaves no image a worker; the largest valid is {samples // large.workers}",
        )


def _tables(config: Config) -> Iterator[Finding]:
    for index, table in enumerate(config.audit.tables if config.audit else ()):
        if not Path(table.path).is_file():
            yield f"audit.tables.{index}", f"there is no file {table.path}; mend or leave it out"


def _planned_batches(config: Config) -> Iterator[tuple[str, int, int]]:
    if config.sweep:
        repeats = config.sweep.data_repeats
        # Only the first batch must fit: the sweep itself stops at the dataset.
        yield "sweep.first_batch", 1, -(-config.sweep.first_batch // repeats)
    if config.scaling:
        for batch in config.scaling.per_worker_batches:
            yield "scaling.per_worker_batches", max(config.scaling.workers), batch
    if large := config.large_batch:
        yield "large_batch.small_per_worker_batch", large.workers, large.small_per_worker_batch
        if large.large_per_worker_batch:
            yield "large_batch.large_per_worker_batch", large.workers, large.large_per_worker_batch
    if averaging := config.model_averaging:
        key = "model_averaging.per_learner_batch"
        yield key, averaging.learners, averaging.per_learner_batch
    if config.replicas:
        yield (
            "replicas.per_worker_batch",
            config.replicas.workers,
            config.replicas.per_worker_batch,
        )
    if config.ledger:
        yield "ledger.per_worker_batch", max(config.ledger.workers), config.ledger.per_worker_batch
    if study := config.assignment:
        two_nodes = study.two_node_workers if config.hardware.workers_per_node else ()
        most = max([*study.workers, *two_nodes])
        yield "assignment.per_worker_batch", most, study.per_worker_batch
        for batch in study.larger_batches:
            yield "assignment.larger_batches", 1, batch
    if rates := config.lr_scaling:
        fixed = (rates.reference_groups, rates.large_groups, rates.lars_groups or 1)
        yield "lr_scaling.groups", max(*rates.groups, *fixed), rates.group_batch
