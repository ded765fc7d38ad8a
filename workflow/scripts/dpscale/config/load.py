"""Reads a configuration and words its errors: one line a problem, with the nearest valid key."""

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from dpscale.config.checks import OWN_KEYS, impossible_combinations
from dpscale.config.root import Config

Model = TypeVar("Model", bound=Config)


class ConfigError(ValueError):
    """A configuration that cannot be used; the text has one line a problem."""


def read_config(path: Path, model: type[Model]) -> Model:
    """The configuration in a YAML file.

    Raises ConfigError where the file is missing, no YAML mapping, or not a valid configuration.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path}: holds no keys; see config/config.yaml for an example")
    return load_config(raw, model, folder=path.parent)


def load_config(raw: Mapping[str, Any], model: type[Model], *, folder: Path = Path()) -> Model:
    """The typed configuration of a mapping, checked field by field and across sections.

    folder: that of the configuration, beside which a user's own file lies. Raises ConfigError
    whose lines name the dotted key, its value and the nearest valid one.
    """
    try:
        # JSON in strict mode: lists become tuples, and nothing else changes its type.
        config = model.model_validate_json(json.dumps(_with_own(raw, folder), default=str))
    except ValidationError as error:
        raise ConfigError("\n".join(_lines(error, raw, model))) from None
    if problems := list(impossible_combinations(config)):
        raise ConfigError("\n".join(f"config: {key}: {reason}" for key, reason in problems))
    return config


def _with_own(raw: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The mapping with a user's own file in the places of network and dataset that it takes."""
    own, given = raw.get("own"), dict(raw)
    if not isinstance(own, Mapping) or not isinstance(own.get("file"), str):
        return given
    given["own"] = {**own, "file": str((folder / Path(own["file"]).expanduser()).resolve())}
    for section, key in OWN_KEYS:
        if isinstance(held := given.get(section, {}), Mapping):
            given[section] = {key: "own", **held}
    return given


def _lines(error: ValidationError, raw: Mapping[str, Any], model: type[Config]) -> Iterator[str]:
    problems = error.errors(include_url=False)
    # A misspelt key also leaves its right spelling missing: the misspelling says it all.
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    places = [problem["loc"] for problem in problems]
    for problem in unknown or problems:
        if any(place != problem["loc"] and place[: len(problem["loc"])] == problem["loc"]
               for place in places):  # fmt: skip
            continue  # a problem inside the value says more than one of the whole
        path = [str(part) for part in problem["loc"]]
        key = ".".join(path)
        if problem["type"] == "extra_forbidden":
            yield f"config: {key}: unknown key; {_nearest_key(path, raw, model)}"
        elif problem["type"] == "missing":
            yield f"config: {key}: missing; add it (see config/schema.json)"
        else:
            yield f"config: {key} = {_shown(problem['input'])}: {_reason(problem)}"


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _reason(problem: Any) -> str:
    value, context = problem["input"], problem.get("ctx", {})
    if problem["type"] == "literal_error":
        allowed = [word.strip(" '") for word in context["expected"].replace(" or ", ",").split(",")]
        near = difflib.get_close_matches(str(value), allowed, n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"must be one of {', '.join(allowed)}{hint}"
    if problem["type"] == "byte_size_unit":
        units = {u.lower(): u for u in ["B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]}
        near = difflib.get_close_matches(str(context["unit"]).lower(), units, n=1, cutoff=0.0)
        return f"unknown unit {context['unit']}; did you mean {units[near[0]]}?"
    message = problem["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if isinstance(value, str) and problem["type"] in {"float_type", "int_type"}:
        message += "; write a number without quotes, and 1.0e-3 rather than 1e-3"
    return message


def _nearest_key(path: list[str], raw: Mapping[str, Any], model: type[Config]) -> str:
    """Words that name the valid dotted key nearest to an unknown one.

    A slip in a key of the same section comes first, most likely one that the section lacks; then
    the same key in another section.
    """
    *places, unknown = path
    section = [name for name in places if not name.isdigit()]  # without positions in a list
    keys = list(_dotted_keys(model))
    parent = ".".join(section)
    siblings = [key.rsplit(".", 1)[-1] for key in keys if key.rpartition(".")[0] == parent]
    given: Any = raw
    for name in places:
        given = given[int(name)] if isinstance(given, list | tuple) else given[name]
    absent = [name for name in siblings if name not in given]
    elsewhere = [key for key in keys if key.rsplit(".", 1)[-1] == unknown.lower()]
    near = _closest(unknown, absent, 0.8) or _closest(unknown, siblings, 0.8)
    if not near and elsewhere:
        return f"did you mean {' or '.join(elsewhere)}?"
    near = near or _closest(unknown, siblings, 0.0)
    return f"did you mean {'.'.join([*section, near])}?" if near else "leave it out"


def _closest(word: str, candidates: list[str], likeness: float) -> str | None:
    return next(iter(difflib.get_close_matches(word.lower(), candidates, 1, likeness)), None)


def _dotted_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        kinds = (field.annotation, *get_args(field.annotation))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _dotted_keys(kind, f"{prefix}{name}.")
