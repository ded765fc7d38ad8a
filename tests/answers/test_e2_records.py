"""E2: what trainings left in their records changes the advice, and what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import choose_builders
from builders import run_row
from cases import Case, failures, plain, text_of
from dpscale.provenance import provenance
from dpscale.records import Record, read_record, write_record, write_steps
from dpscale.records.tidy import tidy_tables
from dpscale.reporting.inputs import Inputs
from dpscale.studies import (
    answer_one,
    configured_rows,
    derived_of,
    load_config,
    planned_runs,
    run_columns,
    schemas,
)
from steps_to_goal_builders import BATCHES, GOAL_ERROR_FRAC

Trials = list[dict[str, Any]]
Edit = Callable[[str, Trials], None]
SECTIONS = ("sweep", "scaling", "communication", "large_batch", "replicas", "ledger", "assignment")
CONFIG = load_config(
    {"name": "t", "launches": len(choose_builders.SPREAD)}
    | dict.fromkeys(SECTIONS)
    | {
        "steps_to_goal": {
            "models": [
                {"name": "mlp", "goal_error_frac": GOAL_ERROR_FRAC, "optimizers": ["nesterov"]}
            ],
            "batch_sizes": list(BATCHES),
        },
        "choose": {
            "optimizer": "nesterov",
            "workers": list(choose_builders.WORKERS),
            "per_worker_batches": list(choose_builders.BATCHES),
            "predicted_workers": [8],
        },
    }
)
SPECS = {run: spec.model_dump(mode="json") for run, spec in planned_runs(CONFIG).items()}
ADVISED = "choose-goal-n1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of records as runs leave them: one worker with B = 64 is advised, and keeps it."""
    made = choose_builders.with_search(run_row)
    runs = tmp_path_factory.mktemp("runs")
    machine = provenance(device="CPU core", devices=4, backend="gloo")
    for row in made["runs"]:
        rows = {
            name: [
                {key: value for key, value in one.items() if key != "run"}
                for one in own
                if one.get("run") == row["run"]
            ]
            for name, own in made.items()
            if name not in ("runs", "limits")
        }
        spec = SPECS[row["run"]] | {"per_worker_batch": row["per_worker_batch"]}
        record = Record(
            run=row["run"],
            status="complete",
            spec=spec,
            provenance=machine,
            started_at="2026-01-01T00:00:00+00:00",
            finished_at="2026-01-01T00:01:00+00:00",
            wall_s=60.0,
            train_samples=row["train_samples"],
            **rows,
        )
        write_record(runs / row["run"] / "record.json", record)
        write_steps(runs / row["run"] / "steps.parquet", {})
    return runs


def said(folder: Path, edit: Edit, out: Path) -> str:
    """What E2 says of the records after an edit of the trainings of each goal run."""
    for path in sorted(folder.iterdir()):
        record = read_record(path / "record.json")
        trials = [dict(row) for row in record.trials]
        edit(path.name, trials)
        write_record(out / path.name / "record.json", record.model_copy(update={"trials": trials}))
        write_steps(out / path.name / "steps.parquet", {})
    tables = tidy_tables(SPECS, out, schemas(), run_columns, configured_rows(CONFIG))
    answer = answer_one("E2", Inputs(derived_of(tables), tables))
    return f"{text_of(answer)} In short: {plain(answer.short)}"


def slowed(factors: dict[str, float]) -> Edit:
    """Trainings of some runs that take so many times as long, by how the run's name begins."""

    def edit(run: str, trials: Trials) -> None:
        for start, factor in factors.items():
            for row in trials if run.startswith(start) else ():
                row["wall_s"] *= factor

    return edit


def missed(start: str, seeds: int) -> Edit:
    """So many seeds of some runs that end before the goal."""

    def edit(run: str, trials: Trials) -> None:
        for row in trials if run.startswith(start) else ():
            if row["seed"] < 200 + seeds:
                row |= {"status": "incomplete", "wall_s": None, "steps_to_goal": None}

    return edit


KEPT = "In short: Take one worker with B = 64: "
CASES: dict[str, tuple[Edit, list[str], list[str]]] = {
    "as predicted": (
        slowed({}),
        [KEPT, "in 194 ms, 85.0 steps of 2.28 ms (predicted: 194 ms)"],
        ["had advised", "did not reach"],
    ),
    "the advised three times as long, its rivals a fifth": (
        slowed({ADVISED: 3.0, "choose-goal-n2": 0.2, "choose-goal-n4": 0.2}),
        [
            "Take four workers with B = 256 (a step takes one worker 6.12 ms): trained, it took "
            "36.8 ms to 4% validation error, 0.0633× the time of one worker with B = 64, which "
            "the steps and the seconds of a step had advised.",
            "In short: Take four workers with B = 256: 36.8 ms",
        ],
        ["ake one worker"],
    ),
    "the advised a fifth, its rivals three times as long": (
        slowed({ADVISED: 0.2, "choose-goal-n2": 3.0, "choose-goal-n4": 3.0}),
        [
            KEPT + "38.8 ms to",
            "in 38.8 ms, 85.0 steps of 456 µs (sooner than the 194 ms predicted)",
        ],
        ["had advised"],
    ),
    "four of five seeds of the advised missed the goal": (
        missed(ADVISED, 4),
        [
            "one worker with B = 64, which the steps and the seconds of a step had advised, missed "
            "it with 4 of 5 seeds.",
            "One worker with B = 64: 4 of 5 seeds did not reach the goal",
        ],
        ["Take one worker with B = 64"],
    ),
    "four of five seeds of every setting missed the goal": (
        missed("choose-", 4),
        [
            "One worker with B = 64, by prediction the soonest (194 ms to 4% validation error), "
            "missed the goal when trained, with 4 of 5 seeds, and no setting that was trained "
            "stands in for it: take none of them yet.",
            "In short: No advice stands: trained, one worker with B = 64, the choice by "
            "prediction, missed the goal with 4 of 5 seeds.",
        ],
        ["Take one worker", "It was not checked"],
    ),
    "four of five seeds of a rival missed the goal": (
        missed("choose-goal-n4", 4),
        [KEPT, "Four workers with B = 256: 4 of 5 seeds did not reach the goal"],
        ["had advised"],
    ),
    "two of five seeds of a rival missed the goal": (
        missed("choose-goal-n4", 2),
        [KEPT, "Four workers with B = 256: 2 of 5 seeds did not reach the goal"],
        ["had advised"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_advice_follows_what_the_records_of_its_trainings_say(
    case: str, folder: Path, tmp_path: Path
) -> None:
    edit, says, never = CASES[case]
    text = said(folder, edit, tmp_path)
    assert not failures(Case(case, says=says, never=never), text), text
