"""From the mapping of a configuration to the typed one, or to one line a problem."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dpscale.config.checks import OWN_KEYS, impossible_combinations
from dpscale.config.defaults import with_defaults
from dpscale.config.own import OwnFacts
from dpscale.config.reading import ConfigError, checked
from dpscale.config.root import Config
from dpscale.config.sections import expanded
from dpscale.config.words import MOST_LINES, and_more, line_of, lines_of

Model = TypeVar("Model", bound=Config)

# Rules hand it to their scripts in a command, of which Linux takes 128 KiB.
MOST_CHARACTERS = 100_000
MOST_OF_A_PATH = 1_000


def load_config(
    raw: Mapping[str, Any],
    model: type[Model],
    *,
    folder: Path = Path(),
    facts: OwnFacts | None = None,
) -> Model:
    """The typed configuration of a mapping, checked field by field and across sections.

    folder: that of the configuration, beside which a user's own file lies; facts: what a look at
    that file found. Raises ConfigError whose lines name the dotted key, its value and the nearest
    valid one.
    """
    try:
        given = _with_tables(_with_own(checked(dict(raw)), folder), folder)
        # JSON in strict mode: lists become tuples, and nothing else changes its type.
        config = model.model_validate_json(json.dumps(given, default=str))
    except ValidationError as error:
        raise ConfigError("\n".join(lines_of(error, raw, model))) from None
    except ValueError as error:
        raise ConfigError(f"config: {error}") from None
    config = with_defaults(config.with_facts(facts))
    if problems := list(impossible_combinations(config)):
        lines = [line_of(config, *problem) for problem in problems[:MOST_LINES]]
        raise ConfigError("\n".join([*lines, *and_more(len(problems))]))
    if (length := len(shlex.quote(config.model_dump_json()))) > MOST_CHARACTERS:
        raise ConfigError(
            f"config: its {length:,} characters are too many for a command; the most are "
            f"{MOST_CHARACTERS:,}: shorten lists, texts or own.arguments"
        )
    return config


def _with_own(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The mapping with a user's own file in the places of network and dataset that it takes."""
    own = raw.get("own")
    if not isinstance(own, Mapping) or not isinstance(file := own.get("file"), str):
        return raw
    try:
        raw["own"] = {**own, "file": str((folder / expanded(file)).resolve())}
    except ValueError as error:
        raise ValueError(f"own.file = {json.dumps(file)}: {error}") from None
    for section, key in OWN_KEYS:
        if isinstance(held := raw.get(section, {}), Mapping):
            raw[section] = {key: "own", **held}
    return raw


def _with_tables(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The mapping with the tables of an audit where they are.

    That is in the folder of the call, beside the configuration, or where its folder is in.
    """
    audit = raw.get("audit")
    if isinstance(audit, Mapping) and isinstance(tables := audit.get("tables"), list | tuple):
        raw["audit"] = {**audit, "tables": [_table(one, folder) for one in tables]}
    return raw


def _table(table: Any, folder: Path) -> Any:
    if isinstance(table, Mapping) and isinstance(path := table.get("path"), str):
        return {**table, "path": _table(path, folder)}
    if not isinstance(table, str) or "\0" in table or len(table) > MOST_OF_A_PATH:
        return table
    places = (Path(table), folder / table, folder.parent / table)
    return str(next((place for place in places if place.is_file()), table))
