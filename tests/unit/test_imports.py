"""The files that a script imports are found without importing them, as Python itself loads them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders import full_lab
from dpscale import imports
from dpscale.imports import imported_files
from dpscale.studies import ORDER, names, read_config

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
LIBRARY = SCRIPTS / "dpscale"
STAGES = ("gather", "derive", "draw", "answer", "render_html", "render_pdf", "audit_table")
# Runs a script as the workflow does, and prints the files of the library that Python then has.
LOADING = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, "workflow/scripts")
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    assert end.code in (None, 0, 1), end.code
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "dpscale":
        print(module.__file__, file=sys.stderr)
"""


def arguments(folder: Path) -> dict[str, list[str]]:
    """The command lines of the stages, in an order in which each has what it reads."""
    config = read_config(ROOT / "config/smoke.yaml").model_dump_json(exclude={"report", "audit"})
    tables, derived, figures = (str(folder / name) for name in ("tables", "derived", "figures"))
    answers = str(folder / "answers.json")
    page = [
        "--answers",
        answers,
        "--tables",
        tables,
        "--derived",
        derived,
        "--figures",
        figures,
        "--report-config",
        json.dumps({"parts": ["engineering"]}),
        "--templates",
        "report",
        "--output",
    ]
    return {
        "gather": ["--config", config, "--runs", str(folder), "--output", str(folder / "none")],
        "derive": ["--tables", tables, "--output", derived],
        "draw": ["--derived", derived, "--output", figures, *names("figures")[-4:]],
        "answer": ["--tables", tables, "--derived", derived, "--output", answers],
        "render_html": [*page, str(folder / "report.html")],
        "render_pdf": [*page, str(folder / "report.pdf")],
        "audit_table": ["config/tables/k80_lab_timings.csv", "--output", f"{folder}/audit.json"],
    }


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Path]]:
    """The files of the library that each stage loads while it makes a report of a small lab."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "tables").mkdir()
    for name, table in full_lab().items():
        table.to_parquet(folder / f"tables/{name}.parquet")
    found = {}
    for stage, given in arguments(folder).items():
        command = [sys.executable, "-c", LOADING, f"workflow/scripts/{stage}.py", *given]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        lines = ended.stderr.splitlines()
        found[stage] = {Path(line) for line in lines if line.startswith(str(LIBRARY))}
    return found


def named(files: set[Path]) -> set[str]:
    return {path.relative_to(LIBRARY).as_posix() for path in files}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_the_files_found_for_it_and_no_others(stage, loaded) -> None:
    script = SCRIPTS / f"{stage}.py"
    found = {path for path in imported_files(script) if path.suffix == ".py"}
    assert script in found
    assert named(loaded[stage]) == named(found - {script})


def stale(name: str) -> str:
    """The stages that an edit of a file of the library makes anew."""
    path = LIBRARY / name
    assert path.exists()
    return " ".join(one for one in STAGES if path in imported_files(SCRIPTS / f"{one}.py"))


PAGES = "render_html render_pdf"


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("studies/strategies/search.py", "derive draw answer"),
        ("studies/strategies/answers.py", "answer"),
        ("studies/scaling/answers/bandwidth.py", "answer"),
        ("studies/lr_scaling/figures.py", "draw"),
        ("studies/assignment/plan.py", "gather derive draw answer"),
        ("studies/assignment/published.py", "derive draw answer"),
        ("derive/formulas.py", "derive draw answer audit_table"),
        ("units/__init__.py", f"derive draw answer {PAGES} audit_table"),
        ("reporting/words.py", f"answer {PAGES} audit_table"),
        ("reporting/pdf.py", "render_pdf"),
        ("plan/spec.py", f"gather derive draw answer {PAGES}"),
        ("records/columns.toml", f"gather derive draw answer {PAGES} audit_table"),
        ("train/loop.py", ""),
        ("studies/choose/measure.py", ""),
        ("studies/choose/advice.py", ""),
        ("compare/__init__.py", ""),
    ],
)
def test_an_edit_makes_anew_what_imports_the_file(name, stages) -> None:
    assert stale(name) == stages


@pytest.mark.parametrize("study", ORDER)
def test_no_stage_is_stale_for_a_measuring_module(study) -> None:
    measures = (LIBRARY / "studies" / study).rglob("measure*")
    assert all(stale(str(path.relative_to(LIBRARY))) == "" for path in measures)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of a few files: what imports which stands in them."""
    files = {
        "script": "from dpscale.low import used\nused()\n",
        "dpscale/__init__": "",
        "dpscale/low/__init__": (
            "from typing import TYPE_CHECKING\n"
            "from dpscale.low.again import again\n"
            "if TYPE_CHECKING:\n    from dpscale import typed\n"
            "def used():\n    helper()\n"
            "def helper():\n    import dpscale.late\n"
            "def unused():\n    import dpscale.never\n"
        ),
        "dpscale/low/again": "",
        **{f"dpscale/{name}": "" for name in ("typed", "late", "never")},
        "dpscale/studies/__init__": (
            "def light(): pass\ndef heavy():\n    return other('derive', 'TABLES')\n"
            "def other(part, name):\n    return _parts(part, name)\n"
            "def figures():\n    return _parts('figures', 'FIGURES')\n"
        ),
        **{f"dpscale/studies/{one}/{part}": "" for one in "ab" for part in ("__init__", "figures")},
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(imports, "SCRIPTS", tmp_path)
    imports._file.cache_clear()
    yield tmp_path
    imports._file.cache_clear()


def of(planted: Path, text: str) -> set[str]:
    script = planted / f"script_{abs(hash(text))}.py"
    script.write_text(text, encoding="utf-8")
    files = set(imported_files(script)) - {script}
    return {path.relative_to(planted / "dpscale").as_posix() for path in files}


def test_an_import_in_a_function_counts_where_it_is_called(planted) -> None:
    low = {"__init__.py", "low/__init__.py", "low/again.py"}
    assert of(planted, "from dpscale.low import used") == low | {"late.py"}
    assert of(planted, "from dpscale.low.again import again") == low
    assert of(planted, "from dpscale import low") == low | {"late.py", "never.py"}
    assert of(planted, "import dpscale.low") == low | {"late.py", "never.py"}


def test_a_part_of_the_studies_is_that_file_of_each(planted) -> None:
    every = {"__init__.py", "studies/__init__.py", "studies/a/__init__.py", "studies/b/__init__.py"}
    assert of(planted, "from dpscale.studies import light") == every
    figures = {"studies/a/figures.py", "studies/b/figures.py"}
    assert of(planted, "from dpscale.studies import figures") == every | figures


def test_a_relative_import_is_one_from_its_package(planted) -> None:
    (planted / "dpscale/low/near.py").write_text("from . import again\nfrom ..late import x\n")
    found = of(planted, "import dpscale.low.near")
    assert {"low/near.py", "low/again.py", "late.py"} <= found


def test_a_file_reads_the_toml_of_its_name(planted) -> None:
    (planted / "dpscale/late.toml").write_text("")
    assert "late.toml" in of(planted, "import dpscale.late")
    assert "late.toml" not in of(planted, "import dpscale.never")


def test_a_file_that_python_cannot_read_is_found_all_the_same(planted) -> None:
    (planted / "dpscale/late.py").write_text("def half(:\n")
    assert "late.py" in of(planted, "import dpscale.late")
