"""Command line of the scripts that render the report."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from dpscale.config.sections import ReportConfig
from dpscale.records.schemas import SCHEMAS
from dpscale.records.storage import about, read_json, read_table
from dpscale.reporting.report import Report, read_report


def report_section(given: str) -> ReportConfig:
    """Return the config's report section from JSON text, or from a file that holds it."""
    with about("--report-config"):
        section = json.loads(given) if given.lstrip().startswith("{") else read_json(Path(given))
        return ReportConfig.model_validate_json(json.dumps(section))


def _check(tables: Path) -> None:
    """Raise an error that names the table, and its columns, that the report cannot use."""
    read_table(tables / "runs.parquet", SCHEMAS["runs"])
    provenance = tables / "provenance.json"
    if provenance.exists() and not isinstance(read_json(provenance), dict):
        raise ValueError(f"{provenance}: holds no JSON object; make it again")


def read_arguments(description: str | None, questions: Sequence[str]) -> tuple[Report, Path, Path]:
    """Return the report, the folder of templates and the output file that the user named.

    questions: ids of all questions in the order of the report.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--answers",
        type=Path,
        required=True,
        help="answers.json; with closing.json beside it, the last page",
    )
    parser.add_argument("--tables", type=Path, required=True, help="folder of tidy tables")
    parser.add_argument("--derived", type=Path, required=True, help="folder of derived tables")
    parser.add_argument("--figures", type=Path, required=True, help="folder of figures")
    parser.add_argument(
        "--report-config", required=True, help="the config's report section: JSON, or a file of it"
    )
    parser.add_argument("--templates", type=Path, required=True, help="folder of templates")
    parser.add_argument(
        "--audits", type=Path, nargs="*", default=[], help="audits of hand-collected tables (JSON)"
    )
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    head = report_section(given.report_config)
    _check(given.tables)
    if not given.templates.is_dir():
        raise ValueError(f"{given.templates}: no folder of templates; name it with --templates")
    report = read_report(
        answers=given.answers,
        tables=given.tables,
        derived=given.derived,
        figures=given.figures,
        head=head,
        audits=given.audits,
        questions=questions,
    )
    return report, given.templates, given.output
