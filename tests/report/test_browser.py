"""The page in a real browser, narrow and wide: nothing overflows sideways."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from made_lab import TEMPLATES, Maker

from compare_builders import results, timed
from dpscale.compare import compare, html_page, read_results
from dpscale.reporting.html import write_html
from dpscale.studies import schemas

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")

# Chromium's window is at least 500 px wide: a frame gives any width.
FRAME = """<!doctype html><title>measuring</title><iframe id=page src="report.html"
style="width:{width}px;height:900px;border:0"></iframe><script>
onload = () => {{
  const page = document.getElementById("page").contentDocument.documentElement;
  document.title = "overflow " + (page.scrollWidth - page.clientWidth) + " px";
}}
</script>"""


WIDTHS = pytest.mark.parametrize("width", [390, 1280])


def overflow(folder: Path, width: int) -> str:
    """Return how far report.html in a folder is wider than so many pixels."""
    (folder / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
    command = [
        str(BROWSER),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=3000",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
        (folder / "frame.html").as_uri(),
    ]
    page = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return re.findall(r"<title>(.*?)</title>", page)[0]


@WIDTHS
def test_the_page_does_not_overflow_sideways(make_report: Maker, tmp_path: Path, width: int):
    write_html(make_report(), templates=TEMPLATES, output=tmp_path / "report.html")
    assert overflow(tmp_path, width) == "overflow 0 px"


@WIDTHS
def test_a_comparison_does_not_overflow_sideways(tmp_path: Path, width: int):
    slower = {"with_loading": 1.5}
    a, b = (read_results(results(tmp_path / name, rows), schemas())
            for name, rows in (("a", timed()), ("b", timed(slower=slower))))  # fmt: skip
    (tmp_path / "report.html").write_text(html_page(compare(a, b, schemas())), encoding="utf-8")
    assert overflow(tmp_path, width) == "overflow 0 px"
