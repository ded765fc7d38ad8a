"""How long the runs of the configurations in config/ took where somebody wrote it down.

`durations.json` is written by write_durations.py; it tells a first call how long it will take.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("durations.json")


@dataclass(frozen=True)
class Durations:
    """Seconds of each run by its name, and what each job takes beside its run; both measured."""

    run_s: Mapping[str, float] = field(default_factory=dict)
    job_s: float = 0.0


NOTHING = Durations()


def durations(name: str, file: Path = FILE) -> Durations:
    """Return what is written down of the configuration of a name; nothing where it is unknown."""
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return Durations(**known[name]) if name in known else NOTHING


def write_durations(name: str, found: Durations, file: Path = FILE) -> None:
    """Write down what was found of a configuration, beside what is known of the others."""
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    known[name] = asdict(found)
    file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
