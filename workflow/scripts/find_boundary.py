"""Finds the largest batch that fits one device: bisects between the batches of the sweep.

Every probe is a run in a fresh process, with its own spec and record under RUNS; a probe whose
record is there already (an interrupted search) is not run again. Writes boundary.json with the
largest batch that fits, the smallest that failed and the names of the probes. A probe that ends
without a record ends the search, and how is in HISTORY, as of an attempt at a run.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from dpscale.attempts import History
from dpscale.errors import one_line
from dpscale.launch import supervise
from dpscale.launch.machine import machine
from dpscale.plan import Spec
from dpscale.records import read_record, write_text
from dpscale.records.runs import RECORD, SPEC, Reader
from dpscale.records.storage import DamagedError, about
from dpscale.studies import schemas
from dpscale.studies.batch_sweep.boundary import bounds, next_probe

FITS = {"complete": True, "out_of_memory": False}
Start = Callable[[Spec, Path], int]  # runs a spec, given its file; 0: it has a record


def probe(spec: Spec, folder: Path, machine: str, start: Start) -> str:
    """Status of a probe: from its record if of the same spec and machine, else by running it."""
    write_text(folder / SPEC, spec.model_dump_json())
    earlier = None
    with suppress(DamagedError):  # or missing
        earlier = Reader(schemas()).read(folder).record
    if not (
        earlier
        and earlier.spec == spec.model_dump(mode="json")
        and earlier.provenance["fingerprint"] == machine
    ):
        (folder / RECORD).unlink(missing_ok=True)
        if start(spec, folder / SPEC):
            sys.exit(f"find_boundary.py: {spec.run} has no record, so the search ends here")
    return read_record(folder / RECORD).status


def search(
    template: Spec,
    resolution_frac: float,
    confirmations: int,
    runs: Path,
    sweep: list[str],
    start: Start,
    log: IO[str],
) -> dict[str, Any]:
    """The settled boundary, as boundary.json holds it; `log` gets a line a probe."""
    records = [read_record(runs / run / RECORD) for run in sweep]
    outcomes: dict[int, list[bool]] = {}
    for run, record in zip(sweep, records, strict=True):
        if record.status in FITS:
            with about(runs / run / RECORD):
                batch = record.spec["per_worker_batch"]
            outcomes.setdefault(batch, []).append(FITS[record.status])
    samples = next((r.train_samples for r in records if r.train_samples), None)
    if all(record.status == "unavailable" for record in records):
        return {"largest_fit_batch": None, "smallest_failed_batch": None, "probes": []}
    if samples is None:
        reasons = ", ".join(f"{r.run}: {r.status} ({r.message})" for r in records)
        sys.exit(f"find_boundary.py: no batch of the sweep ran: {reasons}")
    machine = records[0].provenance["fingerprint"]
    probes: list[str] = []
    while batch := next_probe(
        outcomes, train_samples=samples, resolution_frac=resolution_frac,
        confirmations=confirmations,
    ):  # fmt: skip
        run = f"boundary-b{batch}-{len(outcomes.get(batch, [])) + 1}"
        spec = template.model_copy(update={"run": run, "per_worker_batch": batch})
        status = probe(spec, runs / run, machine, start)
        print(f"batch {batch}: {status.replace('_', ' ')}", file=log, flush=True)
        if status not in FITS:
            sys.exit(f"find_boundary.py: {run}: {status}: see {runs / run / 'record.json'}")
        outcomes.setdefault(batch, []).append(FITS[status])
        probes.append(run)
    fits, failed = bounds(outcomes)
    return {"largest_fit_batch": fits, "smallest_failed_batch": failed, "probes": probes}


@one_line("find_boundary.py")
def main() -> None:
    """Read the command line, search, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("probe", help="spec of a probe, as JSON; its run and batch are replaced")
    parser.add_argument("--resolution", type=float, required=True, help="relative width to reach")
    parser.add_argument("--confirmations", type=int, default=2, help="further probes of a side")
    parser.add_argument("--runs", type=Path, required=True, help="folder with a folder a run")
    parser.add_argument("--sweep", nargs="+", required=True, help="runs of the sweep")
    parser.add_argument("--output", type=Path, required=True, help="boundary.json")
    parser.add_argument("--log", type=Path, required=True, help="what the probes print")
    parser.add_argument("--history", type=Path, required=True, help="folder of the attempts")
    parser.add_argument("--attempt", type=int, default=1, help="which attempt at it this is")
    given = parser.parse_args()
    with about("PROBE"):
        template = Spec.model_validate_json(given.probe)
    given.log.parent.mkdir(parents=True, exist_ok=True)
    with given.log.open("w", encoding="utf-8") as log:

        def start(spec: Spec, path: Path) -> int:
            print(f"{spec.run} begins", file=log, flush=True)  # the last line of one that is killed
            history = History(given.history)
            with machine(spec.run, alone=True, log=log):
                return supervise(spec, path, history=history, number=given.attempt, log=log)

        found = search(
            template, given.resolution, given.confirmations, given.runs, given.sweep, start, log
        )
    write_text(given.output, json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
