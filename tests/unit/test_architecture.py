"""The layout holds: imports run one way, and the lists in the rules name what the library makes."""

import ast
import re
from pathlib import Path

import pytest

from dpscale.derive.tables import CORE
from dpscale.studies import ORDER, studies

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "workflow/scripts/dpscale"
# What each part of the library may import of the others: a core, and above it the studies.
ALLOWED = {
    "config": set(),
    "errors": set(),
    "files": set(),
    "imports": set(),
    "vocabulary": set(),
    "units": set(),
    "provenance": set(),
    "processes": set(),
    "forks": {"processes"},
    "attempts": {"files", "processes"},
    "plan": {"config"},
    "records": {"files", "forks", "vocabulary"},
    "launch": {"config", "plan", "attempts", "files", "processes"},
    "train": {
        "files",
        "plan",
        "records",
        "config",
        "units",
        "provenance",
        "attempts",
        "processes",
        "launch",
    },
    "derive": {"config", "plan", "records", "units", "vocabulary"},
    "audit": {"derive", "records"},
    "figures": {"records", "units"},
    "reporting": {"config", "files", "records", "units", "vocabulary"},
    "studies": {
        "vocabulary",
        "errors",
        "config",
        "plan",
        "records",
        "units",
        "derive",
        "figures",
        "reporting",
        "train",
    },
    "compare": {"derive", "records", "reporting", "units", "vocabulary"},
    "arguments": {"config", "launch", "plan", "studies"},
    "watch": {"studies", "launch", "attempts", "records", "plan", "config", "units", "processes"},
}


def part_of(path: Path) -> str:
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize(
    "path",
    [p for p in LIBRARY.rglob("*.py") if p.parent != LIBRARY or p.name != "__init__.py"],
    ids=lambda path: str(path.relative_to(LIBRARY)),
)
def test_imports_run_one_way_and_torch_stays_in_train(path) -> None:
    part = part_of(path)
    modules = imported_modules(path)
    others = {name.split(".")[1] for name in modules if name.startswith("dpscale.")} - {part}
    assert others <= ALLOWED[part]
    own = path.relative_to(LIBRARY).parts
    in_study = part == "studies" and len(own) > 2
    measures = part == "train" or (in_study and own[2].removesuffix(".py") == "measure")
    if not measures:
        assert not {name for name in modules if name.split(".")[0] in ("torch", "torchvision")}
        assert "train" not in others
    if in_study:  # a table of another study is an input by its name
        studies = {name.split(".")[2] for name in modules if name.startswith("dpscale.studies.")}
        assert studies <= {own[1], "study"}


@pytest.mark.parametrize("script", sorted((ROOT / "workflow/scripts").glob("*.py")))
def test_scripts_never_import_scripts(script) -> None:
    scripts = {path.stem for path in script.parent.glob("*.py")}
    assert not scripts & {name.split(".")[0] for name in imported_modules(script)}


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.name)
def test_a_study_names_what_its_folder_holds(study) -> None:
    for part, name in (("derive", "TABLES"), ("figures", "FIGURES")):
        assert study.names(part, name) == list(study.part(part, name))
    given = [*study.questions, *filter(None, [study.closing])]
    assert given == [one.id for one in study.part("answers", "QUESTIONS")]


@pytest.mark.parametrize(
    ("part", "name"),
    [("config", "SECTIONS"), ("plan", "PLANS"), ("derive", "TABLES"), ("figures", "FIGURES")],
)
def test_no_two_studies_use_a_name(part, name) -> None:
    names = [one for study in studies() for one in study.part(part, name)]
    assert sorted(names) == sorted(set(names))


def test_every_folder_of_a_study_is_in_the_list() -> None:
    folders = {path.parent.name for path in LIBRARY.glob("studies/*/__init__.py")}
    assert folders == set(ORDER)


def test_tables_of_the_core_are_those_that_the_rules_name() -> None:
    text = (ROOT / "rules/report.smk").read_text(encoding="utf-8")
    named = re.search(r"^DERIVED = \[(.*), \*studies", text, re.M)
    assert named
    assert set(re.findall(r'"(\w+)"', named[1])) == set(CORE)
