"""A run's network: the spec's model in the shape that its dataset asks for."""

import torch
from torch import nn

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.models import build_model


def seeded_network(spec: Spec, dataset: Dataset, seed: int) -> nn.Module:
    """The network on the CPU, with initial values that depend on the seed alone.

    Seeds torch's global generator.
    """
    torch.manual_seed(seed)
    return _network(spec, dataset)


def network_on_paper(spec: Spec, dataset: Dataset) -> nn.Module:
    """The network without memory for its values: shapes and sizes (torch's meta device)."""
    with torch.device("meta"):
        return _network(spec, dataset)


def _network(spec: Spec, dataset: Dataset) -> nn.Module:
    channels, height, _ = dataset.image_shape
    return build_model(
        spec.model.name, in_channels=channels, classes=dataset.classes, image_size=height,
        zero_gamma=spec.model.zero_gamma,
    )  # fmt: skip


def payload_bytes(network: nn.Module) -> int:
    """Bytes of a network's gradient."""
    return sum(p.nelement() * p.element_size() for p in network.parameters() if p.requires_grad)
