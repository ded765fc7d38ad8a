"""The page in a real browser, narrow and wide: nothing overflows sideways."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from made_lab import TEMPLATES, Maker

from dpscale.reporting.html import write_html

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


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_does_not_overflow_sideways(make_report: Maker, tmp_path: Path, width: int):
    write_html(make_report(), templates=TEMPLATES, output=tmp_path / "report.html")
    (tmp_path / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
    command = [
        str(BROWSER),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=3000",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        (tmp_path / "frame.html").as_uri(),
    ]
    page = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert re.findall(r"<title>(.*?)</title>", page)[0] == "overflow 0 px"
