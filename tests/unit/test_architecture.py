"""The layout holds: imports run one way, and the lists in the rules name what the library makes."""

import ast
import re
from pathlib import Path

import pytest

from dpscale.derive.tables import DERIVED, TIDY
from dpscale.figures import FIGURES
from dpscale.records.schemas import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "workflow/scripts/dpscale"
# What each part of the library may import of the others.
ALLOWED = {
    "config": set(),
    "errors": set(),
    "units": set(),
    "provenance": set(),
    "processes": set(),
    "attempts": set(),
    "plan": {"config"},
    "records": set(),
    "launch": {"plan", "attempts", "processes"},
    "train": {
        "plan",
        "records",
        "config",
        "units",
        "provenance",
        "attempts",
        "processes",
        "launch",
    },
    "derive": {"records", "units", "config", "plan"},
    "audit": {"derive", "records"},
    "figures": {"records", "units", "config", "plan"},
    "reporting": {"records", "units", "config", "plan", "studies"},
    "studies": {"records", "units", "config", "plan", "reporting", "derive", "figures", "train"},
    "watch": {"launch", "attempts", "records", "plan", "config", "units", "processes"},
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
    "path", [p for p in LIBRARY.rglob("*.py") if p.parent != LIBRARY or p.name != "__init__.py"],
    ids=lambda path: str(path.relative_to(LIBRARY)),
)  # fmt: skip
def test_imports_run_one_way_and_torch_stays_in_train(path: Path) -> None:
    part = part_of(path)
    modules = imported_modules(path)
    others = {name.split(".")[1] for name in modules if name.startswith("dpscale.")} - {part}
    assert others <= ALLOWED[part]
    if part != "train":
        assert not {name for name in modules if name.split(".")[0] in ("torch", "torchvision")}


@pytest.mark.parametrize("script", sorted((ROOT / "workflow/scripts").glob("*.py")))
def test_scripts_never_import_scripts(script: Path) -> None:
    scripts = {path.stem for path in script.parent.glob("*.py")}
    assert not scripts & {name.split(".")[0] for name in imported_modules(script)}


def names_in_rule_file(variable: str) -> set[str]:
    text = (ROOT / "rules/report.smk").read_text(encoding="utf-8")
    match = re.search(rf"^{variable} = (.*?)(?=^\S*[A-Z_]+ = |^rule )", text, re.S | re.M)
    assert match, f"rules/report.smk does not define {variable}"
    words = re.findall(r'"([^"]*)"', match[1])
    return {name for word in words for name in word.split()}


@pytest.mark.parametrize(
    ("variable", "names"),
    [("TABLES", set(SCHEMAS)), ("DERIVED", set(DERIVED)), ("FIGURES", set(FIGURES))],
)
def test_the_report_rules_name_every_table_and_figure(variable: str, names: set[str]) -> None:
    assert names_in_rule_file(variable) == names


def test_derived_tables_read_the_tidy_tables_that_are_gathered() -> None:
    assert set(TIDY) == set(SCHEMAS)
