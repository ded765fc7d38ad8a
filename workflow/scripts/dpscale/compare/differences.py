"""What differs between two results before any number is compared: machine, versions, settings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dpscale.compare.results import Results
from dpscale.derive.cells import combined_status

# Runs by what they are a measurement of: launches of a cell, or its seeds, have one identity.
Cells = dict[tuple[tuple[str, Any], ...], list[str]]

_MACHINE = ("device", "cpu", "host", "backend", "system", "commit")
# What a run measures does not depend on these: where it runs, how often, and within what limits.
_ASIDE = {
    "run",
    "seeds",
    "data.root",
    "own.file",
    "protocol.expected",
    "protocol.memory_budget_bytes",
    "protocol.repeats",
    "protocol.budget_s",
    "protocol.probes",
}
_ASIDE_SECTIONS = ("protocol.timing.", "hardware.")
_THREADS = "hardware.threads_per_worker"


class Difference(NamedTuple):
    """A field with its two values; runs: how many runs of one name differ in it."""

    field: str
    a: Any
    b: Any
    runs: int = 0


def of_machines(a: Results, b: Results) -> list[Difference]:
    """Return in what machine, versions and commit differ."""
    facts = [_facts(one) for one in (a, b)]
    names = dict.fromkeys([*facts[0], *facts[1]])
    pairs = [Difference(name, facts[0].get(name), facts[1].get(name)) for name in names]
    return [one for one in pairs if one.a != one.b]


def _facts(results: Results) -> dict[str, str]:
    """Machine and versions by name: of all runs where the table has them, else of the newest."""
    said = {name: _all_of(results, name) or results.provenance.get(name) for name in _MACHINE}
    versions: dict[str, list[str]] = {}
    for text in dict.fromkeys(row["versions"] for row in results.runs.values() if row["versions"]):
        for one in text.split(", "):
            name, _, number = one.partition(" ")
            versions.setdefault(name, []).append(number)
    facts = said | {name: ", ".join(dict.fromkeys(found)) for name, found in versions.items()}
    return {name: str(value) for name, value in facts.items() if value}


def _all_of(results: Results, column: str) -> str:
    found = (row.get(column) for row in results.runs.values())
    return ", ".join(sorted({str(one) for one in found if one is not None}))


def of_settings(a: Results, b: Results) -> list[Difference]:
    """Return in what the specs of runs of one name differ, the field of most runs first."""
    counts: dict[tuple[str, str, str], int] = {}
    fields = _shared(a, b)
    for run in a.specs.keys() & b.specs.keys():
        one, other = a.specs[run], b.specs[run]
        for field in fields:
            if one.get(field) != other.get(field):
                key = field, str(one.get(field)), str(other.get(field))
                counts[key] = counts.get(key, 0) + 1
    found = [Difference(*key, runs) for key, runs in counts.items()]
    return sorted(found, key=lambda one: (-one.runs, one.field, one.a, one.b))


def _shared(a: Results, b: Results) -> list[str]:
    """The fields that both know: one that a later version added tells nothing of an earlier run."""
    known = [{field for spec in one.specs.values() for field in spec} for one in (a, b)]
    return sorted(known[0] & known[1])


def cells_of(a: Results, b: Results) -> tuple[Cells, Cells]:
    """Return the cells of each of the two: one identity is one cell, of both."""
    fields = [field for field in _shared(a, b) if _tells(field)]
    return _cells(a.specs, fields), _cells(b.specs, fields)


def _tells(field: str) -> bool:
    return field == _THREADS or not (field in _ASIDE or field.startswith(_ASIDE_SECTIONS))


def _cells(specs: Mapping[str, Mapping[str, Any]], fields: Sequence[str]) -> Cells:
    found: Cells = {}
    for run, spec in specs.items():
        identity = tuple((name, spec[name]) for name in fields if spec.get(name) is not None)
        found.setdefault(identity, []).append(run)
    return found


def of_outcomes(a: Results, b: Results) -> list[Difference]:
    """Return the cells of both whose runs ended otherwise, by the name of a first run."""
    here, there = cells_of(a, b)
    found = [
        Difference(runs[0], _status(a, runs), _status(b, there[identity]))
        for identity, runs in here.items()
        if identity in there
    ]
    return [one for one in found if one.a != one.b]


def _status(results: Results, runs: Iterable[str]) -> str:
    return combined_status(results.runs[run]["status"] for run in runs).replace("_", " ")
