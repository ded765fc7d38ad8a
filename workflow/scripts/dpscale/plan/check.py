"""The check of the machine: the widest run of the plan, with next to nothing to do."""

from collections.abc import Mapping

from dpscale.config.root import Config
from dpscale.config.sections import DataConfig, ModelConfig
from dpscale.plan.spec import LINK, LinkProtocol, Spec, build_spec

RUN = "check"
MESSAGE_BYTES = 25 * 2**20  # as much as DDP sends in one bucket


def check_spec(config: Config, plan: Mapping[str, Spec]) -> Spec:
    """Return a link run of the workers of the widest planned run, which needs no dataset.

    It has the configuration's hardware, training and network, on images of CIFAR-10's shape where
    the configuration names none, and the folder of the data.
    """
    widest = max(plan.values(), key=lambda spec: (spec.nodes, spec.workers))
    data = DataConfig(
        dataset="synthetic",
        root=config.data.root,
        loader="resident",
        samples=1,
        image_size=config.data.image_size or 32,
        channels=config.data.channels or 3,
        classes=config.data.classes or 10,
    )
    return build_spec(
        config,
        LINK,
        run=RUN,
        study=RUN,
        workers=widest.workers,
        nodes=widest.nodes,
        per_worker_batch=1,
        data=data,
        protocol=LinkProtocol(bytes=(MESSAGE_BYTES,), repeats=5, budget_s=5.0),
    )


def exchange_of(check: Spec) -> Spec:
    """Return the check's exchange of messages alone, which trains nothing of the user's."""
    return check.model_copy(update={"own": None, "model": ModelConfig(name="softmax")})


def needs_check(spec: Spec) -> bool:
    """Return whether there is something to check.

    GPUs, nodes that have to meet, or a step that not every processor can make.
    """
    asked = spec.training.compile or spec.training.precision != "fp32"
    return asked or spec.hardware.device == "cuda" or spec.nodes > 1
