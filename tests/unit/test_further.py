"""Runs that a planned run launched: kept, gathered beside the planned ones, and made again."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gather
from dpscale.plan import Spec
from dpscale.records import write_text
from dpscale.records.damage import damaged
from dpscale.records.facts import DatasetFacts
from dpscale.studies import load_config, planned_runs, schemas
from dpscale.studies.completion import completed
from dpscale.studies.study import Completion, Earlier
from test_damage import measure

SCALING = {"workers": [1, 2], "per_worker_batches": [32], "strong": False}
CONFIG = load_config({"name": "x", "scaling": SCALING, "launches": 3, "repeat_minutes": 1.0})
PLAN = {
    run: spec
    for run, spec in planned_runs(CONFIG).items()
    if run in ("scaling-n1-b32", "scaling-n2-b32", "scaling-looks")
}
CELL, LOOKS = PLAN["scaling-n2-b32"], PLAN["scaling-looks"]
AGAIN = CELL.model_copy(update={"run": "scaling-n2-b32-again1", "study": "scaling_again"})
BY_TEST = f"{__name__}:LAUNCHES_AGAIN"


def launch_again(spec: Spec, earlier: Earlier) -> Spec:
    """Launch one run, and note the launches that are then known."""
    earlier.launch(AGAIN)
    (row,) = earlier.joined([AGAIN.run])["scaling"].query("workers == 2").to_dict("records")
    return spec.model_copy(update={"withheld": row["runs"]})


LAUNCHES_AGAIN = Completion(lambda _, other: other.study == "scaling", launch_again)


def launched(folder: Path, spec: Spec) -> None:
    measure(folder / "runs" / spec.run, spec.model_dump(mode="json"))


@pytest.fixture
def result(tmp_path: Path) -> Path:
    protocol = LOOKS.protocol.model_copy(update={"further": (AGAIN.run,), "looks_ended": "budget"})
    looked = LOOKS.model_copy(update={"protocol": protocol, "completed_by": None})
    for spec in (PLAN["scaling-n1-b32"], CELL, AGAIN, looked):
        launched(tmp_path, spec)
    return tmp_path


def gathered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, Spec] = PLAN
) -> pd.DataFrame:
    monkeypatch.setattr(gather, "planned_runs", lambda _: plan)
    given = ["--config", CONFIG.model_dump_json(exclude={"report"}), "--runs", folder / "runs"]
    words = ["gather.py", *given, "--output", folder / "tables"]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    gather.main()
    return pd.read_parquet(folder / "tables/runs.parquet").set_index("run")


def again(folder: Path) -> dict[str, str]:
    """What is to be made again, and why, by run."""
    return {
        Path(path).parent.name: why for path, why in damaged(folder, PLAN, schemas(), []).items()
    }


def test_what_a_planned_run_launched_is_gathered_beside_the_planned_runs(
    result, monkeypatch
) -> None:
    runs = gathered(result, monkeypatch)
    assert set(runs.index) == {*PLAN, AGAIN.run}
    assert runs.loc[AGAIN.run, ["study", "status"]].tolist() == ["scaling_again", "complete"]
    assert runs.loc["scaling-looks", "looks_ended"] == "budget"
    assert again(result) == {}


def test_what_was_launched_for_another_configuration_does_not_count(result, monkeypatch) -> None:
    protocol = LOOKS.protocol.model_copy(update={"first_launches": 5})
    other = PLAN | {"scaling-looks": LOOKS.model_copy(update={"protocol": protocol})}
    assert AGAIN.run not in gathered(result, monkeypatch, other).index


@pytest.mark.parametrize("name", ["record.json", "spec.json", "steps.parquet"])
def test_a_launch_that_is_gone_or_damaged_has_the_run_that_made_it_made_again(
    result, monkeypatch, name
) -> None:
    gathered(result, monkeypatch)
    file = result / "runs" / AGAIN.run / name
    file.write_text("{")
    assert f"{AGAIN.run}/{name}" in again(result)["scaling-looks"] or name == "spec.json"
    assert again(result).keys() >= {"scaling-looks"}
    file.unlink()
    assert "is gone" in again(result)["scaling-looks"]


def test_a_further_launch_is_kept_by_the_next_call_and_known_beside_the_earlier(tmp_path) -> None:
    for run in ("scaling-n1-b32", "scaling-n2-b32"):
        launched(tmp_path, PLAN[run])
    facts = DatasetFacts(
        dataset="digits", train_samples=1293, validation_samples=0, test_samples=360
    )
    write_text(tmp_path / "dataset.json", facts.model_dump_json())
    spec = LOOKS.model_copy(update={"completed_by": BY_TEST})
    started = []

    def start(further: Spec, path: Path) -> int:
        started.append(further.run)
        assert path == tmp_path / "runs" / further.run / "spec.json"
        launched(tmp_path, further)
        return 0

    found: list[Any] = []
    for _ in range(2):  # the first call was interrupted, say
        folder = tmp_path / "runs/scaling-looks"
        found.append(completed(spec, folder, ["scaling-n1-b32", "scaling-n2-b32"], start))
    assert found[0] == found[1]
    assert started == [AGAIN.run]
    # Measured anew since, the plan has further launches of its own.
    record = tmp_path / "runs/scaling-n2-b32/record.json"
    record.write_text(record.read_text().replace("2026-01-01", "2026-01-02"))
    completed(spec, folder, ["scaling-n1-b32", "scaling-n2-b32"], start)
    assert started == [AGAIN.run] * 2
    assert found[0].withheld == "scaling-n2-b32 scaling-n2-b32-again1"
