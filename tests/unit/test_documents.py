"""The documents: short enough, their links lead somewhere, and they agree on the version."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dpscale import __version__

ROOT = Path(__file__).resolve().parents[2]
NAMED = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "config/README.md",
    "envs/README.md",
    "examples/README.md",
)
DOCUMENTS = [*NAMED, *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md")))]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(document: Path) -> str:
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def anchors(text: str) -> list[str]:
    """The names by which GitHub links to the headings of a text."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        words = LINK.sub(lambda link: link[0][1:].partition("]")[0], heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        times = len([one for one in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", one)])
        found.append(f"{name}-{times}" if times else name)
    return found


def links(document: str) -> Iterator[tuple[str, Path, str]]:
    """The links of a document within the repository: as written, file, anchor."""
    for target in LINK.findall(prose(ROOT / document)):
        if not re.match(r"\w+:", target):
            file, _, anchor = target.partition("#")
            folder = (ROOT / document).parent
            yield target, (folder / file).resolve() if file else ROOT / document, anchor


def test_anchors_are_named_as_github_names_them() -> None:
    text = "# `a.b_c`: d, e-f!\n\n## [Link](x.md) 2\n\n## Again\n\ntext\n\n## Again\n"
    assert anchors(text) == ["ab_c-d-e-f", "link-2", "again", "again-1"]


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document) -> None:
    for target, file, anchor in links(document):
        assert file.exists(), target
        assert not anchor or anchor in anchors(prose(file)), target


def test_the_readme_links_to_every_document() -> None:
    linked = {file for _, file, _ in links("README.md")}
    assert {path for path in (ROOT / "docs").iterdir() if path not in linked} == set()


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if name.startswith("docs/")])
def test_a_document_says_what_it_is_for_and_where_to_read_on(document) -> None:
    blocks = prose(ROOT / document).split("\n\n")
    assert blocks[0].startswith("# ")
    assert blocks[1].startswith("For "), "the first sentence says what the document is for"
    assert {file for _, file, _ in links(document)} - {ROOT / document}


def test_all_name_one_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\S+)\)$", changes, re.MULTILINE)
    assert newest
    assert {citation["version"], project["version"], newest[1]} == {__version__}
    assert str(citation["date-released"]) == newest[2]


def test_each_promise_is_held_by_a_test_that_there_is() -> None:
    rows = [
        row
        for row in prose(ROOT / "docs/reliability.md").splitlines()
        if row.startswith("| ") and not row.endswith("| test |")
    ]
    files = (path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    there = {name for text in files for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    assert len(rows) > 20
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names or "torch's own" in row, row
        assert set(names) <= there, row
