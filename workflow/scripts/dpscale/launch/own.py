"""A look at a user's own file before anything else runs: once for each edit, in a child process."""

import hashlib
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from dpscale.config.own import OwnFacts
from dpscale.config.reading import ConfigError
from dpscale.files import whole
from dpscale.plan.spec import OwnFile

SCRIPT = Path(__file__).resolve().parents[2] / "prepare_dataset.py"
KEPT = Path(".snakemake/dpscale")  # of the folder of a call
FORMAT = 2  # raised when the look finds something else


def look(own: OwnFile) -> OwnFacts:
    """Return what is found in a file, now or by an earlier call.

    Raises ConfigError with the line of the file, where it cannot be trained.
    """
    path = kept(own)
    try:
        return OwnFacts.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        print(f"dpscale: {Path(own.file).name} is tried on two samples", file=sys.stderr)
    command = [sys.executable, str(SCRIPT), "{}", "--own", own.model_dump_json(), "--look"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
        said = reason.removeprefix(f"{SCRIPT.name}: ")
        raise ConfigError(f"config: own.file = {json.dumps(own.file)}: {said}")
    found = ended.stdout.rstrip().rpartition("\n")[2]  # below what the file prints
    return keep(own, OwnFacts.model_validate_json(found))


def keep(own: OwnFile, facts: OwnFacts) -> OwnFacts:
    """Keep what was found for later calls, where the folder may be written; return it."""
    with suppress(OSError), whole(kept(own)) as path:  # else the next call looks again
        path.write_text(facts.model_dump_json(), encoding="utf-8")
    return facts


def kept(own: OwnFile) -> Path:
    """Return where it is kept: by the code of the file, and its arguments."""
    decides = json.dumps([FORMAT, own.file, own.digest, own.arguments], sort_keys=True)
    return KEPT / f"own-{hashlib.sha256(decides.encode()).hexdigest()[:16]}.json"
