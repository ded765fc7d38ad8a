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

from builders import derived_lab, full_lab
from dpscale.attempts import History, memory_factor
from dpscale.errors import one_line
from dpscale.launch import supervise
from dpscale.provenance import provenance
from dpscale.records import Record, write_record
from dpscale.reporting.answer import dump_answers
from dpscale.reporting.report import BRIEF
from dpscale.studies import answer_all, planned_runs, read_config

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><desc>Words</desc></svg>\n'
CONFIG = read_config(ROOT / "config/config.yaml")
LARGEST = next(
    spec.model_dump(mode="json")
    for spec in planned_runs(CONFIG).values()
    if spec.per_worker_batch is None
)
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
    for name in shown | set(BRIEF.values()):
        (folder / f"figures/{name}.svg").write_text(SVG, encoding="utf-8")
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


def of_search(folder: Path) -> list[object]:
    given = {"--resolution": 0.1, "--runs": folder, "--sweep": "a", "--output": "out.json",
             "--log": folder / "log", "--history": folder / "attempts"}  # fmt: skip
    return [word for pair in given.items() for word in pair]


@pytest.mark.parametrize(
    ("content", "words"), [(None, "record.json"), ('{"run": "a', "record.json JSON")]
)
def test_find_boundary_names_the_record_that_it_cannot_read(tmp_path, last_line, content, words):
    if content:
        (tmp_path / "a").mkdir()
        (tmp_path / "a/record.json").write_text(content)
    arguments = of_search(tmp_path)
    line = last_line("find_boundary.py", json.dumps(LARGEST), *arguments)
    said(line, f"{tmp_path}/a/ {words} again")
    said(last_line("find_boundary.py", '{"run": "a"', *arguments), "PROBE JSON")


def of_sweep(spec: dict[str, object]) -> Record:
    now = "2026-01-01T00:00:00+00:00"
    return Record(
        run="a", status="complete", spec=spec, train_samples=64, started_at=now, finished_at=now,
        provenance=provenance(device="CPU", devices=1, backend="gloo"), wall_s=1.0,
    )  # fmt: skip


def test_find_boundary_names_the_key_that_a_record_lacks(tmp_path, last_line):
    write_record(tmp_path / "a/record.json", of_sweep({}))
    arguments = of_search(tmp_path)
    line = last_line("find_boundary.py", json.dumps(LARGEST), *arguments)
    said(line, "a/record.json per_worker_batch")


def test_a_probe_that_is_killed_asks_for_more_memory(tmp_path, last_line, monkeypatch):
    write_record(tmp_path / "a/record.json", of_sweep({"per_worker_batch": 8}))
    dies = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(sys.modules[supervise.__module__], "command", lambda *_: dies)
    probe = json.dumps(LARGEST | {"per_worker_batch": 1})
    history = History(tmp_path / "attempts")
    for number in (1, 2):
        line = last_line("find_boundary.py", probe, *of_search(tmp_path), "--attempt", number)
        said(line, "boundary-b64-1 record")
        assert memory_factor(history.read()) == 2**number


FACTS = '{"dataset": "a", "train_samples": 9, "validation_samples": 0, "test_samples": 0}'
FOUND = '{"largest_fit_batch": 8, "smallest_failed_batch": 16, "probes": []}'


@pytest.mark.parametrize(
    ("spec", "dataset", "boundary", "words"),
    [
        ("{", "{}", "{}", "SPEC JSON"),
        ({**LARGEST, "kind": "quick"}, "{}", "{}", "SPEC kind 'quick'"),
        ({**LARGEST, "colour": 1}, "{}", "{}", "SPEC colour unknown leave"),
        (LARGEST, None, FOUND, "dataset.json first"),
        (LARGEST, "{", FOUND, "dataset.json JSON again"),
        (LARGEST, FACTS.replace("9", "null"), FOUND, "dataset.json train_samples integer again"),
        (LARGEST, FACTS.replace("9", "-9"), FOUND, "dataset.json train_samples -9 0 again"),
        (LARGEST, FACTS, None, "boundary.json first"),
        (LARGEST, FACTS, "[]", "boundary.json object again"),
        (LARGEST, FACTS, FOUND.replace("16", '"x"'), "boundary.json smallest_failed_batch integer"),
        (LARGEST, FACTS, FOUND.replace("16", "8"), "largest_fit_batch below smallest_failed_batch"),
    ],
)
def test_resolve_spec_names_its_inputs(tmp_path, last_line, spec, dataset, boundary, words):
    for name, content in (("dataset.json", dataset), ("boundary.json", boundary)):
        if content:
            (tmp_path / name).write_text(content)
    text = spec if isinstance(spec, str) else json.dumps(spec)
    arguments = ("--boundary", tmp_path / "boundary.json", "--dataset", tmp_path / "dataset.json")
    said(last_line("resolve_spec.py", text, *arguments), words)


def test_prepare_dataset_names_the_key_and_the_folder(tmp_path, last_line):
    output = ("--output", tmp_path / "dataset.json")
    said(last_line("prepare_dataset.py", "{", *output), "DATA JSON")
    unknown = json.dumps({**DATA, "rooot": "x"})
    said(last_line("prepare_dataset.py", unknown, *output), "DATA rooot unknown leave")
    (tmp_path / "file").write_text("")
    file = json.dumps({**DATA, "root": str(tmp_path / "file")})
    said(last_line("prepare_dataset.py", file, *output), f"{tmp_path}/file folder move")


def test_gather_names_the_config_and_the_boundary(tmp_path, last_line):
    arguments = ("--runs", tmp_path, "--output", tmp_path / "tables")
    said(last_line("gather.py", "--config", "{", *arguments), "--config JSON")
    config, boundary = CONFIG.model_dump_json(exclude={"report"}), tmp_path / "boundary.json"
    boundary.write_text(FOUND.replace("[]", "null"))
    line = last_line("gather.py", "--config", config, "--boundary", boundary, *arguments)
    said(line, "boundary.json probes array again")


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
        ('{"run": "a"', "Spec: Invalid JSON: EOF while parsing an object at line 1 column 11"),
        (json.dumps({**LARGEST, "colour": 1}), "Spec: colour: unknown key; leave it out"),
        (
            json.dumps(LARGEST),
            "per_worker_batch is null; complete the spec with resolve_spec.py",
        ),
    ],
)
def test_run_names_the_spec_that_it_cannot_run(tmp_path, content, reason):
    path = tmp_path / "spec.json"
    path.write_text(content)
    assert (
        stderr_of("run.py", path) == f"run.py: rank 0 on {socket.gethostname()}: {path}: {reason}\n"
    )
