"""A user's own training: a Python file that says what is trained.

model(...) and dataset(split, ...) are its own; loss(outputs, targets), correct(outputs, targets)
and optimizer(parameters, lr) may be; SAMPLE is the word for a sample. A function gets those of the
configuration's `own.arguments` that it names.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.optim import SGD, Optimizer
from torch.utils._pytree import tree_leaves
from torch.utils.data import ConcatDataset, DataLoader, Subset

from dpscale.config.own import source_digest, sources
from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import OwnFile
from dpscale.train.data.dataset import DatasetError
from dpscale.train.data.task import Batch, Counted, Task

REQUIRED: dict[str, tuple[str, ...]] = {"model": (), "dataset": ("split",)}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "loss": ("outputs", "targets"),
    "correct": ("outputs", "targets"),
    "optimizer": ("parameters", "lr"),
}
VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
SPLITS = ("train", "validation", "test")
MODULE = "dpscale_own_training"  # under this name other processes find the file's classes
TRIED = 2  # samples that the check trains on
ANY_LR = 1e-3  # of an optimiser that is made and makes no step


class OwnTrainingError(DatasetError):
    """A file that is no training; the message names file and function, and what is wrong."""


class OwnTask(Task):
    """What a user's file trains; raises OwnTrainingError where it is no training."""

    evaluation_batch = None  # nobody knows how many more than a batch fit in memory
    paper = "cpu"  # it may compute with the values that it begins with

    def __init__(self, own: OwnFile, *, repeats: int = 1) -> None:
        self._own, self._file = own, Path(own.file)
        self._module = _imported(self._file, own.digest)
        self._functions = self._known_functions()
        self.name = self._file.name
        self.sample = self._sample()
        self.train = self._split("train", repeats)
        self.validation, self.test = (self._split(name, 1) for name in SPLITS[1:])
        self._classifies = not self._functions.keys() & {"loss", "correct"} and self._has_labels()
        self.counts_correct = self._classifies or "correct" in self._functions

    def network(self, model: ModelConfig | None = None) -> nn.Module:
        """What the file's `model` returns."""
        with self.about("model"):
            made = self._functions["model"]()
            _require(isinstance(made, nn.Module), f"returned {_kind(made)}, not a torch.nn.Module")
        return cast(nn.Module, made)

    def loss(self, outputs: Any, targets: Any) -> Tensor:
        """What the file's `loss` returns; cross-entropy without one."""
        own = self._functions.get("loss", super().loss)
        return cast(Tensor, own(outputs, targets))

    def losses(self, outputs: Any, targets: Any) -> Tensor:
        """`loss` of each of k networks."""
        return cast(Tensor, vmap(self.loss, randomness="different")(outputs, targets))

    def correct(self, outputs: Any, targets: Any) -> Counted:
        """What the file's `correct` returns; without it and `loss` right is the largest logit."""
        own = self._functions.get("correct", super().correct)
        return cast(Counted, own(outputs, targets))

    def right(self, outputs: Any, targets: Any) -> Tensor | None:
        """None where the file's `correct` counts the answers of a batch as it likes."""
        return super().right(outputs, targets) if self._classifies else None

    def optimizer(self, parameters: list[nn.Parameter], lr: float) -> Optimizer | None:
        """What the file's `optimizer` returns; None without one."""
        if not self.has_optimizer:
            return None
        with self.about("optimizer"):
            made = self._functions["optimizer"](parameters, lr)
            _require(
                isinstance(made, Optimizer), f"returned {_kind(made)}, not a torch.optim.Optimizer"
            )
        return cast(Optimizer, made)

    @cached_property
    def find_unused_parameters(self) -> bool:  # type: ignore[override]
        """Whether a step on a few samples leaves a trainable parameter without a gradient."""
        network = self._tried()
        return any(value.grad is None for value in network.parameters() if value.requires_grad)

    def described(self, network: nn.Module) -> dict[str, str]:
        """Names of the network's class, the file and the optimiser's class, and of a sample."""
        found = {"model": type(network).__name__, "dataset": self.name, "sample": self.sample}
        if optimizer := self.optimizer(list(network.parameters()), ANY_LR):
            found["optimizer"] = type(optimizer).__name__
        return found

    def checked(self) -> "OwnTask":
        """The task, after each function and a step on a few samples; raises OwnTrainingError."""
        used = {name for function in self._functions.values() for name in function.keywords}
        if unused := set(self._own.arguments) - used:
            key = f"own.arguments.{min(unused)}"
            raise OwnTrainingError(f"{key}: no function of {self.name} names it; leave it out")
        network = self._tried().eval()
        for split in SPLITS[1:]:
            if len(getattr(self, split)):
                inputs, targets = self.few(split)
                with self.about(f"model, on {split!r}"), torch.no_grad():
                    self.loss(network(inputs), targets)
        trainable = [value for value in network.parameters() if value.requires_grad]
        _require(bool(trainable), f"{self.name}: model: no parameter can be trained")
        stepped = self.optimizer(trainable, ANY_LR) or SGD(trainable, ANY_LR)
        with self.about("optimizer"):
            stepped.step()
        return self

    def _has_labels(self) -> bool:
        """Whether each sample's target is one whole number: the class, for cross-entropy."""
        with torch.random.fork_rng(devices=[]):
            _, targets = self.few("train")
        return isinstance(targets, Tensor) and targets.ndim == 1 and not targets.is_floating_point()

    @property
    def has_optimizer(self) -> bool:
        """Whether the file makes its own."""
        return "optimizer" in self._functions

    def _tried(self) -> nn.Module:
        """A network with the gradients of a few training samples."""
        with torch.random.fork_rng(devices=[]):
            network = self.network()
            inputs, targets = self.few("train")
            with self.about("model"):
                outputs = network(inputs)
            with self.about("loss"):
                loss = self.loss(outputs, targets)
                scalar = isinstance(loss, Tensor) and loss.ndim == 0
                _require(scalar, f"returned {_kind(loss)}, not a tensor without dimensions")
                _require(loss.requires_grad, "does not depend on any trainable parameter")
                loss.backward()
            if self.counts_correct:
                with self.about("correct"), torch.no_grad():
                    counted = self.correct(outputs, targets)
                    pair = isinstance(counted, tuple | list) and len(counted) == 2
                    _require(pair, f"returned {_kind(counted)}, not (right, counted)")
                    right, of = (float(count) for count in counted)
                    _require(0 <= right <= of, f"counts {right:g} right of {of:g}")
        return network

    def few(self, split: str, most: int = TRIED) -> Batch:
        """The first samples of a split that has some."""
        with self.about("dataset"):
            samples = getattr(self, split)
            few: Any = Subset(samples, range(min(most, len(samples))))
            batch = next(iter(DataLoader(few, batch_size=most)))
            pair = isinstance(batch, tuple | list) and len(batch) == 2
            _require(pair, f"an item of {split!r} is {_kind(few[0])}, not (input, target)")
            for part, what in zip(batch, ("inputs", "targets"), strict=True):
                leaves = [leaf for leaf in tree_leaves(part) if isinstance(leaf, Tensor)]
                counts = {leaf.shape[0] if leaf.ndim else None for leaf in leaves}
                _require(
                    counts == {len(few)},
                    f"{what} of {split!r} are no tensors with a row for each sample",
                )
        return cast(Batch, batch)

    def _known_functions(self) -> dict[str, partial[Any]]:
        """The file's functions with those arguments that each names."""
        found = {}
        for name, positional in (REQUIRED | OPTIONAL).items():
            function = getattr(self._module, name, None)
            if function is None and name in OPTIONAL:
                continue
            if not callable(function):
                words = f"{name}({', '.join(positional)})"
                raise OwnTrainingError(f"{self._file.name}: there is no function {words}; add it")
            own, given = list(signature(function).parameters.values()), self._own.arguments
            for one in own[len(positional) :]:
                if one.name not in given and one.default is one.empty and one.kind not in VARIABLE:
                    key = f"own.arguments.{one.name}"
                    raise OwnTrainingError(f"{self._file.name}: {name} asks for {key}; give it")
            chosen = {one.name: given[one.name] for one in own if one.name in given}
            found[name] = partial(function, **chosen)
        return found

    def _sample(self) -> str:
        word = getattr(self._module, "SAMPLE", "sample")
        if not isinstance(word, str) or not word.isalpha():
            raise OwnTrainingError(f"{self._file.name}: SAMPLE is {word!r}, and should be one word")
        return word

    def _split(self, name: str, repeats: int) -> Any:
        with self.about("dataset"), _fixed_randomness():
            made = self._functions["dataset"](name)
            sized = hasattr(made, "__len__") and hasattr(made, "__getitem__")
            _require(sized, f"of {name!r} returned {_kind(made)}, which has no length or no items")
            _require(name != "train" or len(made) > 0, "of 'train' has no samples")
        return ConcatDataset([made] * repeats) if repeats > 1 else made

    @contextmanager
    def about(self, function: str) -> Iterator[None]:
        """Errors within the block name file, function and the line in the file."""
        try:
            yield
        except Exception as error:
            own = isinstance(error, OwnTrainingError)
            reason = str(error) if own else _told(error, self._file)
            raise OwnTrainingError(f"{self._file.name}: {function}: {reason}") from error


def _imported(file: Path, digest: str) -> ModuleType:
    """The file as a module; raises OwnTrainingError where it changed since, or fails."""
    try:
        now = source_digest(file)
    except OSError as error:
        raise OwnTrainingError(f"{file}: cannot be read: {error.strerror}") from error
    if now != digest:
        raise OwnTrainingError(
            f"{file.name}, or what it imports, changed since the runs were planned; start again"
        )
    found = spec_from_file_location(MODULE, file)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    sys.modules[MODULE] = module
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise OwnTrainingError(f"{file.name}: cannot be imported: {_told(error, file)}") from error
    return module


@contextmanager
def _fixed_randomness() -> Iterator[None]:
    """The same random numbers within the block in every process."""
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise OwnTrainingError(reason)


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return f"an object of type {type(value).__name__}"


def _told(error: Exception, file: Path) -> str:
    """An error in one line, with the last line of the file, or of a module beside it, before it."""
    at, frame, known = "", error.__traceback__, sources(file)
    while frame is not None:
        if (place := Path(frame.tb_frame.f_code.co_filename)) in known:
            at = f" ({f'{place.name}, ' * (place != file)}line {frame.tb_lineno})"
        frame = frame.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{at}"
