"""Combinations of settings that cannot work, found before the graph is built."""

import os
from collections.abc import Iterator

from dpscale.config.datasets import size_problem, split_problem, train_samples
from dpscale.config.root import Config, Problem
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    ScheduleConfig,
    Section,
    TrainingConfig,
)

OWN_KEYS = (("data", "dataset"), ("model", "name"))  # whose place a user's own file takes
SIZES = ("image_size", "channels", "classes", "samples")
SIZES_OF = {"synthetic": SIZES, "image_folder": SIZES[:1]}  # other datasets have their own
COUNTED = ("own", "samples")  # by the workflow, which looks at own.file
MOST_RATE = 10**6
SMALLEST_IMAGE = {"mnist_cnn": 6}  # pixels; other networks take any
RESIDUAL_MODELS = ("resnet18_cifar", "resnet18", "resnet20", "resnet_8x8")


def impossible_combinations(config: Config) -> Iterator[Problem]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    yield from _own(config)
    yield from _data(config)
    yield from _hardware(config)
    yield from _networks(config)
    yield from _training(config)
    yield from _schedule(config.training.schedule)
    yield from _ends(config)
    yield from _unfollowed(config)
    yield from _workers(config)
    yield from _on_synthetic(config)
    yield from _batches(config)
    for _, section in config.sections():
        yield from section.problems(config)
    for index, table in enumerate(config.audit.tables if config.audit else ()):
        if not os.path.isfile(table.path):
            yield f"audit.tables.{index}", f"there is no file {table.path}; mend or leave it out"


def has_residual_blocks(config: Config) -> bool:
    """Return whether the configured network has residual blocks."""
    return config.model.name in RESIDUAL_MODELS


def may_have_buffers(config: Config) -> bool:
    """Return whether the configured network has buffers: batch norm has; the user's own may."""
    return config.own is not None or has_residual_blocks(config)


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
    if not os.path.isfile(own.file):
        yield "own.file", "there is no such file; it lies beside the configuration"
    elif not os.access(own.file, os.R_OK):
        yield "own.file", "may not be read; change its permissions"
    if config.data.loader == "resident":
        yield "data.loader", "your own dataset is loaded as it loads; set it to dataloader"
    if config.data.validation_frac != _default(DataConfig, "validation_frac"):
        yield "data.validation_frac", "your own dataset splits itself; leave it out"
    if config.data.augment:
        yield "data.augment", "your own dataset augments its samples itself; set it to false"
    for name, section in config.sections():
        if section.built_in:
            yield name, f"{section.built_in}, which own.file is not; set it to null"
    yield from _not_with(config)


def _not_with(config: Config) -> Iterator[Problem]:
    """What a look at the user's own file does not allow."""
    if (facts := config.own_facts) is None:
        return
    if config.data.samples != facts.train_samples:
        yield "data.samples", f"own.file has {facts.train_samples:,} to train on; leave it out"
    for name, section in config.sections():
        if reason := facts.refused.get(section.tries):
            yield name, reason
        if section.needs_correct and not facts.counts_correct:
            yield (
                name,
                "counts what is right, and own.file has no correct; add it, or set it to null",
            )


def _data(config: Config) -> Iterator[Problem]:
    data = config.data
    for field in SIZES:
        given, needed = getattr(data, field), field in SIZES_OF.get(data.dataset, ())
        if needed and given is None:
            yield f"data.{field}", f"missing; data.dataset = {data.dataset} needs it"
        if given is not None and not needed and (data.dataset, field) != COUNTED:
            yield f"data.{field}", f"is known of data.dataset = {data.dataset}; leave it out"
    if words := size_problem(data):
        yield "data.samples", words
    if data.loader == "resident" and data.loader_workers:
        yield "data.loader_workers", "resident data leave nothing to load; set it to 0"
    if words := split_problem(data):
        yield "data.validation_frac", words
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
    if config.training.cudnn_benchmark and hardware.device == "cpu":
        yield "training.cudnn_benchmark", "cuDNN works on CUDA alone; set it to false"
    share, devices = hardware.workers_per_node, hardware.devices
    if share and devices and share > devices and not hardware.allow_oversubscription:
        yield "hardware.workers_per_node", f"hardware.devices offers {devices}; use at most those"
    if hardware.allow_oversubscription and hardware.backend == "nccl":
        yield (
            "hardware.allow_oversubscription",
            "nccl takes one worker a GPU; set it to false, or hardware.backend to gloo",
        )


def _networks(config: Config) -> Iterator[Problem]:
    size = config.data.image_size
    named = [(name, getattr(section, "model", None)) for name, section in config.sections()]
    for key, network in [("model.name", config.model.name), *((f"{n}.model", m) for n, m in named)]:
        if size is not None and size < (least := SMALLEST_IMAGE.get(str(network), 1)):
            yield key, f"needs images of {least} pixels, and data.image_size is {size}"


def _training(config: Config) -> Iterator[Problem]:
    training = config.training
    if training.epochs != _default(TrainingConfig, "epochs"):
        yield "training.epochs", "each study has its own; set epochs in the study's section"
    if training.lr > MOST_RATE:
        yield "training.lr", f"no training learns at more than {MOST_RATE:,}"
    if training.optimizer == "adam" and training.momentum != _default(TrainingConfig, "momentum"):
        yield "training.momentum", "is that of sgd, and training.optimizer is adam; leave it out"
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


def _schedule(schedule: ScheduleConfig) -> Iterator[Problem]:
    """A part of the schedule that needs another, or that another leaves without effect."""
    warms, falls = schedule.warmup != "none", schedule.decay == "step"
    parts = {
        "warmup_epochs": warms,
        "warmup_start_factor": warms,
        "decay_epochs": falls,
        "decay_factor": falls,
    }
    for field, followed in parts.items():
        key, by = f"training.schedule.{field}", field.partition("_")[0]
        unset = getattr(schedule, field) == _default(ScheduleConfig, field)
        if not followed and not unset:
            word = "step" if by == "decay" else "constant or gradual"
            yield key, f"is without effect; set training.schedule.{by} to {word}, or leave it out"
        if followed and unset and field.endswith("_epochs"):
            yield key, f"training.schedule.{by} = {getattr(schedule, by)} needs it; add it"


def _ends(config: Config) -> Iterator[Problem]:
    """A warm-up longer than a training, and a decay that comes after its end.

    The schedule of `training`, which several studies follow, is held against their longest.
    """
    longest = (0, "")
    for name, section in config.sections():
        epochs: int | None = getattr(section, "epochs", None)
        if epochs is not None:
            yield from _within(name, section, epochs, name)
        if epochs is not None and section.follows_schedule:
            longest = max(longest, (epochs, name))
    if any(longest):
        yield from _within("training.schedule", config.training.schedule, *longest)


def _within(place: str, section: Section, epochs: int, study: str) -> Iterator[Problem]:
    training = f"{study}.epochs = {epochs}"
    warmup, decays = getattr(section, "warmup_epochs", 0.0), getattr(section, "decay_epochs", ())
    if warmup > epochs:
        yield f"{place}.warmup_epochs", f"is longer than {training}; the most are {epochs}"
    if decays and decays[-1] >= epochs:
        yield (
            f"{place}.decay_epochs",
            f"{decays[-1]} is not before the end of {training}; the latest valid is {epochs - 1}",
        )


def _default(section: type[Section], field: str) -> object:
    return section.model_fields[field].default


def one_network(config: Config, key: str, name: str | None) -> Iterator[Problem]:
    """A study's network beside that of own.file, or own without one; null: the configuration's."""
    if config.own and name not in (None, "own"):
        yield key, f"own.file takes the place of {name}; set it to null"
    if not config.own and name == "own":
        yield key, "there is no own.file; name the file, or a built-in network here"


def needs_validation(config: Config, key: str) -> Iterator[Problem]:
    """What is chosen on validation images, where there are none; your own may have some."""
    if config.own_facts and not config.own_facts.validation_samples:
        yield key, "needs validation data to choose, and own.file has none; give it some"
    if config.data.validation_frac == 0 and not config.own:
        yield key, "needs validation data to choose; set data.validation_frac"


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


def fits_hardware(hardware: HardwareConfig, workers: int) -> bool:
    """Return whether so many workers have a device each and fill their nodes."""
    return not any(_misfits(hardware, workers))


def _misfits(hardware: HardwareConfig, workers: int) -> Iterator[str]:
    devices = None if hardware.allow_oversubscription else hardware.devices
    share = hardware.workers_per_node
    if devices is not None and workers > devices:
        yield (
            f"{workers} workers where hardware.devices offers {devices}; use at most {devices}, "
            "or set hardware.allow_oversubscription: true"
        )
    if share and workers > share and workers % share:
        yield (
            f"{workers} workers do not fill nodes of hardware.workers_per_node = {share}; the "
            f"nearest valid is {workers // share * share}"
        )


def _workers(config: Config) -> Iterator[Problem]:
    for name, section in config.sections():
        for field, workers in section.worker_counts():
            for reason in _misfits(config.hardware, workers):
                yield f"{name}.{field}", reason


def _on_synthetic(config: Config) -> Iterator[Problem]:
    for name, section in config.sections():
        if section.of_accuracy and config.data.dataset == "synthetic":
            yield (
                name,
                "asks for accuracy, which synthetic data cannot give; set it to null, "
                "or data.dataset to a real one, for example digits",
            )


def _batches(config: Config) -> Iterator[Problem]:
    for name, section in config.sections():
        data = section.data(config)
        samples = train_samples(data)
        if data.validation_frac != config.data.validation_frac and (words := split_problem(data)):
            yield f"{name}.validation_frac", words
        for field, workers, batch in section.batches(config) if samples else ():
            if samples and workers * batch > samples:
                most = samples // workers
                yield (
                    f"{name}.{field}",
                    f"{workers:,} times {batch:,} samples in a step are more than the {samples:,} "
                    f"training samples of {'own.file' if config.own else data.dataset}; "
                    + (f"the largest valid is {most}" if most else "use fewer workers"),
                )
