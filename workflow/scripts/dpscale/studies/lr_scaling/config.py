"""Section of the configuration that describes the study S2, and the protocol of one of its runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT
from dpscale.config.checks import has_residual_blocks, needs_validation
from dpscale.config.datasets import train_samples
from dpscale.config.root import Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    Batch,
    Batches,
    DecayEpochs,
    Devices,
    Epochs,
    EpochsFloat,
    PositiveFloat,
    PositiveInt,
    Rate,
    Rates,
    Seeds,
    Share,
    Text,
)
from dpscale.plan.spec import RunProtocol

Rule = Literal["linear", "sqrt", "fixed"]
Warmup = Literal["none", "constant", "gradual"]


class RateProtocol(RunProtocol):
    """How one run of S2 scales its rate; the rate itself is in the run's training section."""

    columns: ClassVar = (
        "role",
        "rule",
        "optimizer",
        "group_batch",
        "groups",
        "reference_groups",
        "base_lr",
        "margin_frac",
        "expected",
    )

    role: Literal["arm", "search"] = Field(
        description="arm: a result; search: a candidate, chosen or not on validation data."
    )
    rule: Rule = Field(description="Rule by which the rate follows the batch.")
    optimizer: Literal["sgd", "lars"] = Field(description="sgd, or lars around it.")
    trust_coefficient: PositiveFloat = Field(description="Trust coefficient of LARS.")
    group_batch: PositiveInt = Field(description="Samples n that batch norm sees together.")
    groups: PositiveInt = Field(description="Groups k of a global batch, on all workers.")
    reference_groups: PositiveInt = Field(description="Groups of the reference batch.")
    base_lr: PositiveFloat = Field(description="Rate of the reference batch.")
    margin_frac: PositiveFloat = Field(description="Difference of errors that counts as none.")
    expected: str = Field("", description="The outcome expected, stated before the run.")


class LrScalingConfig(StudySection):
    """S2: rules that scale the learning rate with the batch, and its warm-up."""

    of_accuracy: ClassVar[bool] = True
    built_in: ClassVar[str] = "groups the batch norm of built-in residual networks"

    workers: Devices = Field(
        1, description="Workers that share the groups of a batch, at most one a group."
    )
    group_batch: Batch = Field(
        16, description="Per-worker batch n that batch norm sees, kept while the batch grows."
    )
    reference_groups: Batch = Field(
        2, description="Groups k of the reference batch kn, whose error is to be kept."
    )
    groups: Batches = Field(
        (4, 8, 16, 32, 64),
        description="Groups k of the larger batches, and of smaller ones beside them, with gradual "
        "warm-up and zero gamma; without it those of these above the reference that the data fill.",
    )
    large_groups: Batch = Field(
        16,
        description="Groups of the batch at which rules and warm-ups are compared; without it at "
        "most the largest of `groups`.",
    )
    rules: Annotated[tuple[Rule, ...], DISTINCT] = Field(
        ("linear", "sqrt", "fixed"),
        description="Rules of the rate: linear with k, with its root, or fixed.",
    )
    warmups: Annotated[tuple[Warmup, ...], DISTINCT] = Field(
        ("none", "constant", "gradual"),
        description="Warm-ups compared at the large batch, with and without zero gamma.",
    )
    unit_gamma: bool = Field(
        True,
        description="Train with gains of one too, at the reference batch and with the linear rule "
        "at each larger one up to the large batch, where every rule has them.",
    )
    base_lr: Rate = Field(0.5, description="Rate of the reference batch.")
    candidate_lrs: Rates = Field(
        (), description="Other rates of the reference batch, compared on validation data."
    )
    candidate_seeds: Batch = Field(
        2,
        description="Seeds of each of those, the first of `seeds`; without it all where there is "
        "one.",
    )
    lars_groups: Batch | None = Field(
        64,
        description="Groups of the batch that LARS trains, where lars_lrs has a rate; without it "
        "the largest of `groups`; null: LARS is left out.",
    )
    lars_lrs: Rates = Field((), description="Rates of LARS, chosen on validation data.")
    trust_coefficient: Rate = Field(0.001, description="Trust coefficient of LARS.")
    epochs: Epochs = Field(20, description="Epochs of every training.")
    warmup_epochs: EpochsFloat = Field(
        5.0, description="Length of the warm-up, in epochs; without it a quarter of `epochs`."
    )
    decay_epochs: DecayEpochs = Field(
        (12, 17),
        description="Epochs at which the rate falls to a tenth; without it after 60% and 85% of "
        "them.",
    )
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    margin_frac: Share = Field(
        0.01, description="Difference of two errors that counts as none, as a fraction of 1."
    )
    expected: Text = Field("", description="The outcome expected, stated before the run.")

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return groups that the data fill, and lengths by that of the training."""
        most = (train_samples(config.data) or math.inf) // self.group_batch
        groups = tuple(one for one in self.groups if self.reference_groups < one <= most)
        largest = max(groups, default=self.large_groups)
        falls = (round(share * self.epochs) for share in (0.6, 0.85))
        return {
            "groups": groups,
            "large_groups": min(self.large_groups, largest),
            "lars_groups": largest,
            "candidate_seeds": min(self.candidate_seeds, len(self.seeds)),
            "warmup_epochs": self.epochs / 4,
            "decay_epochs": tuple(sorted({one for one in falls if 0 < one < self.epochs})),
        }

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what the study's SGD and LARS have no use for."""
        lars = {"fused": "is not fused", "nesterov": "has no Nesterov's form"}
        return [
            Unfollowed("optimizer", "adam", "scales the rates of SGD"),
            *(
                Unfollowed(setting, True, f"asks for LARS, which {why}", "lars_groups")
                for setting, why in lars.items()
                if self.lars_groups and self.lars_lrs
            ),
        ]

    def problems(self, config: Config) -> Iterator[Problem]:
        """A network without residual blocks, groups that do not fit, and rates without a use."""
        if not has_residual_blocks(config):
            yield "model.name", "has no residual blocks, which lr_scaling needs"
        yield from self._misfits(train_samples(config.data), config.data.dataset)
        if self.base_lr in self.candidate_lrs:
            yield "lr_scaling.candidate_lrs", "holds base_lr, which is trained anyway; leave it out"
        if self.candidate_seeds > len(self.seeds):
            words = f"there are {len(self.seeds)} in lr_scaling.seeds; use at most those"
            yield "lr_scaling.candidate_seeds", words
        if self.lars_lrs and self.lars_groups is None:
            yield "lr_scaling.lars_lrs", "lars_groups is null; give the groups, or leave both out"
        for key in ("candidate_lrs", "lars_lrs"):
            if len(getattr(self, key)) > (key == "lars_lrs"):
                yield from needs_validation(config, f"lr_scaling.{key}")

    def _misfits(self, samples: int | None, dataset: str) -> Iterator[Problem]:
        """Groups none of which is above the reference, beyond the data, or unevenly shared."""
        reference = self.reference_groups
        trained = {
            "reference_groups": (reference,),
            "groups": self.groups,
            "large_groups": (self.large_groups,),
        }
        if self.lars_groups and self.lars_lrs:
            trained["lars_groups"] = (self.lars_groups,)
        for field, groups in trained.items():
            key, most = f"lr_scaling.{field}", max(groups)
            if field != "reference_groups" and most <= reference:
                yield key, f"must be more than reference_groups = {reference}"
            elif field == "groups" and reference in groups:
                yield key, f"holds reference_groups = {reference}, which is trained anyway"
            if samples is not None and most * self.group_batch > samples:
                yield (
                    key,
                    f"{most} groups of {self.group_batch} are more than the {samples:,} training "
                    f"images of {dataset}; the largest valid is {samples // self.group_batch}",
                )
            odd = [k for k in groups if math.gcd(k, self.workers) < min(k, self.workers)]
            if odd:
                yield key, f"{odd[0]} groups do not spread evenly over {self.workers} workers"


SECTIONS = {
    "lr_scaling": (LrScalingConfig | None, Field(None, description=LrScalingConfig.__doc__))
}
