"""H1 to H6: trainings on N workers by several rules, and timed runs that split their steps.

What is compared by its time trains each seed in processes of its own: a launch, so that an interval
over seeds holds what differs between processes. Other rules are compared by accuracy alone.
"""

import math
from collections.abc import Iterator
from typing import Any

from dpscale.config.datasets import train_samples
from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig
from dpscale.plan.spec import (
    TIMED,
    TRAINING,
    Spec,
    TimedProtocol,
    Timing,
    TrainingProtocol,
    build_spec,
    launches,
    timing_only,
    with_direct_arms,
)
from dpscale.studies.assignment.config import ASSIGNED_BATCH, AssignmentConfig, Placement

STUDY = "assignment"
SPLIT_STUDY = "assignment_split"
DOUBLED_STUDY = "assignment_doubled"  # H4: the epoch of most workers with twice the batch
ASSIGNED_STUDY = "assignment_assigned"  # H3: the epochs with the assignment's own batch
LINEAR = "linear"
LARGER_BATCH = "larger_batch"  # one worker, to see its utilisation
MORE_LOADING = "more_loading"  # the same with further processes that load
DOUBLED_BATCH = "doubled_batch"  # H4: what the most workers learn with twice the batch
ASSIGNED_ARM = "assigned_batch"  # H3: what is learnt with the assignment's own batch
WARMUP_STEPS = 10


def runs(config: Config, study: AssignmentConfig) -> Iterator[Spec]:
    """The trainings of every rule, those with larger batches, and the timed runs."""
    found = study.placements(config)
    for placement in found:
        yield from _launched(config, _by_rule(config, study, LINEAR, placement))
    for most in study.widest(config):
        for rule in study.other_rules:
            yield _by_rule(config, study, rule, most)
    for batch in study.larger_batches:
        yield from _alone(config, study, f"assignment-batch-b{batch}", LARGER_BATCH, batch)
    if more := study.more_loading(config):
        batch, processes = more
        data = config.data.model_copy(update={"loader_workers": processes})
        ahead = config.model_copy(update={"data": data})
        yield from _alone(ahead, study, f"assignment-loading-b{batch}", MORE_LOADING, batch)
    for placement in found:
        yield from _split(config, study, placement)
    samples = train_samples(study.data(config))
    for placement in study.widest(config):
        doubled = 2 * study.per_worker_batch
        if samples is None or placement[0] * doubled <= samples:
            yield from _timed(config, study, placement, DOUBLED_STUDY, "doubled", doubled)
            yield _learnt(config, study, placement, DOUBLED_BATCH, "doubled-training", doubled)
    for placement in _with_assigned_batch(config, study, samples):
        batch = ASSIGNED_BATCH
        yield from _timed(config, study, placement, ASSIGNED_STUDY, "assigned", batch)
        yield _learnt(config, study, placement, ASSIGNED_ARM, "assigned-training", batch)


def _with_assigned_batch(
    config: Config, study: AssignmentConfig, samples: int | None
) -> Iterator[Placement]:
    """Yield those of one node that have the assignment's batch too, where b is another.

    None where the data fill it for one worker alone; not those whose doubled batch it is.
    """
    found = [
        (workers, nodes)
        for workers, nodes in study.placements(config)
        if nodes == 1 and (samples is None or workers * ASSIGNED_BATCH <= samples)
    ]
    if study.per_worker_batch == ASSIGNED_BATCH or len(found) < 2:
        return
    doubled = study.widest(config) if 2 * study.per_worker_batch == ASSIGNED_BATCH else []
    yield from (placement for placement in found if placement not in doubled)


def _alone(
    config: Config, study: AssignmentConfig, run: str, arm: str, batch: int
) -> Iterator[Spec]:
    """The launches of one worker with a batch, to see how it uses its device."""
    spec = _trained(
        config,
        study,
        run=run,
        arm=arm,
        workers=1,
        per_worker_batch=batch,
        seeds=study.seeds,
        epochs=study.batch_epochs,
        lr=study.base_lr * batch / study.per_worker_batch,
    )
    yield from _launched(config, spec)


def _launched(config: Config, spec: Spec) -> Iterator[Spec]:
    """The spec once a seed, each a launch; the start of the first one is timed too."""
    for seed, launch in zip(spec.seeds, launches(config, spec, len(spec.seeds)), strict=True):
        cold = launch is spec and spec.arm == LINEAR
        protocol = spec.protocol.model_copy(update={"cold_start": cold})
        yield launch.model_copy(update={"seeds": (seed,), "protocol": protocol})


def _name(kind: str, placement: Placement) -> str:
    workers, nodes = placement
    return f"assignment-{kind}-n{workers}" + (f"-on{nodes}" if nodes > 1 else "")


def _of_study(config: Config, study: AssignmentConfig) -> tuple[Config, TrainingConfig]:
    """The configuration with the study's network, and its training but for rate and epochs."""
    model = config.model
    if study.model is not None:
        model = model.model_copy(update={"name": study.model, "zero_gamma": False})
    own = {"optimizer": study.optimizer, "weight_decay": 0.0}
    return config.model_copy(update={"model": model}), config.training.model_copy(update=own)


def _trained(
    config: Config,
    study: AssignmentConfig,
    *,
    lr: float,
    epochs: int,
    timed: bool = True,
    **fields: Any,
) -> Spec:
    own, training = _of_study(config, study)
    training = training.model_copy(update={"lr": lr, "epochs": epochs})
    return build_spec(
        own,
        TRAINING,
        study=STUDY,
        protocol=TrainingProtocol(timed=timed),
        training=training,
        **fields,
    )


def _by_rule(config: Config, study: AssignmentConfig, rule: str, placement: Placement) -> Spec:
    workers, nodes = placement
    share = workers if rule == "fixed_batch" else 1
    factor = {LINEAR: float(workers), "sqrt": math.sqrt(workers)}.get(rule, 1.0)
    return _trained(
        config,
        study,
        run=_name(rule, placement),
        arm=rule,
        workers=workers,
        nodes=nodes,
        per_worker_batch=study.per_worker_batch // share,
        seeds=study.seeds,
        epochs=study.epochs,
        lr=study.base_lr * factor,
        timed=rule == LINEAR,
    )


def _learnt(
    config: Config, study: AssignmentConfig, placement: Placement, arm: str, kind: str, batch: int
) -> Spec:
    """The training with another batch, its rate in proportion to the global batch."""
    workers, nodes = placement
    return _trained(
        config,
        study,
        run=_name(kind, placement),
        arm=arm,
        workers=workers,
        nodes=nodes,
        per_worker_batch=batch,
        seeds=study.seeds,
        epochs=study.epochs,
        lr=study.base_lr * workers * batch / study.per_worker_batch,
        timed=False,
    )


def _split(config: Config, study: AssignmentConfig, placement: Placement) -> Iterator[Spec]:
    batch = study.per_worker_batch
    return _timed(config, study, placement, SPLIT_STUDY, "split", batch, direct=True)


def _timed(
    config: Config,
    study: AssignmentConfig,
    placement: Placement,
    name: str,
    kind: str,
    batch: int,
    *,
    direct: bool = False,
) -> Iterator[Spec]:
    """The launches of a timed epoch with loading; direct: with the arms that split it too."""
    workers, nodes = placement
    own, training = _of_study(config, study)
    timing = Timing(
        arms=("with_loading", "without_loading"),
        repeats=study.repeats,
        min_steps=study.steps,
        warmup_steps=WARMUP_STEPS,
    )
    if direct and workers > 1:
        timing = with_direct_arms(timing, workers, study)
    spec = build_spec(
        own,
        TIMED,
        run=_name(kind, placement),
        study=name,
        workers=workers,
        nodes=nodes,
        per_worker_batch=batch,
        training=timing_only(training),
        protocol=TimedProtocol(timing=timing),
    )
    # What H3's trainings lose is split over no fewer launches than they have.
    yield from launches(config, spec, max(config.launches, len(study.seeds)))


PLANS = {"assignment": runs}
