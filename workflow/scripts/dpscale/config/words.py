"""Words for what is wrong in a configuration: one line a problem, with the nearest valid key."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from dpscale.config.root import Config

MOST_LINES = 10  # a list can have thousands of bad entries
A_LIST = "must be a list, for example [1, 2]"
A_SECTION = "must be a section: keys with their values"
# By the type of pydantic's error; what it is about stands in braces.
REASONS = {
    "tuple_type": A_LIST,
    "list_type": A_LIST,
    "model_type": A_SECTION,
    "model_attributes_type": A_SECTION,
    "dict_type": A_SECTION,
    "string_type": "must be text; put it in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "too_short": "must have {min_length} or more values",
    "too_long": "must have {max_length} or fewer values",
    "string_too_short": "must have {min_length} or more letters",
    "string_too_long": "must have {max_length} or fewer letters",
    "byte_size": "must be a size with its unit, for example 256 MiB",
}
UNITS = ("B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
NUMBERS = ("int_type", "float_type", "int_from_float", "bool_type")


def line_of(config: Config, key: str, reason: str) -> str:
    """Return the line on a dotted key of a configuration, with its value where it is no section."""
    value: Any = config
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, tuple) else getattr(value, part)
    inner = value[0] if isinstance(value, tuple) and value else value
    if isinstance(inner, BaseModel):
        return f"config: {key}: {reason}"
    return f"config: {key} = {_shown(value)}: {reason}"


def lines_of(error: ValidationError, raw: Mapping[str, Any], model: type[Config]) -> list[str]:
    """Return a line for each of the first keys of the mapping that the model does not take."""
    problems = error.errors(include_url=False)
    # A misspelt key also leaves its right spelling missing: the misspelling says it all.
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    found: dict[tuple[str, ...], list[Any]] = {}
    for problem in unknown or problems:
        path = tuple(_followed(problem["loc"], raw))
        if problem["type"] == "missing":
            path = (*path, str(problem["loc"][-1]))
        found.setdefault(path, []).append(problem)
    # A problem inside a value says more than one of the whole.
    wholes = {path[:end] for path in found for end in range(len(path))}
    told = [(path, about) for path, about in found.items() if path not in wholes]
    return [
        *(_line(path, about, raw, model) for path, about in told[:MOST_LINES]),
        *and_more(len(told)),
    ]


def and_more(count: int) -> list[str]:
    """Return the line below the first MOST_LINES of so many; nothing where these are all."""
    return [f"and {count - MOST_LINES:,} more"] if count > MOST_LINES else []


def _line(
    path: tuple[str, ...], problems: list[Any], raw: Mapping[str, Any], model: type[Config]
) -> str:
    shown, reasons = "", []
    for problem in problems:
        if problem["type"] == "extra_forbidden":
            reasons.append(f"unknown key; {_nearest_key(list(path), raw, model)}")
        elif problem["type"] == "missing":
            reasons.append("missing; add it (see config/schema.json)")
        else:
            shown = f" = {_shown(problem['input'])}"
            reasons.append(_reason(problem))
    return f"config: {'.'.join(path)}{shown}: {', or '.join(dict.fromkeys(reasons))}"


def _followed(place: tuple[int | str, ...], raw: Any) -> Iterator[str]:
    """The parts of a place that the mapping has; of alternatives pydantic names each as a part."""
    for part in place:
        in_list = isinstance(raw, list | tuple) and isinstance(part, int)
        if in_list or (isinstance(raw, Mapping) and part in raw):
            raw = raw[part]
            yield str(part)


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 120 else f"{text[:80]}...{text[-37:]}"


def _reason(problem: Any) -> str:
    value, kind, context = problem["input"], problem["type"], problem.get("ctx", {})
    if kind == "literal_error":
        allowed = [word.strip(" '") for word in context["expected"].replace(" or ", ",").split(",")]
        near = difflib.get_close_matches(value, allowed, 1, 0.3) if isinstance(value, str) else []
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"must be one of {', '.join(allowed)}{hint}"
    if kind == "byte_size_unit":
        units = {unit.lower(): unit for unit in UNITS}
        near = difflib.get_close_matches(str(context["unit"]).lower(), units, n=1, cutoff=0.0)
        return f"unknown unit {context['unit']}; did you mean {units[near[0]]}?"
    if kind not in REASONS:
        message = problem["msg"].removeprefix("Value error, ")
        return str(message[0].lower() + message[1:])
    bounds = {name: f"{one:,g}" for name, one in context.items() if isinstance(one, int | float)}
    quoted = isinstance(value, str) and kind in NUMBERS
    return REASONS[kind].format(**bounds) + (", without quotes" if quoted else "")


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
