"""The report as one HTML file that asks nothing of any server."""

from pathlib import Path

from dpscale.records import write_text
from dpscale.reporting.render import render_report
from dpscale.reporting.report import Report


def write_html(report: Report, *, templates: Path, output: Path) -> None:
    """Write the report as one page; the same report gives the same bytes."""
    text = render_report(report, templates=templates, medium="html")
    write_text(output, text)
