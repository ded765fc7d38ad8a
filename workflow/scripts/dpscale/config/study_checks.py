"""What the studies of large batches cannot be combined with, found before the graph is built."""

import math
from collections.abc import Iterator

from dpscale.config.datasets import train_samples
from dpscale.config.finding import Finding
from dpscale.config.root import Config


def study_findings(config: Config) -> Iterator[Finding]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    yield from _searches(config)
    yield from _rate_scaling(config)
    yield from _model_averaging(config)
    yield from _local_sgd(config)


def _searches(config: Config) -> Iterator[Finding]:
    study = config.steps_to_goal
    if study is None:
        return
    if len({model.name for model in study.models}) < len(study.models):
        yield "steps_to_goal.models", "names a network twice; give each all its optimisers at once"
    if set(study.seeds) & set(study.selection_seeds):
        yield "steps_to_goal.seeds", "shares seeds with selection_seeds; a winner needs others"
    if study.validation_frac == 0:
        yield "steps_to_goal.validation_frac", "leaves nothing to choose by; the default is 0.2"
    samples = train_samples(
        config.data.model_copy(update={"validation_frac": study.validation_frac})
    )
    sizes = [(study.batch_sizes, "steps_to_goal.batch_sizes")]
    sizes += [
        (model.batch_sizes, f"steps_to_goal.models.{index}.batch_sizes")
        for index, model in enumerate(study.models)
        if model.batch_sizes
    ]
    for batches, key in sizes:
        if samples is not None and max(batches) > samples:
            yield (
                key,
                f"{max(batches)} is more than the {samples:,} training images of "
                f"{config.data.dataset} without those for validation; the largest power of two "
                f"is {1 << (samples.bit_length() - 1)}",
            )


def _rate_scaling(config: Config) -> Iterator[Finding]:
    study = config.lr_scaling
    if study and study.reference_groups in study.groups:
        yield "lr_scaling.groups", "holds reference_groups, which is trained anyway; leave it out"
    if study and study.large_groups == study.reference_groups:
        yield "lr_scaling.large_groups", "is the reference batch itself; give a larger one"


def _model_averaging(config: Config) -> Iterator[Finding]:
    study = config.model_averaging
    if study is None:
        return
    if config.data.dataset == "synthetic":
        yield (
            "model_averaging",
            "asks for accuracy, which synthetic data cannot give; set it to null",
        )
    for key, count in (
        ("learners", study.learners),
        ("per_learner_batch", study.per_learner_batch),
    ):
        if count % study.workers:
            yield (
                f"model_averaging.{key}",
                f"{count} cannot be dealt out to {study.workers} workers; the nearest valid is "
                f"{max(count // study.workers, 1) * study.workers}",
            )


def _local_sgd(config: Config) -> Iterator[Finding]:
    study, samples = config.local_sgd, train_samples(config.data)
    if study is None:
        return
    if study.decay_epochs[-1] >= study.epochs:
        yield (
            "local_sgd.decay_epochs",
            f"{study.decay_epochs[-1]} is not before the end; the latest valid is "
            f"{study.epochs - 1} of local_sgd.epochs = {study.epochs}",
        )
    if study.workers % study.processes:
        yield (
            "local_sgd.processes",
            f"{study.workers} learners do not spread evenly over {study.processes} processes; "
            f"the nearest valid is {math.gcd(study.workers, study.processes)}",
        )
    if config.data.validation_frac == 0 and len(study.rate_factors) > 1:
        yield "local_sgd.rate_factors", "needs validation data to choose; set data.validation_frac"
    huge = study.workers * study.per_worker_batch * study.huge_factor
    if samples is not None and huge > samples:
        most = samples // (study.workers * study.huge_factor)
        yield (
            "local_sgd.per_worker_batch",
            f"a huge batch of {huge:,} exceeds the {samples:,} training images of "
            f"{config.data.dataset}; the largest valid is {most}",
        )
