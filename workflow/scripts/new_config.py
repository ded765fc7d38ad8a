"""Writes a commented configuration, from options or, on a terminal, from a few questions.

Says how many runs it plans and, where like runs were measured here, about how long they take.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpscale.arguments import looked_config
from dpscale.config import Config, ConfigError
from dpscale.config.draft import LEVELS, Wishes, draft
from dpscale.config.reading import read_mapping
from dpscale.errors import one_line
from dpscale.files import whole
from dpscale.studies import planned_runs
from dpscale.units.plain import duration
from dpscale.watch.cost import Cost, cost

RESULTS = Path("results")
QUESTIONS = {
    "own": "A Python file with a training of your own; empty: a built-in network",
    "device": "Train on cpu or cuda (GPUs)",
    "devices": "How many GPUs, or cores, may be used; empty: unknown",
    "nodes": "How many nodes of a cluster",
    "minutes": "Minutes that it may take; empty: as long as it takes",
}


def positive(text: str) -> int:
    """Return a whole number of 1 or more."""
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def asked(given: argparse.Namespace) -> None:
    """Ask for what no option gave; an empty answer leaves the default."""
    kinds = {"own": Path, "devices": positive, "nodes": positive, "minutes": float}
    for name, question in QUESTIONS.items():
        default = getattr(given, name)
        while answer := input(f"{question} [{default or ''}]: ").strip():
            try:
                setattr(given, name, kinds.get(name, str)(answer))
                break
            except ValueError:
                print(f"{answer} is no number")


def wishes(given: argparse.Namespace) -> Wishes:
    """What the command line asks for."""
    own = given.own and Path(given.own).resolve()
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
    except ConfigError:
        given.file.unlink()
        raise


def told(runs: int, found: Cost | None) -> str:
    """How long so many runs take, as far as that is known."""
    if found is None:
        return f"{runs} runs; how long they take is not known: none like them was measured here"
    basis = " and ".join(f"{count} of results/{name}" for name, count in found.basis)
    rest = f", {found.unknown} apart that are like none of these" if found.unknown else ""
    spent = f"about {duration(found.seconds)} on one machine"
    return f"{runs} runs, {spent}, as long as like runs took here ({basis}){rest}"


def fitted(given: argparse.Namespace, levels: Sequence[str]) -> tuple[Config, int, Cost | None]:
    """Write the most thorough file that fits into the minutes, or else the shortest."""
    for level in levels:
        config = written(given, level)
        plan = planned_runs(config)
        found = cost(plan.values(), RESULTS)
        fits = found and found.seconds <= 60 * (given.minutes or float("inf"))
        if given.minutes is None or fits:
            break
    return config, len(plan), found


@one_line("new_config.py")
def main() -> None:
    """Read the command line, ask, write, and say what it comes to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="YAML file to write")
    parser.add_argument("--name", help="folder under results/ [the file's name]")
    parser.add_argument("--own", type=Path, metavar="FILE.py", help=QUESTIONS["own"])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--devices", type=positive, metavar="N", help=QUESTIONS["devices"])
    parser.add_argument("--nodes", type=positive, default=1, metavar="N", help=QUESTIONS["nodes"])
    parser.add_argument("--minutes", type=float, metavar="N", help=QUESTIONS["minutes"])
    given = parser.parse_args()
    if given.file.exists():
        sys.exit(f"new_config.py: {given.file}: is there already; name another, or move it away")
    if len(sys.argv) == 2 and sys.stdin.isatty():
        asked(given)
    config, runs, found = fitted(given, LEVELS)
    for line in config.left_out:
        print(f"dpscale: {line}", file=sys.stderr)
    print(f"{given.file}: {told(runs, found)}")
    if given.minutes and (found is None or found.seconds > 60 * given.minutes):
        print("It is as short as it gets; leave studies out by null to shorten it further.")
    print(f"Next: snakemake --configfile {given.file}")


if __name__ == "__main__":
    main()
