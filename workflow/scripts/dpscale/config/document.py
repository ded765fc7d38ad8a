"""The configuration's schema for people: its sections under headings, their fields in tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

Schema = Mapping[str, Any]
MARK = "<!-- by python workflow/scripts/write_schema.py -->"
HEAD = "| key | type | default | |\n|---|---|---|---|"
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def with_fields(text: str, schema: Schema) -> str:
    """Return a document whose part below MARK is the schema's; ValueError where it lacks MARK."""
    return below_mark(text, _section("The file", "", schema, schema))


def below_mark(text: str, blocks: Iterable[str]) -> str:
    """Return a document with these blocks below MARK; ValueError where it lacks MARK."""
    above, mark, _ = text.partition(MARK)
    if not mark:
        raise ValueError(f"no line {MARK}")
    return "\n\n".join([above + mark, *blocks]) + "\n"


def _section(heading: str, path: str, section: Schema, schema: Schema) -> Iterator[str]:
    """Yield the blocks of a section, then those of the sections that it holds."""
    fields: Mapping[str, Schema] = section.get("properties", {})
    yield f"{'#' * min(2 + path.count('.'), 4)} {heading}"
    yield from filter(None, [section.get("description")])
    rows = (_row(path, key, field, schema) for key, field in fields.items())
    yield "\n".join([HEAD, *rows])
    for key, field in fields.items():
        for held in _held(field, schema):
            inner = f"{path}.{key}".strip(".")
            yield from _section(f"`{inner}`", inner, held, schema)


def _row(path: str, key: str, field: Schema, schema: Schema) -> str:
    cells = [f"`{key}`", _type(field, f"{path}.{key}", schema), _default(field)]
    escaped = [cell.replace("|", r"\|") for cell in (*cells, field["description"])]
    return f"| {' | '.join(escaped)} |"


def _alternatives(field: Schema) -> list[Schema]:
    return field.get("anyOf", [field])


def _definition(field: Schema, schema: Schema) -> Schema:
    name = field.get("$ref", "").rpartition("/")[2]
    found: Schema = schema.get("$defs", {}).get(name, {})
    return found


def _held(field: Schema, schema: Schema) -> Iterator[Schema]:
    """Yield the sections that a field is, may be or is a list of."""
    for one in _alternatives(field):
        if "items" in one:
            yield from _held(one["items"], schema)
        elif "properties" in (found := _definition(one, schema)):
            yield found


def _type(field: Schema, path: str, schema: Schema) -> str:
    return " or ".join(_one_type(one, path, schema) for one in _alternatives(field))


def _one_type(field: Schema, path: str, schema: Schema) -> str:
    if "properties" in _definition(field, schema):
        return f"[section](#{path.replace('.', '')})"
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "items" in field:
        least = f"({field['minItems']} or more) " if field.get("minItems") else ""
        return f"list {least}of {_type(field['items'], path, schema)}"
    bounds = [f"{sign} {field[key]}" for key, sign in BOUNDS.items() if key in field]
    kind = field.get("type", "any value")
    return f"{'mapping' if kind == 'object' else kind} {' and '.join(bounds)}".strip()


def _default(field: Schema) -> str:
    if "default" not in field:
        return "required"
    if isinstance(field["default"], Mapping) and field["default"]:
        return "as in its table"
    inside = [field["default"]]  # of a list: a value alone ends with the mark of a document's end
    text = yaml.safe_dump(inside, default_flow_style=True, width=10**6, sort_keys=False)
    return f"`{text.strip()[1:-1]}`"
