"""Combinations of settings that cannot work, found before the graph is built."""

from collections.abc import Iterator
from pathlib import Path

from dpscale.config.datasets import train_samples
from dpscale.config.root import Config, Problem
from dpscale.config.sections import TrainingConfig

OWN_KEYS = (("data", "dataset"), ("model", "name"))  # whose place a user's own file takes
RESIDUAL_MODELS = ("resnet18_cifar", "resnet18", "resnet20", "resnet_8x8")


def impossible_combinations(config: Config) -> Iterator[Problem]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    yield from _own(config)
    yield from _data(config)
    yield from _hardware(config)
    yield from _training(config)
    yield from _unfollowed(config)
    yield from _workers(config)
    yield from _on_synthetic(config)
    yield from _batches(config)
    for _, section in config.sections():
        yield from section.problems(config)
    for index, table in enumerate(config.audit.tables if config.audit else ()):
        if not Path(table.path).is_file():
            yield f"audit.tables.{index}", f"there is no file {table.path}; mend or leave it out"


def has_residual_blocks(config: Config) -> bool:
    """Return whether the configured network has residual blocks."""
    return config.model.name in RESIDUAL_MODELS


def _own(config: Config) -> Iterator[Problem]:
    own = config.own
    for place, key in OWN_KEYS:
        given = getattr(getattr(config, place), key)
        if own and given != "own":
            yield f"{place}.{key}", f"own.file takes the place of {given}; leave one of them out"
        if not own and given == "own":
            yield f"{place}.{key}", "there is no own.file; name the file, or a built-in one here"
    if own is None:
        return
    if not Path(own.file).is_file():
        yield "own.file", f"there is no file {own.file}; it lies beside the configuration"
    if config.data.loader == "resident":
        yield "data.loader", "your own dataset is loaded as it loads; set it to dataloader"
    if config.data.augment:
        yield "data.augment", "your own dataset augments its samples itself; set it to false"
    for name, section in config.sections():
        if section.built_in:
            yield name, f"{section.built_in}, which own.file is not; set it to null"


def _data(config: Config) -> Iterator[Problem]:
    data = config.data
    needed = {
        "synthetic": ("image_size", "channels", "classes", "samples"),
        "image_folder": ("image_size",),
    }
    for field in needed.get(data.dataset, ()):
        if getattr(data, field) is None:
            yield f"data.{field}", f"missing; data.dataset = {data.dataset!r} needs it"
    if data.repeats > 1:
        yield (
            "data.repeats",
            "repeated images are for timing only; set sweep.data_repeats instead",
        )


def _hardware(config: Config) -> Iterator[Problem]:
    hardware = config.hardware
    if config.model.zero_gamma and not has_residual_blocks(config):
        yield "model.zero_gamma", f"{config.model.name} has no residual block; set it to false"
    if hardware.backend == "nccl" and hardware.device == "cpu":
        yield "hardware.backend", "nccl needs hardware.device: cuda; the nearest valid is gloo"
    if config.training.precision == "tf32" and hardware.device == "cpu":
        yield "training.precision", "tf32 exists on CUDA alone; the nearest valid is fp32"
    if hardware.allow_oversubscription and hardware.backend == "nccl":
        yield (
            "hardware.allow_oversubscription",
            "nccl takes one worker a GPU; set it to false, or hardware.backend to gloo",
        )


def _training(config: Config) -> Iterator[Problem]:
    training = config.training
    if training.epochs != TrainingConfig.model_fields["epochs"].default:
        yield "training.epochs", "each study has its own; set epochs in the study's section"
    if training.nesterov and training.optimizer == "adam":
        yield "training.nesterov", "adam has no Nesterov's form; set it to false"
    if training.nesterov and not training.momentum:
        yield "training.nesterov", without_momentum("training")
    if training.compile_mode == "default":
        return
    if config.hardware.device == "cpu":
        yield (
            "training.compile_mode",
            f"{training.compile_mode} is for CUDA graphs, which hardware.device: cpu does not "
            "have; the nearest valid is default",
        )
    elif not training.compile:
        yield (
            "training.compile_mode",
            "concerns compiled networks alone; set training.compile: true, or this to default",
        )


def one_network(config: Config, key: str, name: str | None) -> Iterator[Problem]:
    """A study's network beside that of own.file, or own without one; null: the configuration's."""
    if config.own and name not in (None, "own"):
        yield key, f"own.file takes the place of {name}; set it to null"
    if not config.own and name == "own":
        yield key, "there is no own.file; name the file, or a built-in network here"


def without_momentum(section: str) -> str:
    """Return why Nesterov's form cannot be had without momentum."""
    return f"is a form of momentum, and {section}.momentum is 0; set one or the other"


def _unfollowed(config: Config) -> Iterator[Problem]:
    """A setting without effect would be taken for one that changed nothing: it is refused."""
    for name, section in config.sections():
        for one in section.unfollowed():
            if getattr(config.training, one.setting) == one.value:
                default = str(TrainingConfig.model_fields[one.setting].default).lower()
                owner = f"{name}.{one.key}" if one.key else name
                yield (
                    f"training.{one.setting}",
                    f"{owner} {one.why}; set it to {default}, or {owner} to null",
                )


def _workers(config: Config) -> Iterator[Problem]:
    hardware = config.hardware
    devices = None if hardware.allow_oversubscription else hardware.devices
    share = hardware.workers_per_node
    for name, section in config.sections():
        for field, workers in section.worker_counts():
            if devices is not None and workers > devices:
                yield (
                    f"{name}.{field}",
                    f"{workers} workers where hardware.devices offers {devices}; use at most "
                    f"{devices}, or set hardware.allow_oversubscription: true",
                )
            if share and workers > share and workers % share:
                yield (
                    f"{name}.{field}",
                    f"{workers} workers do not fill nodes of hardware.workers_per_node = {share}; "
                    f"the nearest valid is {workers // share * share}",
                )


def _on_synthetic(config: Config) -> Iterator[Problem]:
    for name, section in config.sections():
        if section.of_accuracy and config.data.dataset == "synthetic":
            yield (
                name,
                "asks for accuracy, which synthetic data cannot give; set it to null, "
                "or data.dataset to a real one, for example digits",
            )


def _batches(config: Config) -> Iterator[Problem]:
    samples = train_samples(config.data)
    for name, section in config.sections() if samples is not None else ():
        for field, workers, batch in section.batches(config):
            if samples is not None and workers * batch > samples:
                yield (
                    f"{name}.{field}",
                    f"{workers} workers of {batch} need {workers * batch:,} samples in a step, "
                    f"more than the {samples:,} training images of {config.data.dataset}; "
                    f"the largest valid is {samples // workers}",
                )
