"""A results folder with hand-made answers, the report made of it, and a comparison."""

from functools import partial
from pathlib import Path

import pytest
from made_lab import TEMPLATES, Maker, write_report

from compare_builders import results, timed
from dpscale.compare import compare, html_page, read_results
from dpscale.reporting.render import write_html
from dpscale.studies import schemas


@pytest.fixture
def make_report(tmp_path: Path) -> Maker:
    """Return a function that makes a report of answers, runs, a title block and audits."""
    return partial(write_report, tmp_path)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with report.html, of the made-up lab, and compare.html."""
    folder = tmp_path_factory.mktemp("pages")
    write_html(write_report(folder), templates=TEMPLATES, output=folder / "report.html")
    slower = {"with_loading": 1.5}
    a, b = (
        read_results(results(folder / name, rows), schemas())
        for name, rows in (("a", timed()), ("b", timed(slower=slower)))
    )
    (folder / "compare.html").write_text(html_page(compare(a, b, schemas())), encoding="utf-8")
    return folder
