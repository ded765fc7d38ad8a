"""The report as one HTML text, for the browser or for the PDF, from the same templates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dpscale.records import write_text
from dpscale.reporting.answer import Answer
from dpscale.reporting.links import Sources, reference
from dpscale.reporting.report import Report
from dpscale.reporting.tables import NOTHING, Shown
from dpscale.reporting.view import AnswerView, Numbers, answer_view
from dpscale.reporting.words import join
from dpscale.units import format_value, status_text

Medium = Literal["html", "pdf"]


@dataclass(frozen=True)
class RunView:
    """A row of the appendix of runs."""

    anchor: str
    run: str
    cells: list[Shown | str]
    message: str


@dataclass(frozen=True)
class FigurePlace:
    """Where a figure is: its number, and the answer that shows it; others point there."""

    number: str
    answer: str


RUN_HEADS = (
    ("study", "Study"),
    ("arm", "Arm"),
    ("status", "Status"),
    ("workers", "N"),
    ("nodes", "Nodes"),
    ("per_worker_batch", "b"),
    ("global_batch", "B"),
    ("epochs", "Epochs"),
    ("seeds", "Seeds"),
    ("lr", "lr"),
    ("wall_s", "Wall time"),
    ("finished_at", "Finished (UTC)"),
)
MOST_RUNS = 500
_RUN_UNITS = {"lr": "setting", "wall_s": "duration"}


def page_environment(templates: Path, medium: Medium) -> Environment:
    """Return the environment of pages: everything is escaped, what is not there is an error."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["medium"] = medium
    environment.filters["and"] = join
    return environment


def render_report(
    report: Report, *, templates: Path, medium: Medium, filled: Mapping[str, int] | None = None
) -> str:
    """Return the report as an HTML text.

    html: one page with its styles, figures and MathML inside; pdf: formulas and figures as
    images, and the print style sheet. filled: how many blocks of what goes further stand in the
    answer itself, by its anchor.
    """
    environment = page_environment(templates, medium)
    # Thousands of runs are hundreds of pages that nobody prints, and most of what a PDF takes.
    listed_here = medium == "html" or report.head.runs
    names = (row["run"] for row in report.runs)
    sources = Sources.of_runs(names, _every(report), listed=listed_here)
    sections = _sections(report, sources, image=medium == "pdf")
    listed = _listed(report.runs, sources)  # what is linked is known once all else is written
    style = "style.css" if medium == "html" else "print.css"
    return environment.get_template("report.html.j2").render(
        report=report,
        sections=sections,
        filled=filled or {},
        closing=sections.get(report.closing.id) if report.closing else None,
        numbers={part.name: number for number, part in enumerate(report.parts, start=1)},
        pictures=report.pictures,
        places=_places(sections),
        references=_references(report),
        run_heads=[title for _, title in RUN_HEADS],
        runs=[_run_view(row, sources) for row in listed],
        runs_left_out=len(report.runs) - len(listed),
        runs_listed=listed_here,
        groups=sources.groups,
        anchors=sources.anchors,
        listed={row["run"] for row in listed},
        statuses=[(status.replace("_", " "), count) for status, count in report.statuses.items()],
        style=Markup((templates / style).read_text(encoding="utf-8")),
    )


def write_html(report: Report, *, templates: Path, output: Path) -> None:
    """Write the report as one page that asks nothing of any server.

    The same report gives the same bytes.
    """
    write_text(output, render_report(report, templates=templates, medium="html"))


def _listed(runs: list[dict[str, Any]], sources: Sources) -> list[dict[str, Any]]:
    """The runs of the appendix: all, or of too many those linked to and the first that failed."""
    if len(runs) <= MOST_RUNS:
        return runs
    failed = [row["run"] for row in runs if row["message"]][:MOST_RUNS]
    wanted = sources.linked.union(failed)
    return [row for row in runs if row["run"] in wanted]


def _every(report: Report) -> dict[str, Answer]:
    """The answers, and the closing page after them."""
    closing = {report.closing.id: report.closing} if report.closing else {}
    return report.answers | closing


def _sections(report: Report, sources: Sources, *, image: bool) -> dict[str, AnswerView]:
    sections = {}
    numbers = Numbers()
    for name, answer in _every(report).items():
        sections[name] = answer_view(answer, sources, image=image, numbers=numbers)
    return sections


def _places(sections: dict[str, AnswerView]) -> dict[str, FigurePlace]:
    """Where each figure is shown: in the first answer that does, else among what is further."""
    numbers = Numbers()
    places: dict[str, FigurePlace] = {}
    for further in (False, True):
        for section in sections.values():
            for figure in section.further_figures if further else section.figures:
                if figure.name not in places:
                    places[figure.name] = FigurePlace(numbers.next(further), section.id)
    return places


def _references(report: Report) -> list[Markup]:
    """What the answers rest on, each once, by author."""
    named = {text for answer in report.answers.values() for text in answer.references}
    return [reference(text) for text in sorted(named, key=_family)]


def _family(text: str) -> tuple[str, str]:
    """What a reference is sorted by: the family name of its first author, then all of it."""
    author = re.split(r",| et al\.| and ", text, maxsplit=1)[0]
    return author.split()[-1].casefold(), text


def _run_cell(key: str, row: dict[str, Any], anchor: str) -> Shown | str:
    value = row[key]
    if value is None:
        return NOTHING
    if key == "status":
        return "complete" if value == "complete" else status_text(value)
    if key == "finished_at":
        return str(value)[:16].replace("T", " ")
    if isinstance(value, str):
        return value.replace("_", " ")
    text = format_value(value, _RUN_UNITS.get(key, "count"))
    if key != "wall_s":
        return text
    return Shown(text, "", "#" + anchor, f"run {row['run']}", f"{value:.9g}")


def _run_view(row: dict[str, Any], sources: Sources) -> RunView:
    anchor = sources.anchors[row["run"]]
    return RunView(
        anchor,
        row["run"],
        [_run_cell(key, row, anchor) for key, _ in RUN_HEADS],
        row["message"] or "",
    )
