"""Section of the configuration that describes the study S2, and the protocol of one of its runs."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from dpscale.config.checks import has_residual_blocks
from dpscale.config.root import Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import Counts, PositiveFloat, PositiveInt, Section, Seeds, distinct

Rule = Literal["linear", "sqrt", "fixed"]
Warmup = Literal["none", "constant", "gradual"]
Rates = Annotated[tuple[PositiveFloat, ...], AfterValidator(distinct)]


class RateProtocol(Section):
    """How one run of S2 scales its rate; the rate itself is in the run's training section."""

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

    workers: PositiveInt = Field(
        1, description="Workers that share the groups of a batch, at most one a group."
    )
    group_batch: PositiveInt = Field(
        16, description="Per-worker batch n that batch norm sees, kept while the batch grows."
    )
    reference_groups: PositiveInt = Field(
        2, description="Groups k of the reference batch kn, whose error is to be kept."
    )
    groups: Counts = Field(
        (4, 8, 16, 32, 64),
        description="Groups k of the larger batches, with gradual warm-up and zero gamma.",
    )
    large_groups: PositiveInt = Field(
        16, description="Groups of the batch at which rules and warm-ups are compared."
    )
    rules: tuple[Rule, ...] = Field(
        ("linear", "sqrt", "fixed"),
        description="Rules of the rate: linear with k, with its root, or fixed.",
    )
    warmups: tuple[Warmup, ...] = Field(
        ("none", "constant", "gradual"),
        description="Warm-ups compared at the large batch, with and without zero gamma.",
    )
    unit_gamma: bool = Field(
        True, description="Train with gains of one too, at the reference and the large batch."
    )
    base_lr: PositiveFloat = Field(0.5, description="Rate of the reference batch.")
    candidate_lrs: Rates = Field(
        (), description="Other rates of the reference batch, compared on validation data."
    )
    candidate_seeds: PositiveInt = Field(
        2, description="Seeds of each of those, the first of `seeds`."
    )
    lars_groups: PositiveInt | None = Field(
        64, description="Groups of the batch that LARS trains; null: LARS is left out."
    )
    lars_lrs: Rates = Field((), description="Rates of LARS, chosen on validation data.")
    trust_coefficient: PositiveFloat = Field(0.001, description="Trust coefficient of LARS.")
    epochs: PositiveInt = Field(20, description="Epochs of every training.")
    warmup_epochs: Annotated[float, Field(ge=0)] = Field(
        5.0, description="Length of the warm-up, in epochs."
    )
    decay_epochs: tuple[PositiveInt, ...] = Field(
        (12, 17), description="Epochs at which the rate falls to a tenth."
    )
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    margin_frac: PositiveFloat = Field(
        0.01, description="Difference of two errors that counts as none, as a fraction of 1."
    )
    expected: str = Field("", description="The outcome expected, stated before the run.")

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the number of workers."""
        yield "workers", self.workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the most groups."""
        fixed = (self.reference_groups, self.large_groups, self.lars_groups or 1)
        yield "groups", max(*self.groups, *fixed), self.group_batch

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what the study's SGD and LARS have no use for."""
        lars = {"fused": "is not fused", "nesterov": "has no Nesterov's form"}
        return [
            Unfollowed("optimizer", "adam", "scales the rates of SGD"),
            *(Unfollowed(setting, True, f"asks for LARS, which {why}", "lars_groups")
              for setting, why in lars.items() if self.lars_groups and self.lars_lrs),
        ]  # fmt: skip

    def problems(self, config: Config) -> Iterator[Problem]:
        """A network without residual blocks, and batches that are the reference's."""
        if not has_residual_blocks(config):
            yield "model.name", f"{config.model.name} has no residual blocks for lr_scaling"
        if self.reference_groups in self.groups:
            yield (
                "lr_scaling.groups",
                "holds reference_groups, which is trained anyway; leave it out",
            )
        if self.large_groups == self.reference_groups:
            yield "lr_scaling.large_groups", "is the reference batch itself; give a larger one"


SECTIONS = {
    "lr_scaling": (LrScalingConfig | None, Field(None, description=LrScalingConfig.__doc__)),
}
