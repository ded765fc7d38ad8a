"""Many small networks trained together: one forward and one backward pass for all of them.

Parameters and buffers carry a leading dimension, one entry a learner, and the network is mapped
over it (torch.func.vmap; by batched matrix products where it is linear layers in a row, whose
mapping would take longer than their arithmetic). A learner's loss depends on its own entries
alone, so the gradient of the sum of the losses holds each learner's own gradient; any elementwise
optimiser of torch then updates the learners as if each had one of its own.
"""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from dpscale.train.data import Batch, Task, map_tensors, samples_of
from dpscale.train.data.task import cross_entropies
from dpscale.train.models import Plain

IN_A_ROW = (nn.Flatten, nn.Linear, nn.ReLU)  # layers whose rows are known to `_in_a_row`


class Stack:
    """k networks of one architecture; `parameters` and `buffers` are of shape [k, ...] by name."""

    def __init__(
        self, networks: Sequence[nn.Module], device: torch.device, task: Task | None = None
    ) -> None:
        """`networks` are copied, each with its own initial values; task: None, labelled images."""
        self._template = deepcopy(networks[0]).to(device)
        self._losses = task.losses if task else cross_entropies
        parameters, buffers = stack_module_state([network.to(device) for network in networks])
        self.parameters: dict[str, Tensor] = {
            name: value.detach().clone().requires_grad_(value.requires_grad)
            for name, value in parameters.items()
        }
        self.buffers: dict[str, Tensor] = {
            name: value.detach().clone() for name, value in buffers.items()
        }
        self.learners = len(networks)
        self._row = _row(self._template)

    def outputs(self, inputs: Any, *, training: bool, shared: bool) -> Any:
        """Outputs [k, b, ...] of inputs [k, b, ...]; of [b, ...] where all share them.

        Both are tensors or nests of them. In training batch norm uses and updates each learner's
        own statistics.
        """
        if self._row is not None:
            return self._in_a_row(self._row, inputs, shared=shared)
        if self._template.training != training:  # it goes through all modules
            self._template.train(training)

        dims = (0, 0, None if shared else 0)
        mapped = vmap(self._of_one, in_dims=dims, randomness="different")
        return mapped(self.parameters, self.buffers, inputs)

    def _of_one(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Any) -> Any:
        """Outputs of one learner."""
        return functional_call(self._template, (parameters, buffers), (x,))

    def _in_a_row(
        self, layers: Sequence[tuple[str, nn.Module]], images: Tensor, *, shared: bool
    ) -> Tensor:
        """`outputs` of layers in a row, which are the same in training and evaluation.

        Activations are [k, features, b]: matrix products are fastest in that order.
        """
        x = (
            images.flatten(1).t().expand(self.learners, -1, -1)
            if shared
            else (images.flatten(2).transpose(1, 2))
        )
        for name, layer in layers:
            if isinstance(layer, nn.Linear):
                weight, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
                x = torch.baddbmm(bias.unsqueeze(2), weight, x)
            elif isinstance(layer, nn.ReLU):
                x = layer(x)
        return x.transpose(1, 2)

    def backward(self, inputs: Any, targets: Any, *, shared: bool = False) -> Tensor:
        """Losses [k] of a batch; leaves the gradients in `parameters`.

        inputs [k, b, ...] and targets [k, b, ...]; without the k where all learners share them.
        """
        for value in self.parameters.values():
            value.grad = None
        outputs = self.outputs(inputs, training=True, shared=shared)
        if shared:
            targets = map_tensors(lambda one: one.expand(self.learners, *one.shape), targets)
        losses = self._losses(outputs, targets)
        losses.sum().backward()
        return losses.detach()

    @torch.no_grad()
    def evaluated(self, inputs: Any, learners: Sequence[int]) -> Any:
        """Outputs [k, b, ...] of these learners in evaluation, of inputs that all share."""
        some = self if len(learners) == self.learners else self._only(learners)
        return some.outputs(inputs, training=False, shared=True)

    def keep(self, learners: Sequence[int]) -> None:
        """Goes on with these learners alone, in this order."""
        kept = self._only(learners)
        self.parameters = {
            name: value.requires_grad_(self.parameters[name].requires_grad)
            for name, value in kept.parameters.items()
        }
        self.buffers, self.learners = kept.buffers, kept.learners

    def _only(self, learners: Sequence[int]) -> "Stack":
        """A stack of copies of these learners, in this order, without gradients."""
        chosen = torch.tensor(learners, device=next(iter(self.parameters.values())).device)
        some = copy(self)
        some.parameters = {
            name: value.detach().index_select(0, chosen) for name, value in self.parameters.items()
        }
        some.buffers = {name: value.index_select(0, chosen) for name, value in self.buffers.items()}
        some.learners = len(learners)
        return some


def _row(network: nn.Module) -> list[tuple[str, nn.Module]] | None:
    """The layers of a network that is flattened pixels, linear layers and ReLU; None for others."""
    if not isinstance(network, Plain) or not isinstance(network.layers[0], nn.Flatten):
        return None
    layers = [(f"layers.{name}", layer) for name, layer in network.layers.named_children()]
    return layers if all(type(layer) in IN_A_ROW for _, layer in layers) else None


def dealt(batch: Batch, learners: int) -> Batch:
    """A batch of all learners, [k·b, ...], as [k, b, ...]: views of it.

    Learner i has every k-th sample from the i-th on, those that a sampler would deal to it.
    """
    each = samples_of(batch) // learners
    return cast(
        Batch, map_tensors(lambda one: one.unflatten(0, (each, learners)).transpose(0, 1), batch)
    )
