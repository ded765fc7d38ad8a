"""Command line of the scripts that render the report."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dpscale.reporting.report import MissingAnswerError, Report, read_report


def title_block(text: str) -> dict[str, Any]:
    """Return the config's report section from JSON text, or from a file that holds it."""
    raw = text if text.lstrip().startswith("{") else Path(text).read_text(encoding="utf-8")
    section = json.loads(raw)
    if not isinstance(section, dict):
        raise ValueError("the report section is no JSON object")
    return section


def read_arguments(description: str | None) -> tuple[Report, Path, Path]:
    """Return the report, the folder of templates and the output file that the user named."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--answers", type=Path, required=True, help="answers.json")
    parser.add_argument("--tables", type=Path, required=True, help="folder of tidy tables")
    parser.add_argument("--figures", type=Path, required=True, help="folder of figures")
    parser.add_argument(
        "--report-config",
        required=True,
        type=title_block,
        help="the config's report section: JSON, or a file of it",
    )
    parser.add_argument("--templates", type=Path, required=True, help="folder of templates")
    parser.add_argument(
        "--summary",
        type=Path,
        help="JSON list of the findings that open the report "
        "[summary.json beside the answers, if there is one]",
    )
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    beside = given.answers.with_name("summary.json")
    summary = given.summary or (beside if beside.exists() else None)
    try:
        report = read_report(
            answers=given.answers,
            tables=given.tables,
            figures=given.figures,
            head=given.report_config,
            summary=summary,
        )
    except (MissingAnswerError, FileNotFoundError) as error:
        sys.exit(f"no report: {error}")
    return report, given.templates, given.output
