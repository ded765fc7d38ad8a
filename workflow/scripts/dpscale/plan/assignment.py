"""H1 to H6: trainings on N workers by several rules, and timed runs that split their steps."""

import math
from collections.abc import Iterator

from dpscale.config.assignment import AssignmentConfig
from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig
from dpscale.config.studies import CommunicationConfig
from dpscale.plan.communication import with_direct_arms
from dpscale.plan.spec import Spec, Timing, build_spec, timing_only

STUDY = "assignment"
SPLIT_STUDY = "assignment_split"
LINEAR = "linear"
LARGER_BATCH = "larger_batch"  # one worker, to see its utilisation
WARMUP_STEPS = 10

Placement = tuple[int, int]  # workers, nodes


def placements(config: Config) -> list[Placement]:
    """The (workers, nodes) of the assignment: those of `workers`, then those on two nodes."""
    study, share = config.assignment, config.hardware.workers_per_node
    if study is None:
        return []
    one = [(workers, -(-workers // (share or workers))) for workers in sorted(study.workers)]
    two = [(workers, 2) for workers in sorted(study.two_node_workers)] if share else []
    return list(dict.fromkeys([*one, *two]))


def assignment(config: Config) -> Iterator[Spec]:
    """The trainings of every rule, those with larger batches, and the timed runs."""
    study = config.assignment
    if study is None:
        return
    found = placements(config)
    for placement in found:
        yield _training(config, study, LINEAR, placement)
    for nodes in (1, 2):
        most = max((one for one in found if one[1] == nodes), default=(1, 1))
        for rule in study.other_rules if most[0] > 1 else ():
            if rule != "fixed_batch" or study.per_worker_batch % most[0] == 0:
                yield _training(config, study, rule, most)
    for batch in study.larger_batches:
        yield _larger_batch(config, study, batch)
    for placement in found:
        yield _split(config, study, placement)


def rate_factor(rule: str, workers: int) -> float:
    """What a rule multiplies the rate of one worker by, for N workers."""
    return {LINEAR: float(workers), "sqrt": math.sqrt(workers)}.get(rule, 1.0)


def _of_study(config: Config, study: AssignmentConfig) -> tuple[Config, TrainingConfig]:
    """The configuration with the study's network, and its training of one worker."""
    model = config.model
    if study.model is not None:
        model = model.model_copy(update={"name": study.model, "zero_gamma": False})
    training = config.training.model_copy(
        update={
            "optimizer": study.optimizer,
            "lr": study.base_lr,
            "weight_decay": 0.0,
            "epochs": study.epochs,
        }
    )
    return config.model_copy(update={"model": model}), training


def _name(kind: str, placement: Placement) -> str:
    workers, nodes = placement
    return f"assignment-{kind}-n{workers}" + (f"-on{nodes}" if nodes > 1 else "")


def _training(config: Config, study: AssignmentConfig, rule: str, placement: Placement) -> Spec:
    workers, nodes = placement
    own, training = _of_study(config, study)
    share = workers if rule == "fixed_batch" else 1
    return build_spec(
        own,
        "training",
        run=_name(rule, placement),
        study=STUDY,
        arm=rule,
        workers=workers,
        nodes=nodes,
        per_worker_batch=study.per_worker_batch // share,
        seeds=study.seeds,
        training=training.model_copy(update={"lr": study.base_lr * rate_factor(rule, workers)}),
    )


def _larger_batch(config: Config, study: AssignmentConfig, batch: int) -> Spec:
    own, training = _of_study(config, study)
    lr = study.base_lr * batch / study.per_worker_batch
    return build_spec(
        own,
        "training",
        run=f"assignment-batch-b{batch}",
        study=STUDY,
        arm=LARGER_BATCH,
        workers=1,
        per_worker_batch=batch,
        training=training.model_copy(update={"lr": lr, "epochs": study.batch_epochs}),
    )


def _split(config: Config, study: AssignmentConfig, placement: Placement) -> Spec:
    workers, nodes = placement
    own, training = _of_study(config, study)
    timing = Timing(
        arms=("with_loading", "without_loading"),
        repeats=study.repeats,
        min_steps=study.steps,
        warmup_steps=WARMUP_STEPS,
    )
    if workers > 1:
        direct = CommunicationConfig(
            repeats=study.repeats,
            steps=study.steps,
            interval_frac=study.interval_frac,
            budget_s=study.budget_s,
        )
        timing = with_direct_arms(timing, direct, workers)
    return build_spec(
        own,
        "timed",
        run=_name("split", placement),
        study=SPLIT_STUDY,
        workers=workers,
        nodes=nodes,
        per_worker_batch=study.per_worker_batch,
        training=timing_only(training),
        timing=timing,
    )
