"""Defaults that are valid: what a file leaves open is chosen as the rest of it allows."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError

from dpscale.config.checks import fits_hardware, impossible_combinations
from dpscale.config.datasets import train_samples
from dpscale.config.root import Config, StudySection
from dpscale.config.sections import HardwareConfig

Model = TypeVar("Model", bound=Config)


def with_defaults(config: Model) -> Model:
    """Return the configuration with defaults that data, network and hardware allow.

    Fields that a section leaves open are chosen by it, then lowered to what there is; a study that
    the file does not name is left out where it still cannot be asked. `left_out` says why.
    """
    unnamed = {name for name, _ in config.sections()} - config.model_fields_set
    config = config.model_copy(update={"hardware": _hardware(config.hardware)})
    given = config
    for name, section in config.sections():
        config = config.model_copy(update={name: _chosen(section, config)})
    lines = list(_lowered_lines(given, config))
    while left_out := {
        place: reason
        for key, reason in impossible_combinations(config)
        if (place := key.split(".")[0]) in unnamed
    }:
        lines += [f"{name} is left out: {_cause(reason)}" for name, reason in left_out.items()]
        config = config.model_copy(update=dict.fromkeys(left_out))
        unnamed -= left_out.keys()
    return config.with_left_out(lines)


def _hardware(hardware: HardwareConfig) -> HardwareConfig:
    """The hardware, on which workers may share a CPU where the file says nothing of its cores."""
    left_open = {"allow_oversubscription", "devices"}.isdisjoint(hardware.model_fields_set)
    shared = hardware.device == "cpu" and left_open
    return hardware.model_copy(update={"allow_oversubscription": True}) if shared else hardware


def _lowered_lines(given: Config, chosen: Config) -> Iterator[str]:
    """A line for each field whose default the checks refuse: what is in its place, and why."""
    for name, section in chosen.sections():
        before = given.section(name)
        for field in type(section).model_fields:
            value = getattr(section, field)
            if value == getattr(before, field):
                continue
            undone = section.model_copy(update={field: getattr(before, field)})
            problems = impossible_combinations(chosen.model_copy(update={name: undone}))
            found = [reason for key, reason in problems if key.split(".")[0] == name]
            if found:
                yield f"{name}.{field} is {json.dumps(value)} here: {_cause(found[0])}"


def _cause(reason: str) -> str:
    """A reason without the advice that follows it."""
    return reason.partition(";")[0]


def _chosen(section: StudySection, config: Config) -> StudySection:
    left_open = set(type(section).model_fields) - section.model_fields_set
    for field, _ in section.worker_counts():
        if field in left_open:
            fits = partial(fits_hardware, config.hardware)
            section = _updated(section, {field: _lowered(getattr(section, field), fits)})
    samples = train_samples(section.data(config))
    for field, workers, _ in section.batches(config) if samples is not None else ():
        if field in left_open:
            fits = partial(_fill, samples, workers)
            section = _updated(section, {field: _lowered(getattr(section, field), fits)})
    for field in section.defaults(config):
        if field in left_open:
            section = _updated(section, {field: section.defaults(config)[field]})
    return section


def _fill(samples: int | None, workers: int, batch: int) -> bool:
    return samples is None or workers * batch <= samples


def _updated(section: StudySection, fields: Mapping[str, object]) -> StudySection:
    """The section with other values; as it is where they are not valid."""
    updated = section.model_copy(update=fields)
    try:
        return type(section).model_validate_json(updated.model_dump_json())
    except ValidationError:
        return section


def _lowered(value: Any, fits: Callable[[int], bool]) -> Any:
    """The numbers of a field that fit, or the largest below all of them; as they are if none is."""
    counts = value if isinstance(value, tuple) else (value,)
    kept = tuple(filter(fits, counts)) or tuple(islice(filter(fits, range(min(counts), 0, -1)), 1))
    if not kept:
        return value
    return kept if isinstance(value, tuple) else kept[0]
