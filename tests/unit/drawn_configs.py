"""Configurations drawn from the schema: some keys, with values at, inside and beyond bounds."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dpscale.studies import config_model, studies

OWN = str(Path(__file__).parents[1] / "own_training.py")
# What a file of a user begins with: the machine, the data and the network.
BEGINNINGS: tuple[dict[str, Any], ...] = (
    {},
    {"hardware": {"devices": 1}},
    {"hardware": {"devices": 3}},
    {"hardware": {"device": "cuda", "backend": "nccl", "workers_per_node": 2}},
    {"hardware": {"device": "cuda", "devices": 8}, "data": {"dataset": "cifar10"}},
    {"data": {"dataset": "synthetic", "image_size": 8, "channels": 1, "classes": 4, "samples": 99}},
    {"data": {"dataset": "image_folder", "image_size": 16}},
    {"data": {"validation_frac": 0.8}},
    {"own": {"file": OWN}},
    {"model": {"name": "mlp"}},
)
WRONG = (None, True, "x", "", -1, 0, 1.5, 10**30, float("inf"), [], [[]], {}, {"x": 1}, "3")
SMALL = (1, 2, 3, 4, 5, 8, 16, 20, 32, 64, 100, 128, 200, 1000)


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a configuration."""
    return config_model().model_json_schema()


@cache
def sections() -> list[str]:
    """The names of the sections of studies."""
    return [name for study in studies() for name in study.part("config", "SECTIONS")]


def followed(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of the schema, or the one that it refers to."""
    found: Mapping[str, Any] = schema()["$defs"].get(
        field.get("$ref", "").rpartition("/")[2], field
    )
    return found


def leaves(section: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of all fields that are no sections."""
    for key, field in section.get("properties", {}).items():
        kinds = [followed(one) for one in field.get("anyOf", [field])]
        inner = [path for kind in kinds for path in leaves(kind, (*place, key))]
        yield from inner or [(*place, key)]


def field_at(place: tuple[str, ...]) -> Mapping[str, Any]:
    """The schema of the field at a place."""
    found: Mapping[str, Any] = schema()
    for key in place:
        kinds = [followed(one) for one in found.get("anyOf", [found])]
        found = next(one for one in kinds if "properties" in one)["properties"][key]
    return found


def values(field: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a field: mostly valid ones of a size that people would give."""
    field = followed(field)
    if "anyOf" in field:
        return st.one_of([values(one) for one in field["anyOf"]])
    if "enum" in field or "const" in field:
        return st.sampled_from(field.get("enum", [field.get("const")]))
    kind = field.get("type")
    if kind == "array":
        some = st.lists(values(field["items"]), max_size=4)
        return some | some.map(lambda given: sorted(given, key=repr))
    if kind == "object" and "properties" in field:
        named = field["properties"].items()
        required = {key: values(one) for key, one in named if key in field.get("required", ())}
        optional = {key: values(one) for key, one in named if key not in required}
        return st.fixed_dictionaries(required, optional=optional)
    if kind == "integer":
        ends = [field.get("minimum", 0), field.get("maximum", 2**63)]
        return st.sampled_from([*SMALL, *ends, ends[0] - 1, ends[1] + 1]) | st.integers(*ends)
    if kind == "number":
        ends = [
            float(field.get("minimum", field.get("exclusiveMinimum", 0))),
            float(field.get("maximum", field.get("exclusiveMaximum", 1e9))),
        ]
        return st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.0, 3, 5.0, *ends]) | st.floats(*ends)
    texts = st.sampled_from(["", "text", "64 MiB", "1 B", "~/x", "~nobody/x", "a\nb", "é", "9 YiB"])
    return {"boolean": st.booleans(), "null": st.none()}.get(kind, texts)


@cache
def by_section() -> dict[str, list[tuple[str, ...]]]:
    """The places of all fields, by the section that they are in."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for place in leaves(schema()):
        found.setdefault(place[0], []).append(place)
    return found


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration that names some studies, and some keys of few sections, seldom nonsense."""
    raw: dict[str, Any] = {"name": "x"}
    for section, fields in draw(st.sampled_from(BEGINNINGS)).items():
        raw[section] = dict(fields)
    for name in draw(st.lists(st.sampled_from(sections()), max_size=3, unique=True)):
        raw[name] = draw(st.sampled_from([{}, {}, None]))
    looked_at = st.lists(st.sampled_from(list(by_section())), max_size=3, unique=True)
    for place in [
        place
        for section in draw(looked_at)
        for place in draw(st.lists(st.sampled_from(by_section()[section]), max_size=4, unique=True))
    ]:
        *within, key = place
        sane = draw(st.integers(0, 29))
        inside = raw
        for section in within:
            inside[section] = inside[section] if isinstance(inside.get(section), dict) else {}
            inside = inside[section]
        inside[key] = draw(values(field_at(place)) if sane else st.sampled_from(WRONG))
    return raw
