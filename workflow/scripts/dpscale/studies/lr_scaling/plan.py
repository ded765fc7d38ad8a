"""S2: rules that scale the learning rate with the batch, and its warm-up."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from dpscale.config.root import Config
from dpscale.config.sections import ScheduleConfig
from dpscale.plan.spec import Spec, build_spec
from dpscale.studies.lr_scaling import SCALED
from dpscale.studies.lr_scaling.config import LrScalingConfig, RateProtocol, Rule, Warmup

STUDY = "lr_scaling"


class Arm(NamedTuple):
    """One way to train with k groups; `lr` where it does not follow from the rule."""

    groups: int
    rule: Rule = "linear"
    warmup: Warmup = "gradual"
    zero_gamma: bool = True
    optimizer: Literal["sgd", "lars"] = "sgd"
    lr: float | None = None


def runs(config: Config, study: LrScalingConfig) -> Iterator[Spec]:
    """The runs of the study: the reference, larger batches, rules, warm-ups, LARS, candidates."""
    for arm in dict.fromkeys(arms(study)):
        yield _spec(config, study, arm)


def arms(study: LrScalingConfig) -> Iterator[Arm]:
    """The arms in the order of the report; some come twice."""
    reference, large = study.reference_groups, study.large_groups
    yield Arm(reference, warmup="none")
    if study.unit_gamma:
        yield Arm(reference, warmup="none", zero_gamma=False)
    for groups in study.groups:
        yield Arm(groups)
    for zero_gamma in (True, False) if study.unit_gamma else (True,):
        for warmup in study.warmups:
            yield Arm(large, warmup=warmup, zero_gamma=zero_gamma)
    smaller = [groups for groups in study.groups if groups < large]
    if study.unit_gamma:
        # Whether the rule keeps the error without zero gains too.
        for groups in smaller:
            if groups > reference:
                yield Arm(groups, zero_gamma=False)
        # Whether another rule is better at the large batch without zero gains too.
        for rule in study.rules:
            yield Arm(large, rule=rule, zero_gamma=False)
    if smaller and "fixed" in study.rules:
        # Whether scaling is needed where the linear rule may keep the error still.
        yield Arm(max(smaller), rule="fixed")
    for rule in study.rules:
        yield Arm(large, rule=rule)
        yield Arm(max(study.groups), rule=rule)
    for lr in study.candidate_lrs:
        yield Arm(reference, warmup="none", lr=lr)
    for lr in study.lars_lrs if study.lars_groups else ():
        yield Arm(study.lars_groups or large, rule="fixed", optimizer="lars", lr=lr)


def scaled_rate(base_lr: float, rule: Rule, multiple: float) -> float:
    """The rate of a batch `multiple` times the reference batch.

    linear: Goyal et al. (2017), section 2.1; sqrt: Krizhevsky (2014, arXiv:1404.5997), section 5.
    """
    return base_lr * {"linear": multiple, "sqrt": math.sqrt(multiple), "fixed": 1.0}[rule]


def _spec(config: Config, study: LrScalingConfig, arm: Arm) -> Spec:
    workers = math.gcd(arm.groups, study.workers)
    candidate = arm.lr is not None and arm.optimizer == "sgd"
    lr = arm.lr or scaled_rate(study.base_lr, arm.rule, arm.groups / study.reference_groups)
    schedule = ScheduleConfig(
        warmup=arm.warmup,
        warmup_epochs=study.warmup_epochs,
        warmup_start_factor=min(1.0, study.base_lr / lr),  # it starts at the reference's rate
        decay="step" if study.decay_epochs else "none",
        decay_epochs=study.decay_epochs,
    )
    changed = {"lr": lr, "epochs": study.epochs, "schedule": schedule, "optimizer": "sgd"}
    protocol = RateProtocol(
        role="search" if arm.lr else "arm",
        rule=arm.rule,
        optimizer=arm.optimizer,
        groups=arm.groups,
        **study.model_dump(include=set(RateProtocol.model_fields) - {"groups"}),
    )
    return build_spec(
        config,
        SCALED,
        study=STUDY,
        arm=arm_name(arm),
        workers=workers,
        run=f"{STUDY}-{arm_name(arm)}-kn{arm.groups * study.group_batch}",
        per_worker_batch=arm.groups // workers * study.group_batch,
        seeds=study.seeds[: study.candidate_seeds] if candidate else study.seeds,
        training=config.training.model_copy(update=changed),
        model=config.model.model_copy(update={"zero_gamma": arm.zero_gamma}),
        protocol=protocol,
    )


def arm_name(arm: Arm) -> str:
    """A readable name of an arm's way, without its batch; never parsed."""
    gamma = "zero_gamma" if arm.zero_gamma else "unit_gamma"
    way = arm.rule if arm.optimizer == "sgd" else arm.optimizer
    rate = f"-lr{arm.lr:.12g}" if arm.lr else ""
    return f"{way}-{arm.warmup}-{gamma}{rate}"


PLANS = {STUDY: runs}
