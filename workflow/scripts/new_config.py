"""Writes a commented configuration, from options or, on a terminal, from a few questions.

Says how many runs it plans and about how long they take: as long as like runs took here, or as
those of the embedded default took elsewhere, at the pace of a step of the network here.
"""

import argparse
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpscale.arguments import RESULTS, SUFFIXES, looked_config
from dpscale.config import Config, ConfigError
from dpscale.config.draft import LEVELS, Wishes, draft
from dpscale.config.reading import read_mapping
from dpscale.errors import one_line
from dpscale.files import whole
from dpscale.plan import Spec
from dpscale.studies import planned_runs
from dpscale.units.plain import duration
from dpscale.watch.cost import STEP_SAMPLES, Cost, cost, read_elsewhere

DEVICES = ("cpu", "cuda")
# Of each question, what an empty answer means.
QUESTIONS = {
    "own": ("Python file with a training of your own", "a built-in network"),
    "device": ("cpu, or cuda for GPUs", "cpu"),
    "devices": ("Workers at most, each with a GPU or a core", "1, 2 and 4"),
    "nodes": ("Nodes of a cluster", "1"),
    "minutes": ("Minutes that it may take", "as long as it takes"),
}


def new_file(text: str) -> Path:
    """Return the path of a YAML file that is not there yet."""
    path = Path(text)
    if path.suffix not in SUFFIXES:
        raise ArgumentTypeError(f"{text}: name a file that ends with {' or '.join(SUFFIXES)}")
    if path.exists():
        raise ArgumentTypeError(f"{text}: is there already; name another, or move it away")
    return path


def python_file(text: str) -> Path:
    """Return the path of a Python file that is there."""
    if not (path := Path(text)).is_file():
        raise ArgumentTypeError(f"{text}: there is no such file in {Path.cwd()}")
    if path.suffix != ".py":
        raise ArgumentTypeError(f"{text}: name a Python file, which ends with .py")
    return path


def device(text: str) -> str:
    """Return cpu or cuda."""
    if text not in DEVICES:
        raise ArgumentTypeError(f"{text}: give {' or '.join(DEVICES)}")
    return text


def count(text: str) -> int:
    """Return a whole number of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text}: give a whole number of 1 or more")
    return int(text)


TYPES = {"own": python_file, "device": device, "devices": count, "nodes": count, "minutes": count}


def asked(given: argparse.Namespace) -> None:
    """Ask for each of QUESTIONS; an empty answer leaves the default."""
    for name, (question, empty) in QUESTIONS.items():
        while answer := input(f"{question} [{empty}]: ").strip():
            try:
                setattr(given, name, TYPES[name](answer))
                break
            except ArgumentTypeError as error:
                print(error)


def wishes(given: argparse.Namespace) -> Wishes:
    """What the command line asks for."""
    own = given.own and given.own.resolve()
    if own and own.is_relative_to(given.file.resolve().parent):
        own = own.relative_to(given.file.resolve().parent)
    name = given.name or given.file.stem
    return Wishes(name, str(own) if own else None, given.device, given.devices, given.nodes)


def written(given: argparse.Namespace, level: str) -> Config:
    """Write the file at a level of thoroughness; return its configuration."""
    with whole(given.file) as path:
        path.write_text(draft(wishes(given), level), encoding="utf-8")
    try:
        return looked_config(read_mapping(given.file), folder=given.file.parent)
    except (ConfigError, KeyboardInterrupt):
        given.file.unlink()
        raise


def described(runs: int, cost: Cost | None, minutes: int | None) -> str:
    """How long so many runs take, as far as that is known, and what else can be left out."""
    if cost is None:
        shortest = ", so that this is the shortest file" if minutes else ""
        return (
            f"{runs} runs; none like them was measured here{shortest}: the call says how long it "
            "takes, once some are done"
        )
    here = runs - cost.elsewhere - cost.unknown
    names = ", ".join(f"results/{name}" for name, _ in cost.basis)
    basis = {
        f"{here} as like ones took here ({names})": here,
        f"{cost.elsewhere} as like ones took on {read_elsewhere().machine}, at the pace of a step "
        "here": cost.elsewhere,
        f"{cost.unknown} apart that are like none that is known": cost.unknown,
    }
    told = "; ".join(words for words, count in basis.items() if count)
    text = f"{runs} runs, about {duration(cost.seconds)} on one machine: {told}"
    if minutes and cost.seconds > 60 * minutes:
        text += "\nIt is as short as it gets; leave studies out by null to shorten it further."
    return text


def step_s(plan: Mapping[str, Spec]) -> float | None:
    """Seconds of a step of the configured network, where it is trained on this very machine."""
    spec = next(iter(plan.values()))
    if spec.hardware.device != "cpu":
        return None
    from dpscale.train.data import DatasetError  # not above: torch takes seconds
    from dpscale.train.tries import step_s as timed

    try:
        return timed(spec, STEP_SAMPLES)
    except DatasetError:  # it is not downloaded yet
        return None


def fitted(given: argparse.Namespace, levels: Sequence[str]) -> tuple[Config, int, Cost | None]:
    """Write the most thorough file that fits into the minutes, or else the shortest."""
    pace_s = None
    for level in levels:
        config = written(given, level)
        plan = planned_runs(config)
        pace_s = pace_s or step_s(plan)
        found = cost(plan.values(), RESULTS, pace_s)
        if given.minutes is None or (found and found.seconds <= 60 * given.minutes):
            break
    return config, len(plan), found


def read_arguments() -> argparse.Namespace:
    """Return what the command line says, and on a terminal the answers to QUESTIONS."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=new_file, help="YAML file to write")
    parser.add_argument("--name", help="folder under results/ [the file's name]")
    for name, (question, empty) in QUESTIONS.items():
        metavar = {"own": "FILE.py", "device": "|".join(DEVICES)}.get(name, "N")
        text = f"{question} [{empty}]"
        parser.add_argument(f"--{name}", type=TYPES[name], metavar=metavar, help=text)
    parser.set_defaults(device="cpu", nodes=1)
    given = parser.parse_args()
    if len(sys.argv) == 2 and sys.stdin.isatty() and sys.stdout.isatty():
        asked(given)
    return given


@one_line("new_config.py")
def main() -> None:
    """Read the command line, ask, write, and say what it comes to."""
    given = read_arguments()
    config, runs, found = fitted(given, LEVELS)
    for line in config.left_out:
        print(f"dpscale: {line}", file=sys.stderr)
    print(f"{given.file}: {described(runs, found, given.minutes)}")
    print(f"Next: snakemake --configfile {given.file}")


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, Ctrl-D
        sys.exit("\nnew_config.py: stopped; nothing is written")
