"""Completes the spec of a run from the records of earlier ones: the one way in which runs follow.

A planned spec names a `Completion` (`completed_by`). The workflow makes the runs that it reads
first; then whoever launches the run has its spec completed.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from dpscale.plan import Spec
from dpscale.records import Record, read_record, write_text
from dpscale.records.facts import DatasetFacts
from dpscale.records.runs import RECORD, SPEC, Reader
from dpscale.records.storage import DamagedError, read_json, read_model
from dpscale.studies import derived_of, run_columns, schemas
from dpscale.studies.study import Completion, Earlier

PROBES = "probes"  # folder of a run's own further runs
Start = Callable[[Spec, Path], int]  # does a run, given its file; 0: it has a record


def earlier_runs(spec: Spec, plan: Mapping[str, Spec]) -> list[str]:
    """Return the planned runs whose records complete a spec; none of one that is whole."""
    if spec.completed_by is None:
        return []
    completion: Completion = resolve_name(spec.completed_by)
    return [run for run, other in plan.items() if completion.reads(spec, other)]


def completed(spec: Spec, folder: Path, earlier: Sequence[str], start: Start) -> Spec:
    """Return a spec as the earlier runs complete it; itself where it is whole.

    folder: of the run, beside those of the earlier ones. Raises ValueError for a damaged run: with
    it the spec would be another.
    """
    if spec.completed_by is None:
        return spec
    from dpscale.records.tidy import missing, tidy_tables  # not above: pandas takes long

    completion: Completion = resolve_name(spec.completed_by)

    def tables(runs: Sequence[str]) -> dict[str, Any]:
        """The tidy tables of runs."""
        specs = {run: read_json(folder.parent / run / SPEC) for run in runs}
        given = completion.configured(spec)
        return tidy_tables(specs, folder.parent, schemas(), run_columns, given)

    tidy = tables(earlier)
    if len(damaged := missing(tidy["runs"])["message"].dropna()):
        raise ValueError(damaged.iloc[0])
    machines = set(tidy["runs"]["fingerprint"].dropna())
    since = max(tidy["runs"]["finished_at"].dropna(), default="")

    def further(parent: Path, run: Spec) -> Record:
        """The record of a further run: one of an interrupted call, or a new."""
        return _kept(run, parent / run.run, machines, since) or _made(run, parent / run.run, start)

    facts = read_model(folder.parents[1] / "dataset.json", DatasetFacts)
    known = Earlier(
        tidy["runs"],
        derived_of(tidy),
        facts.train_samples,
        probe=partial(further, folder / PROBES),
        launch=partial(further, folder.parent),
        joined=lambda runs: derived_of(tables([*earlier, *runs])),
    )
    return completion.complete(spec, known).model_copy(update={"completed_by": None})


def _kept(spec: Spec, folder: Path, machines: Set[str], since: str) -> Record | None:
    """The record in a folder, if of that spec and the machine, and begun after the earlier runs."""
    with suppress(DamagedError):  # or missing
        record = Reader(schemas()).read(folder).record
        same = record.spec == spec.model_dump(mode="json")
        here = record.provenance["fingerprint"] in machines
        return record if same and here and record.started_at >= since else None
    return None


def _made(spec: Spec, folder: Path, start: Start) -> Record:
    write_text(folder / SPEC, spec.model_dump_json())
    (folder / RECORD).unlink(missing_ok=True)
    if start(spec, folder / SPEC):
        raise ValueError(f"{spec.run} has no record, so that what it is part of ends here")
    return read_record(folder / RECORD)
