"""What of a result is damaged or gone is found before the graph is built, and nothing else."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gather
from dpscale.provenance import provenance
from dpscale.records import Record, write_record, write_steps, write_text
from dpscale.records.damage import damaged, forget_made, note_made
from dpscale.studies import planned_runs, read_config, schemas

ROOT = Path(__file__).resolve().parents[2]
CONFIG = read_config(ROOT / "config/config.yaml")
PLAN = dict(list(planned_runs(CONFIG).items())[:3])
FIRST, SECOND, THIRD = PLAN
OTHERS = {
    "derived/a.csv": "a,b\n1,2\n",
    "figures/a.svg": "<svg></svg>\n",
    "answers.json": "[1, 2]",
    "report.html": "<html></html>\n",
    "report.pdf": "%PDF\n%%EOF\n",
}
MADE = ("tables/runs.parquet", "tables/seen.json", *OTHERS)
Damage = Callable[[Path], object]


def measure(folder: Path, spec: dict[str, object]) -> None:
    now = "2026-01-01T00:00:00+00:00"
    facts = provenance(device="CPU", devices=1, backend="gloo")
    record = Record(
        run=folder.name,
        status="complete",
        spec=spec,
        provenance=facts,
        started_at=now,
        finished_at=now,
        wall_s=1.0,
        spans=[{"rank": 0, "iteration": 0, "span_s": 0.1}],
    )
    write_text(folder / "spec.json", json.dumps(spec))
    steps = {"rank": [0, 0], "step": [0, 1], "samples": [8, 8], "step_s": [0.1, 0.2]}
    write_steps(folder / "steps.parquet", steps)
    write_record(folder / "record.json", record)


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for run, spec in PLAN.items():
        measure(tmp_path / "runs" / run, spec.model_dump(mode="json"))
    for name, text in zip(
        MADE[2:], ("a,b\n", "<svg></svg>\n", "[]", "</html>", "%%EOF"), strict=True
    ):
        write_text(tmp_path / name, text)
    monkeypatch.setattr(gather, "planned_runs", lambda _: PLAN)
    gathered(tmp_path, monkeypatch)
    return tmp_path


def gathered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        "--config",
        CONFIG.model_dump_json(exclude={"report"}),
        "--runs",
        folder / "runs",
        "--output",
        folder / "tables",
    ]
    monkeypatch.setattr(sys, "argv", ["gather.py", *map(str, given)])
    gather.main()
    note_made(folder, [str(folder / name) for name in MADE])


def found(folder: Path) -> dict[str, str]:
    made = damaged(folder, PLAN, schemas(), [str(folder / name) for name in MADE])
    return {str(Path(path).relative_to(folder)): reason for path, reason in made.items()}


def of(run: str, name: str = "record.json") -> str:
    return f"runs/{run}/{name}"


def test_a_whole_result_has_nothing_to_make_again(result) -> None:
    assert found(result) == {}


def test_runs_that_are_as_they_were_gathered_are_not_read(result, monkeypatch) -> None:
    monkeypatch.setattr("dpscale.records.damage.Reader", None)
    assert found(result) == {}


def removed(name: str) -> Damage:
    return lambda folder: (
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
    )


def cut(name: str, size: int = 0) -> Damage:
    return lambda folder: os.truncate(folder / name, size)


def edited(name: str, old: str, new: str) -> Damage:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return edit


RECORD, STEPS, SPEC = (of(FIRST, name) for name in ("record.json", "steps.parquet", "spec.json"))
DAMAGED_RUNS = [
    (removed(f"runs/{FIRST}"), "it is gone"),
    (removed(RECORD), "it is gone"),
    (removed(STEPS), "steps.parquet is gone"),
    (removed(SPEC), "spec.json is gone"),
    (cut(RECORD), "Invalid JSON"),
    (cut(RECORD, 100), "Invalid JSON"),
    (cut(STEPS), "no valid steps"),
    (cut(STEPS, 99), "no valid steps"),
    (cut(SPEC, 99), "spec.json is not that of the record"),
    (lambda folder: ((folder / SPEC).unlink(), (folder / SPEC).mkdir()), "spec.json is not that"),
    (edited(SPEC, '"workers": 1', '"workers": 2'), "spec.json is not that of the record"),
    (edited(RECORD, '"wall_s": 1.0', '"wall_s": NaN'), "wall_s: nan"),
    (edited(RECORD, '"span_s": 0.1', '"span_s": -1'), "spans, row 1, span_s: -1"),
    (lambda folder: shutil.copy(folder / of(SECOND), folder / RECORD), "it is of another run"),
]


def a_folder(name: str) -> Damage:
    return lambda folder: ((folder / name).unlink(), (folder / name).mkdir())


DAMAGED_FILES = [
    (edited("derived/a.csv", "a,b", "b,a"), "derived/a.csv", "it was changed after it had been"),
    (edited("figures/a.svg", "<svg>", "<svg> "), "figures/a.svg", "it was changed after"),
    (edited("answers.json", "[]", "{}"), "answers.json", "it was changed after it had been made"),
    *((a_folder(name), name, "it is no file") for name in MADE),
    *((cut(name), name, "it is empty or cut short") for name in MADE),
    *((cut(name, 3), name, "it is empty or cut short") for name in MADE),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGED_RUNS)
def test_a_damaged_run_is_made_again_and_it_alone(result, damage, words) -> None:
    damage(result)
    assert list(found(result)) == [RECORD]
    assert words in found(result)[RECORD]


@pytest.mark.parametrize(("damage", "again", "words"), DAMAGED_FILES)
def test_a_damaged_file_is_made_again_and_it_alone(result, damage, again, words) -> None:
    damage(result)
    assert list(found(result)) == [again]
    assert words in found(result)[again]


def test_before_anything_is_gathered_runs_may_be_missing_but_not_damaged(result) -> None:
    shutil.rmtree(result / "tables")
    shutil.rmtree(result / "runs" / FIRST)
    (result / of(SECOND)).write_text("{}")
    assert list(found(result)) == [of(SECOND)]


def test_a_run_that_was_exchanged_is_gathered_again_though_it_is_older(result) -> None:
    os.utime(result / of(FIRST), (1, 1))
    assert list(found(result)) == ["tables/seen.json"]


def test_a_run_that_was_damaged_when_it_was_gathered_is_made_again(
    result, monkeypatch, capsys
) -> None:
    (result / of(FIRST)).write_text("{}")
    gathered(result, monkeypatch)
    assert f"gather.py: not run: {result / of(FIRST)}: no valid record" in capsys.readouterr().err
    assert list(found(result)) == [of(FIRST)]
    (result / of(FIRST)).unlink()
    assert list(found(result)) == [of(FIRST)]


def test_an_edit_of_what_runs_are_checked_by_has_them_read_again(result, monkeypatch) -> None:
    stricter = schemas() | {"spans": {"span_s": "str"}}
    monkeypatch.setattr("test_damage.schemas", lambda: stricter)
    assert list(found(result)) == [*map(of, PLAN)]


def test_what_a_call_was_about_to_make_is_not_compared_with_what_it_was(result) -> None:
    edited("derived/a.csv", "a,b", "b,a")(result)
    forget_made(result)  # as a call that was killed leaves it
    assert found(result) == {}
