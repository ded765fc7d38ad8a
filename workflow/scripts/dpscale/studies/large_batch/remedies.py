"""Q4.2: the remedies. One more is a class, a line in REMEDIES, and its words in report/Q4.2.j2."""

from typing import TYPE_CHECKING, Any, ClassVar

from dpscale.config.checks import has_residual_blocks
from dpscale.config.root import Config

if TYPE_CHECKING:
    from dpscale.studies.large_batch.config import LargeBatchConfig

Fields = dict[str, Any]


class Remedy:
    """What is changed of a training with the large batch.

    label: in the figure; added_to: the remedy that it has besides, by name.
    """

    label: ClassVar[str]
    added_to: ClassVar[str | None] = None

    @staticmethod
    def possible(config: Config) -> bool:
        """Return whether the network can have it."""
        return True

    @staticmethod
    def changed(fields: Fields, study: "LargeBatchConfig") -> Fields:
        """Return what it changes of the fields of a spec (training, model, protocol)."""
        raise NotImplementedError


class LinearScaling(Remedy):
    """A rate that grows with the batch: Goyal et al. (2017, arXiv:1706.02677), section 2.1."""

    label = "linear scaling"

    @staticmethod
    def changed(fields: Fields, study: "LargeBatchConfig") -> Fields:
        """See Remedy."""
        reference = study.small_per_worker_batch * study.workers
        return {"protocol": fields["protocol"].model_copy(update={"lr_reference_batch": reference})}


class Warmup(Remedy):
    """A rate that begins with that of the small batch: Goyal et al. (2017), section 2.2."""

    label, added_to = "with warm-up", "linear_scaling"

    @staticmethod
    def changed(fields: Fields, study: "LargeBatchConfig") -> Fields:
        """See Remedy."""
        gradual = {"warmup": "gradual", "warmup_epochs": study.warmup_epochs}
        schedule = fields["training"].schedule.model_copy(update=gradual)
        return {"training": fields["training"].model_copy(update={"schedule": schedule})}


class ZeroGamma(Remedy):
    """Blocks that begin as the identity: Goyal et al. (2017), section 5.1."""

    label, added_to = "with warm-up and zero gamma", "warmup"
    possible = staticmethod(has_residual_blocks)

    @staticmethod
    def changed(fields: Fields, study: "LargeBatchConfig") -> Fields:
        """See Remedy."""
        return {"model": fields["model"].model_copy(update={"zero_gamma": True})}


class ZeroGammaAlone(ZeroGamma):
    """The same without warm-up: what of both together each of them does."""

    label, added_to = "with zero gamma", "linear_scaling"


class MoreEpochs(Remedy):
    """More updates: Hoffer et al. (2017, arXiv:1705.08741)."""

    label = "longer training"

    @staticmethod
    def changed(fields: Fields, study: "LargeBatchConfig") -> Fields:
        """See Remedy."""
        return {"training": fields["training"].model_copy(update={"epochs": study.more_epochs})}


REMEDIES: dict[str, type[Remedy]] = {
    "linear_scaling": LinearScaling,
    "warmup": Warmup,
    "zero_gamma": ZeroGamma,
    "zero_gamma_alone": ZeroGammaAlone,
    "more_epochs": MoreEpochs,
}
SCALED = "linear_scaling"
LONGER = "more_epochs"  # the one that costs more computation than the others
# No remedy: the small batch at the rate that linear scaling gives the large one.
CONTROL = "small_scaled_rate"
ADDED_TO = {name: one.added_to for name, one in REMEDIES.items() if one.added_to is not None}


def with_remedy(name: str, fields: Fields, study: "LargeBatchConfig") -> Fields:
    """Return the fields of a spec with a remedy, and with those that it is added to."""
    remedy = REMEDIES[name]
    if remedy.added_to is not None:
        fields = with_remedy(remedy.added_to, fields, study)
    return fields | remedy.changed(fields, study)
