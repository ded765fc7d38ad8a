"""The scripts end with one line that names the script and the file, and no traceback."""

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import HANG_S

import derive
from builders import derived_lab, full_lab
from dpscale.attempts import History, memory_factor
from dpscale.errors import one_line
from dpscale.launch.supervise import supervise
from dpscale.provenance import provenance
from dpscale.records import Record, write_record, write_steps
from dpscale.reporting.answer import dump_answers
from dpscale.studies import answer_all, planned_runs, read_config

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><desc>Words</desc></svg>\n'
CONFIG = read_config(ROOT / "config/config.yaml")
SEARCH = planned_runs(CONFIG)["boundary"].model_dump(mode="json")
DATA = {"dataset": "digits", "validation_frac": 0.1}
Ended = Callable[..., str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A folder of results that every script of the analysis takes as they are."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("tables", "derived", "figures"):
        (folder / name).mkdir()
    for name, table in full_lab().items():
        table.to_parquet(folder / f"tables/{name}.parquet")
    for name, table in derived_lab().items():
        table.to_csv(folder / f"derived/{name}.csv", index=False)
    answers = answer_all(derived_lab(), full_lab())
    (folder / "answers.json").write_text(json.dumps(dump_answers(answers)), encoding="utf-8")
    shown = {figure.name for answer in answers for figure in answer.figures}
    for name in shown:
        for kind in ("svg", "narrow.svg", "print.svg"):
            (folder / f"figures/{name}.{kind}").write_text(SVG, encoding="utf-8")
    return folder


@pytest.fixture
def results(whole, tmp_path, monkeypatch) -> Path:
    """A copy of the folder to damage, which is also the working folder."""
    shutil.copytree(whole, tmp_path / "results")
    monkeypatch.chdir(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def last_line(monkeypatch) -> Ended:
    """Run a script's main with a command line that it refuses; return what it ends with."""

    def ended(script: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            importlib.import_module(script.removesuffix(".py")).main()
        line = stopped.value.code
        assert isinstance(line, str), "sys.exit of a text is status 1 and the text on stderr"
        assert line.startswith(f"{script}: ")
        assert "\n" not in line
        return line

    return ended


def cut(path: Path, share: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def said(line: str, words: str) -> None:
    for word in words.split():
        assert word in line


def test_a_slip_of_the_program_keeps_its_traceback():
    for slip in (TypeError, AssertionError, AttributeError):
        with pytest.raises(slip), one_line("any.py"):
            raise slip("a slip")


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_derive_names_a_cut_parquet_file(results, last_line, share):
    cut(results / "tables/steps.parquet", share)
    line = last_line("derive.py", "--tables", "tables", "--output", "out", "epoch_times")
    said(line, "tables/steps.parquet valid again")


def test_tables_are_the_same_however_many_processes_derive_them(results):
    names = ["bandwidth", "prediction", "scaling"]
    for processes in (1, 3):
        derive.derive(names, results / "tables", results / f"by{processes}", processes)
    for name in names:
        one, three = (results / f"by{processes}/{name}.csv" for processes in (1, 3))
        assert one.read_bytes() == three.read_bytes()
    assert len(list((results / "by3").iterdir())) == len(names)


def test_derive_names_a_missing_table(results, last_line):
    (results / "tables/runs.parquet").unlink()
    arguments = ("--tables", "tables", "--output", "derived", "scaling")
    said(last_line("derive.py", *arguments), "no input table tables/runs.parquet")


def test_derive_names_an_output_folder_that_is_a_file(results, last_line):
    line = last_line("derive.py", "--tables", "tables", "--output", "answers.json", "phases")
    said(line, "answers.json: file folder")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: "", "empty"),
        (lambda text: text[: len(text) // 2], "cut"),
        (lambda text: text.replace("complete,", "complete,none,", 1), "column"),
        (lambda text: text.replace("workers,", "worker,", 1), "columns workers"),
        (lambda text: "run\nx\n", "columns workers status"),
    ],
)
def test_answer_names_the_csv_file_and_its_columns(results, last_line, damage, words):
    path = results / "derived/scaling.csv"
    path.write_text(damage(path.read_text()))
    arguments = ("--tables", "tables", "--derived", "derived", "--output", "new.json")
    said(last_line("answer.py", *arguments), f"derived/scaling.csv {words} again")
    assert not (results / "new.json").exists()


def test_draw_names_a_missing_or_empty_csv_file(results, last_line):
    arguments = ("--derived", "derived", "--output", "out", "ledger")
    path = results / "derived/ledger.csv"
    path.write_text("")
    said(last_line("draw.py", *arguments), "derived/ledger.csv empty again")
    path.unlink()
    said(last_line("draw.py", *arguments), "no input table derived/ledger.csv")


def lacking(path: Path, key: str) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    del content[1][key]
    path.write_text(json.dumps(content), encoding="utf-8")


REPORT = {
    "--answers": "answers.json",
    "--tables": "tables",
    "--derived": "derived",
    "--figures": "figures",
    "--report-config": '{"title": "A lab"}',
    "--templates": str(ROOT / "report"),
    "--output": "report.out",
}


@pytest.mark.parametrize(
    ("damage", "given", "words"),
    [
        (lambda: cut(Path("answers.json")), {}, "answers.json JSON again"),
        (lambda: Path("answers.json").unlink(), {}, "answers.json first"),
        (lambda: Path("answers.json").write_text('{"Q1": 1}'), {}, "answers.json list again"),
        (lambda: lacking(Path("answers.json"), "sentence"), {}, "answers.json Q2 sentence add"),
        (lambda: lacking(Path("answers.json"), "formula"), {}, "answers.json Q2 formula"),
        (None, {"--report-config": '{"titel": "x"}'}, "--report-config titel unknown leave"),
        (None, {"--report-config": '{"title": '}, "--report-config JSON mend"),
        (None, {"--report-config": "nowhere.json"}, "nowhere.json first"),
        (lambda: cut(Path("figures/ledger.svg")), {}, "figures/ledger.svg whole again"),
        (lambda: cut(Path("tables/runs.parquet")), {}, "tables/runs.parquet valid again"),
        (None, {"--templates": "nowhere"}, "nowhere folder templates"),
        (None, {"--templates": "tables"}, "report.html.j2"),
        (None, {"--output": "answers.json/report.out"}, "answers.json file folder"),
        (None, {"--output": "figures"}, " figures: directory; another"),
    ],
)
def test_the_report_names_what_it_cannot_use(results, last_line, damage, given, words):
    if damage:
        damage()
    arguments = [part for pair in (REPORT | given).items() for part in pair]
    said(last_line("render_html.py", *arguments), words)
    if "--output" not in given:  # the PDF needs libraries before it has something to write
        said(last_line("render_pdf.py", *arguments), words)
    assert not (results / "report.out").exists()


def of_launch(path: Path, *earlier: str) -> list[object]:
    return [
        "launch.py",
        path,
        "--log",
        path.with_name("log"),
        "--history",
        path.with_name("attempts"),
        "--earlier",
        *earlier,
    ]


@pytest.fixture
def search(tmp_path) -> list[object]:
    """The launch of the boundary's search after a sweep of one batch, which fitted."""
    now = "2026-01-01T00:00:00+00:00"
    spec = planned_runs(CONFIG)["sweep-b16"].model_dump(mode="json")
    record = Record(
        run="sweep-b16",
        status="complete",
        spec=spec,
        train_samples=64,
        started_at=now,
        finished_at=now,
        provenance=provenance(device="CPU", devices=1, backend="gloo"),
        wall_s=1.0,
    )
    runs = tmp_path / "runs"
    write_record(runs / "sweep-b16/record.json", record)
    write_steps(
        runs / "sweep-b16/steps.parquet",
        {"rank": [0], "step": [0], "samples": [8], "step_s": [0.1]},
    )
    (runs / "sweep-b16/spec.json").write_text(json.dumps(spec))
    (runs / "boundary").mkdir()
    (runs / "boundary/spec.json").write_text(json.dumps(SEARCH))
    (tmp_path / "dataset.json").write_text(FACTS)
    return of_launch(runs / "boundary/spec.json", "sweep-b16")


def test_a_probe_that_is_killed_asks_for_more_memory(search, tmp_path, last_line, monkeypatch):
    dies = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(sys.modules[supervise.__module__], "command", lambda *_: dies)
    history = History(tmp_path / "runs/boundary/attempts")
    for number in (1, 2):
        said(last_line(*search, "--attempt", number), "boundary-b64-1 record")
        assert memory_factor(history.read()) == 2**number


FACTS = '{"dataset": "a", "train_samples": 9, "validation_samples": 0, "test_samples": 0}'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("dataset.json", None, "dataset.json first"),
        ("dataset.json", "{", "dataset.json JSON again"),
        ("dataset.json", FACTS.replace("9", "null"), "dataset.json train_samples integer again"),
        ("dataset.json", FACTS.replace("9", "-9"), "dataset.json train_samples -9 0 again"),
        ("runs/sweep-b16/spec.json", "{", "spec.json JSON again"),
        ("runs/sweep-b16/record.json", "{", "sweep-b16/record.json JSON"),
        ("runs/boundary/spec.json", "{", "boundary/spec.json JSON"),
        ("runs/boundary/spec.json", {**SEARCH, "kind": "quick"}, "spec.json kind 'quick'"),
        ("runs/boundary/spec.json", {**SEARCH, "colour": 1}, "spec.json colour unknown leave"),
    ],
)
def test_launch_names_what_it_cannot_complete_a_spec_of(
    search, tmp_path, last_line, name, content, words
):
    path = tmp_path / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    said(last_line(*search), words)


def test_prepare_dataset_names_the_key_and_the_folder(tmp_path, last_line):
    output = ("--output", tmp_path / "dataset.json")
    said(last_line("prepare_dataset.py", "{", *output), "DATA JSON")
    unknown = json.dumps({**DATA, "rooot": "x"})
    said(last_line("prepare_dataset.py", unknown, *output), "DATA rooot unknown leave")
    (tmp_path / "file").write_text("")
    file = json.dumps({**DATA, "root": str(tmp_path / "file")})
    said(last_line("prepare_dataset.py", file, *output), f"{tmp_path}/file folder move")


def test_gather_names_the_config(tmp_path, last_line):
    arguments = ("--runs", tmp_path, "--output", tmp_path / "tables")
    said(last_line("gather.py", "--config", "{", *arguments), "--config JSON")


def stderr_of(script: str, *arguments: object) -> str:
    """What a script in a process of its own says before it ends with status 1."""
    ended = subprocess.run(
        [sys.executable, SCRIPTS / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended.stderr


def test_a_process_ends_with_status_1_and_one_line(tmp_path):
    line = stderr_of("derive.py", "--tables", tmp_path, "--output", tmp_path)
    assert line == f"derive.py: no input table {tmp_path / 'runs.parquet'}\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            '{"run": "a"',
            "no valid JSON: Expecting ',' delimiter: line 1 column 12 (char 11); "
            "mend it or make it again",
        ),
        (
            json.dumps({**SEARCH, "colour": 1}),
            "Spec[BoundaryProtocol]: colour: unknown key; leave it out",
        ),
        (
            json.dumps(SEARCH),
            "completed_by: it lacks what earlier runs tell; start it by launch.py",
        ),
    ],
)
def test_run_names_the_spec_that_it_cannot_run(tmp_path, content, reason):
    path = tmp_path / "spec.json"
    path.write_text(content)
    assert (
        stderr_of("run.py", path) == f"run.py: rank 0 on {socket.gethostname()}: {path}: {reason}\n"
    )


def test_a_launch_that_is_stopped_before_it_begins_says_so(monkeypatch):
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpscale.launch.warm.start", stopped)
    monkeypatch.setattr(sys, "argv", ["start.py", "run.py"])
    with pytest.raises(SystemExit, match=r"^run\.py: stopped before it began$"):
        importlib.import_module("start").main()
