"""How a command is told what it is about: a configuration's file, or the folder of its results."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpscale.config import Config, ConfigError
from dpscale.config.reading import read_mapping
from dpscale.launch.own import look
from dpscale.plan.spec import own_file
from dpscale.studies import load_config

DEFAULT = Path("config/config.yaml")
RESULTS = Path("results")
SUFFIXES = (".yaml", ".yml", ".json")
RESOLVED = "config.yaml"  # in results/<name>: the configuration as the workflow resolved it


def add_config(parser: argparse.ArgumentParser) -> None:
    """Let a command line name a configuration: by its file, or by the folder of its results."""
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument(
        "place",
        type=Path,
        nargs="?",
        metavar="RESULTS",
        help="results/<name>, for the configuration of these results; or the file of one",
    )
    wanted.add_argument(
        "--configfile", type=Path, metavar="FILE", help=f"YAML file of a configuration [{DEFAULT}]"
    )


def config_of(given: argparse.Namespace) -> Config:
    """Return the configuration that a command line names; raises ConfigError where it is none."""
    path: Path = given.configfile or given.place or DEFAULT
    if given.place and path.suffix not in SUFFIXES:
        if path.is_file():
            raise ConfigError(f"{path}: name a file that ends with {' or '.join(SUFFIXES)}")
        path = path / RESOLVED
        if not path.is_file():
            raise ConfigError(f"{path}: is not there yet; name a configuration by --configfile")
    return looked_config(read_mapping(path), folder=path.parent)


def results_of(place: Path) -> Path:
    """Return a folder of results, or that of a configuration's file."""
    if place.suffix not in SUFFIXES:
        return place
    return RESULTS / load_config(read_mapping(place), folder=place.parent).name


def looked_config(raw: Mapping[str, Any], *, folder: Path = Path()) -> Config:
    """Return the configuration of a mapping, after a look at a user's own file.

    Raises ConfigError as `config.load` does, and where that file cannot be trained.
    """
    config = load_config(raw, folder=folder)
    own = own_file(config)
    return load_config(raw, folder=folder, facts=look(own)) if own else config
