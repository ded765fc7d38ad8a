"""The workflow from end to end on the smoke configuration, and what a second call does."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bounds import outside
from checkouts import CONFIG, ROOT, Checkout, records, snakemake
from patience import HANG_S

from agreement import contradictions, read
from dpscale.records import read_record
from dpscale.reporting.answer import load_answers
from dpscale.studies import asked_by, planned_runs, read_config, schemas, tables

QUESTIONS = asked_by(
    {spec.study for spec in planned_runs(read_config(ROOT / "config/smoke.yaml")).values()}
)
LAST = {"render_html", "render_pdf", "check_report", "all"}
DERIVATION = {"derive", "draw", "answer"} | LAST
ANALYSIS = {"recorded", "gather"} | DERIVATION
EPOCH = 646  # images that 0.55 of 1,437 leave to train on
DIES_ONCE = """
import os
if not os.path.exists("died"):
    open("died", "w").close()
    os.kill(os.getpid(), 9)
"""
SPLIT = ["exposed_s", "overhead_s", "contention_s"]


def planned_rules(dry_run: subprocess.CompletedProcess[str]) -> set[str]:
    """Rules in the job table of `snakemake -n`; none where nothing is to be done."""
    assert dry_run.returncode == 0, dry_run.stderr
    text = dry_run.stdout + dry_run.stderr
    if "Nothing to be done" in text:
        return set()
    table = text.split("Job stats:")[1].split("total")[0].splitlines()[3:]
    return {line.split()[0] for line in table if line.strip()}


def edited(checkout: Checkout, name: str, old: str, new: str) -> Path:
    """A copy of the checkout, times kept, with a text replaced in one file."""
    folder = checkout.folder.with_name(f"edited-{Path(name).stem}")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_an_interrupted_run_leaves_no_half_record(checkout) -> None:
    assert len(checkout.measured_before) >= 2
    assert checkout.unfinished == []


def test_a_resumed_run_keeps_what_was_measured(checkout) -> None:
    now = records(checkout.folder)
    # The newest may have been written in the moment of the interruption, before its job ended.
    ended = sorted(checkout.measured_before, key=checkout.measured_before.__getitem__)[:-1]
    assert ended
    for path in ended:
        assert now[path] == checkout.measured_before[path]


def test_the_report_is_there_as_html_and_pdf(checkout) -> None:
    html = (checkout.results / "report.html").read_text(encoding="utf-8")
    assert html.count("<section") >= len(QUESTIONS)
    assert (checkout.results / "report.pdf").read_bytes().startswith(b"%PDF")


def test_every_question_is_answered_with_values_and_their_runs(checkout) -> None:
    answers = json.loads((checkout.results / "answers.json").read_text(encoding="utf-8"))
    answers = [answer for answer in answers if answer["id"] in QUESTIONS]
    assert [answer["id"] for answer in answers] == QUESTIONS
    runs = {path.parent.name for path in checkout.results.glob("runs/*/record.json")}
    for answer in answers:
        assert answer["sentence"]
        assert answer["status"] == "complete"
        assert answer["missing"] == []
        for value in answer["values"].values():
            assert set(value) >= {"value", "unit", "low", "high", "n", "runs"}
            assert set(value["runs"]) <= runs
    assert any(v["runs"] for answer in answers for v in answer["values"].values())


def test_no_answer_contradicts_another_or_the_first_page(checkout) -> None:
    answers = load_answers(json.loads((checkout.results / "answers.json").read_text("utf-8")))
    assert contradictions(*read(checkout.results, tables(), schemas()), answers) == []


def test_timed_runs_never_overlap_another_run(checkout) -> None:
    spans = []
    for path in checkout.results.glob("runs/*/record.json"):
        record = read_record(path)
        start, end = (pd.Timestamp(t) for t in (record.started_at, record.finished_at))
        spans.append((start, end, record.spec["kind"], record.run))
    for start, end, kind, run in spans:
        if kind == "timed":
            others = [o for s, e, _, o in spans if o != run and s < end and start < e]
            assert others == [], f"{run} overlaps {others}"


def test_the_sweep_met_a_real_boundary_and_confirmed_it(checkout) -> None:
    sweep = pd.read_csv(checkout.results / "derived/sweep.csv")
    assert sweep["status"].tolist()[-1] == "out_of_memory"
    assert set(sweep["status"].tolist()[:-1]) == {"complete"}
    boundary = pd.read_csv(checkout.results / "derived/boundary.csv").iloc[0]
    assert boundary["largest_fit_batch"] < boundary["smallest_failed_batch"]
    # sweep.confirmations is 1: two processes a side
    assert boundary["fit_confirmations"] >= 2
    assert boundary["failure_confirmations"] >= 2


def test_no_derived_number_leaves_what_its_column_may_hold(checkout) -> None:
    tables = sorted(checkout.results.glob("derived/*.csv"))
    assert tables
    found = {path.stem: outside(pd.read_csv(path)) for path in tables if path.read_text()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def launches_by_hand(checkout: Checkout, run: str, arm: str) -> dict[str, float]:
    """Seconds of an epoch of each launch of a cell that timed `arm`, by the end of its name.

    From steps.parquet by loops. The first launch has the cell's own name.
    """
    assert len(list(checkout.results.glob(f"runs/{run}-launch*"))) == 2
    folders = [checkout.results / f"runs/{run}", *checkout.results.glob(f"runs/{run}-*")]
    found = {folder.name.removeprefix(run): launch_seconds(folder, arm) for folder in folders}
    return {end: seconds for end, seconds in found.items() if not np.isnan(seconds)}


def common(*cells: dict[str, float]) -> list[np.ndarray]:
    """The seconds of those launches that all cells have, in one order."""
    ends = sorted(set.intersection(*map(set, cells)))
    return [np.array([cell[end] for end in ends]) for cell in cells]


def launch_seconds(folder: Path, arm: str) -> float:
    """Median over the repeats of one launch, each of its worker that took longest; NaN of none."""
    steps = pd.read_parquet(folder / "steps.parquet")
    times = []
    steps = steps[steps["arm"] == arm]  # further repeats have no loading
    for repeat in sorted(set(steps["repeat"])):
        rows = steps[steps["repeat"] == repeat]
        elapsed: dict[int, float] = {}
        for row in rows.itertuples():
            elapsed[row.rank] = elapsed.get(row.rank, 0.0) + row.step_s
        times.append(max(elapsed.values()) * EPOCH / rows["samples"].sum())
    return float(np.median(times)) if times else np.nan


def test_scaling_agrees_with_steps_recomputed_by_hand(checkout) -> None:
    scaling = pd.read_csv(checkout.results / "derived/scaling.csv")
    assert set(scaling["kind"]) == {"weak", "strong"}
    for row in scaling.itertuples():
        base_batch = row.per_worker_batch if row.kind == "weak" else row.global_batch
        base, epoch = common(
            launches_by_hand(checkout, f"scaling-n1-b{base_batch}", "with_loading"),
            launches_by_hand(
                checkout, f"scaling-n{row.workers}-b{row.per_worker_batch}", "with_loading"
            ),
        )
        assert row.launches == len(epoch)
        assert row.epoch_s == pytest.approx(np.median(epoch), rel=1e-9)
        assert row.base_epoch_s == pytest.approx(np.median(base), rel=1e-9)
        speedup = np.exp(np.median(np.log(base / epoch)))
        assert row.speedup_ratio == pytest.approx(speedup, rel=1e-9)
        assert row.efficiency_frac == pytest.approx(speedup / row.workers, rel=1e-9)


def test_what_is_open_was_launched_again_and_what_is_decided_was_not(checkout) -> None:
    looks = pd.read_csv(checkout.results / "derived/looks.csv").set_index("looked_at")
    scaling = pd.read_csv(checkout.results / "derived/scaling.csv")
    again = {path.parent.name for path in checkout.results.glob("runs/*-again*/record.json")}
    assert looks["compared"].to_dict() == {"speed-up": 1, "part": 3}
    for row in looks.to_dict("records"):
        assert (row["first_launches"], row["most_launches"]) == (3, 12)
        assert set(row["runs"].split()) == {"scaling-looks", *again}
    assert looks["opened"].any() == bool(again)
    left = looks["opened"] - looks["decided"] + looks["reopened"]
    (ended,) = set(looks["looks_ended"])
    assert left.any() == (ended != "decided")
    several = scaling[scaling["workers"] > 1]
    assert (several["pace"] == "indistinct").sum() == left["speed-up"]
    if ended == "launches":
        assert several["launches"].max() == 12


def test_communication_agrees_with_steps_recomputed_by_hand(checkout) -> None:
    communication = pd.read_csv(checkout.results / "derived/communication.csv")
    assert communication["workers"].tolist() == [1, 2]
    assert communication.loc[0, ["subtraction_s", *SPLIT]].tolist() == [0.0] * 4
    row = communication.iloc[1]
    cells = [
        launches_by_hand(checkout, "scaling-n2-b32", arm)
        for arm in ("without_loading", "noop_hook", "reference")
    ]
    cells.append(launches_by_hand(checkout, "scaling-n1-b32", "without_loading"))
    two, silent, copies, one = map(np.median, common(*cells))
    assert row["compute_s"] == pytest.approx(one / 2, rel=1e-9)
    assert row["subtraction_s"] == pytest.approx(two - one / 2, rel=1e-9)
    assert row["exposed_s"] == pytest.approx(two - silent, rel=1e-9)
    assert row["overhead_s"] == pytest.approx(silent - copies, rel=1e-9)
    assert row["contention_s"] == pytest.approx(copies - one / 2, rel=1e-9)
    bandwidth = pd.read_csv(checkout.results / "derived/bandwidth.csv").iloc[0]
    # X = 77,754 parameters of 4 bytes; at N = 2 the busiest worker moves 2(N-1)/N = 1 of them.
    assert bandwidth["payload_bytes"] == bandwidth["moved_bytes"] == 311_016
    if two > one / 2:
        rate = 311_016 * EPOCH / 64 / (two - one / 2)
        assert bandwidth["lab_bytes_per_s"] == pytest.approx(rate, rel=1e-9)


def test_a_second_call_has_nothing_to_do_and_says_so(checkout) -> None:
    again = snakemake(checkout.folder)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_an_edited_learning_rate_runs_trainings_alone(checkout) -> None:
    folder = edited(checkout, CONFIG, "data:\n", "training:\n  lr: 0.05\ndata:\n")
    rules = planned_rules(snakemake(folder, "-n"))
    assert rules == {"training_run"} | ANALYSIS


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("derive/formulas.py", DERIVATION | {"audit"}),
        ("studies/strategies/search.py", DERIVATION),
        ("studies/strategies/answers.py", {"answer"} | LAST),
    ],
)
def test_an_edit_of_the_analysis_runs_what_imports_it_and_no_measurement(
    name, rules, checkout
) -> None:
    folder = edited(checkout, f"workflow/scripts/dpscale/{name}", '"""', '"""Edited. ')
    assert planned_rules(snakemake(folder, "-n")) == rules


def test_an_edit_of_the_words_of_audits_audits_again(checkout) -> None:
    folder = edited(checkout, "report/audit.j2", "{# ", "{# Edited. ")
    assert planned_rules(snakemake(folder, "-n")) == {"audit", "answer"} | LAST


def test_a_record_changed_by_hand_is_gathered_again(checkout) -> None:
    record = next(checkout.results.glob("runs/*/record.json")).relative_to(checkout.folder)
    folder = edited(checkout, str(record), '"wall_s": ', '"wall_s": 1')
    assert planned_rules(snakemake(folder, "-n")) == ANALYSIS


def test_a_call_that_ended_before_it_gathered_new_records_leaves_that_to_the_next(checkout) -> None:
    folder = checkout.folder.with_name("recorded")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    (folder / "results/smoke/logs/recorded-0.txt").write_text("1\n")  # as the job leaves it
    assert planned_rules(snakemake(folder, "-n")) == {"gather"} | DERIVATION


def test_what_was_deleted_or_damaged_is_planned_again(checkout) -> None:
    folder = checkout.folder.with_name("damaged")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    results = folder / "results/smoke"
    deleted, damaged = "scaling-n2-b32", "replicas-baseline-n2-b32"
    shutil.rmtree(results / "runs" / deleted)
    record = results / "runs" / damaged / "record.json"
    record.write_text(record.read_text().replace('"wall_s": ', '"wall_s": -'))
    (results / "derived/scaling.csv").write_text("")
    planned = snakemake(folder, "-n")
    # With the run that looks at what it measured.
    assert planned_rules(planned) == {"timed_run", "training_run"} | ANALYSIS
    said = planned.stdout + planned.stderr
    assert re.search(r"^timed_run +2$", said, re.MULTILINE)
    assert re.search(r"^training_run +1$", said, re.MULTILINE)
    assert f"{damaged}/record.json: no valid record: wall_s: -" in said
    shutil.copytree(checkout.results / "runs" / deleted, results / "runs" / deleted)
    shutil.copy(checkout.results / record.relative_to(results), record)
    figure = next((results / "figures").glob("*.svg"))
    figure.unlink()
    assert planned_rules(snakemake(folder, "-n")) >= {"derive", "draw", "answer"}


@pytest.mark.slow
def test_an_answer_that_fails_costs_no_other_and_the_call_ends_with_its_name(checkout) -> None:
    head = "{% macro short() %}"
    folder = edited(checkout, "report/E2.j2", head, head + "{{ 1 / 0 }}")
    ended = snakemake(folder)
    assert ended.returncode != 0
    assert "E2: ZeroDivisionError: division by zero (E2.j2, line " in ended.stderr
    results = folder / "results/smoke"
    answers = json.loads((results / "answers.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in answers if one["status"] == "failed"] == ["E2"]
    assert "This answer failed" in (results / "report.html").read_text(encoding="utf-8")
    assert (results / "report.pdf").stat().st_mtime >= (results / "answers.json").stat().st_mtime
    assert planned_rules(snakemake(folder, "-n")) == {"check_report", "all"}
    shutil.copy(checkout.folder / "report/E2.j2", folder / "report/E2.j2")
    assert planned_rules(snakemake(folder, "-n")) == {"answer"} | LAST


def test_a_run_is_replayed_by_hand_from_its_spec(checkout, tmp_path) -> None:
    spec = checkout.results / "runs/sweep-b256/spec.json"
    script = checkout.folder / "workflow/scripts/run.py"
    subprocess.run(
        [sys.executable, script, spec, "--output", tmp_path],
        check=True,
        cwd=checkout.folder,
        capture_output=True,
        timeout=HANG_S,
    )
    replayed, recorded = (
        read_record(tmp_path / "record.json"),
        read_record(spec.with_name("record.json")),
    )
    assert replayed.spec == recorded.spec
    assert replayed.parameters == recorded.parameters


def test_a_wrong_key_stops_before_the_graph_with_one_line(checkout) -> None:
    wrong = checkout.folder / "config/wrong.yaml"
    text = (checkout.folder / CONFIG).read_text(encoding="utf-8")
    wrong.write_text(text.replace("per_worker_batches", "per_worker_batchs", 1), encoding="utf-8")
    ended = snakemake(checkout.folder, "-n", config="config/wrong.yaml")
    assert ended.returncode != 0
    lines = [line for line in ended.stderr.splitlines() if line and "profile" not in line]
    assert lines == [
        "config: scaling.per_worker_batchs: unknown key; did you mean scaling.per_worker_batches?"
    ]


def test_records_of_another_machine_are_refused(checkout) -> None:
    folder = checkout.folder.with_name("mixed")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    path = folder / "results/smoke/runs/scaling-n2-b32/record.json"
    record = read_record(path)
    here = record.provenance["fingerprint"]
    foreign = record.provenance | {"fingerprint": "8 x another device"}
    changed = record.model_copy(update={"provenance": foreign})
    path.write_text(changed.model_dump_json(), encoding="utf-8")
    ended = snakemake(folder)
    assert ended.returncode != 0
    assert here in ended.stdout + ended.stderr
    assert "8 x another device" in ended.stdout + ended.stderr


def test_a_probe_that_is_killed_gets_twice_the_memory_at_the_next_attempt(checkout) -> None:
    folder = checkout.folder.with_name("killed-probe")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    search = folder / "results/smoke/runs/boundary"
    (search / "record.json").unlink()
    probe = max(search.glob("probes/*"), key=lambda path: path.stat().st_mtime)
    shutil.rmtree(probe)
    run = folder / "workflow/scripts/run.py"
    run.write_text(run.read_text().replace("import argparse", DIES_ONCE + "import argparse", 1))
    rule = folder / "rules/runs.smk"
    asked = '"echo {resources.mem_mb} >> asked; printf'
    rule.write_text(rule.read_text().replace('"printf', asked, 1))

    more = ("--rerun-triggers", "mtime", "--retries", "1")
    more += ("--default-resources", "mem_mb=100", "runtime=1")
    ended = snakemake(folder, "results/smoke/runs/boundary/record.json", *more)
    assert ended.returncode == 0, ended.stderr[-3000:]
    first_mb, second_mb = map(int, (folder / "asked").read_text().split())
    assert first_mb > 100  # the samples come on top
    assert second_mb == 2 * first_mb
    attempts = sorted((folder / "results/smoke/attempts/boundary").glob("attempt-*.json"))
    assert f"{probe.name} begins" in attempts[0].read_text()
    assert ['"cause":"killed"' in path.read_text() for path in attempts] == [True, False]
