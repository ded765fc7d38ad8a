"""What the report says, as one typed model made from answers, tables and figures."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from dpscale.reporting.answer import Answer, load_answers
from dpscale.reporting.audits import audit_section
from dpscale.reporting.pictures import Picture, read_picture
from dpscale.units import is_null

# Figures of the first page, with the questions that they are of.
BRIEF = {"Q2": "speedup_brief", "Q3.1": "split_brief"}
LACKING = ("not run yet", "failed")  # statuses that are no result
RUN_COLUMNS = (
    "kind",
    "study",
    "arm",
    "status",
    "workers",
    "nodes",
    "per_worker_batch",
    "global_batch",
    "epochs",
    "seeds",
    "lr",
    "wall_s",
    "finished_at",
    "message",
)


class MissingAnswerError(ValueError):
    """A question of the report that has no answer."""


class TitleBlock(BaseModel):
    """The config's report section."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    course: str = ""
    authors: list[str] = []
    institution: str = ""


@dataclass(frozen=True)
class Part:
    """A part of the report: its template prints the answers to its questions, in this order.

    letter: what the ids of its questions begin with.
    """

    number: int
    title: str
    template: str
    letter: str
    questions: tuple[str, ...] = ()


PARTS = (
    Part(1, "The data-parallel lab", "part1.html.j2", "Q"),
    Part(2, "The cluster-training assignment", "part2.html.j2", "H"),
    Part(3, "Studies of large batches", "part3.html.j2", "S"),
    Part(5, "An engineer's questions", "part5.html.j2", "E"),
)
AUDITS = Part(4, "Audit of hand-collected tables", "audit.html.j2", "A")


@dataclass(frozen=True)
class Report:
    """Everything that the templates need; `runs` holds RUN_COLUMNS and `run`, None if unknown."""

    head: TitleBlock
    date: str
    finished_at: str
    commit: str | None
    machine: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    parts: tuple[Part, ...]
    answers: dict[str, Answer]
    first_page: list[str]
    brief: dict[str, str]
    pictures: dict[str, Picture]
    runs: list[dict[str, Any]]
    statuses: dict[str, int]
    lacking: dict[str, int]
    incomplete: list[str]


def read_report(
    *,
    answers: Path,
    tables: Path,
    figures: Path,
    head: dict[str, Any],
    audits: Sequence[Path] = (),
    questions: Sequence[str],
) -> Report:
    """Return the report of one results folder.

    questions: ids of all questions in the order of the report.

    tables: folder with runs.parquet and, where there is one, provenance.json (machine, versions
    and commit of the newest run); audits: files of hand-collected tables.
    Raises MissingAnswerError for a question without an answer. A part of which the configuration
    plans nothing is not in the report.
    """
    found = {answer.id: answer for answer in load_answers(json.loads(answers.read_text("utf-8")))}
    if absent := [question for question in questions if question not in found]:
        raise MissingAnswerError(f"{answers} has no answer to {', '.join(absent)}")
    parts = _planned(questions, found)
    chosen = {question: found[question] for part in parts for question in part.questions}
    audited = {a.id: a for a in (audit_section(p, n) for n, p in enumerate(audits, start=1))}
    parts = [*parts, *([replace(AUDITS, questions=tuple(audited))] if audited else [])]
    names = [figure.name for answer in chosen.values() for figure in answer.figures]
    brief = {name: BRIEF[name] for name, one in chosen.items() if name in BRIEF and not one.missing}
    runs = pd.read_parquet(tables / "runs.parquet")
    finished_at = _newest(runs)
    provenance = _provenance(tables)
    statuses = runs.status.value_counts()
    return Report(
        head=TitleBlock.model_validate(head),
        finished_at=finished_at,
        date=_day(finished_at),
        commit=provenance.get("commit"),
        machine=_machine(runs, provenance),
        versions=_versions(provenance),
        parts=tuple(sorted(parts, key=lambda part: part.number)),
        answers=chosen | audited,
        first_page=[name for name, one in chosen.items() if not one.left_out] or [*chosen],
        brief=brief,
        pictures={
            name: read_picture(figures, name) for name in dict.fromkeys([*names, *brief.values()])
        },
        runs=_runs(runs),
        statuses={str(name): int(statuses[name]) for name in sorted(statuses.index)},
        lacking={name: int(statuses[name]) for name in LACKING if name in statuses},
        incomplete=[name for name, one in chosen.items() if one.missing and not one.left_out],
    )


def _planned(questions: Sequence[str], found: dict[str, Answer]) -> Sequence[Part]:
    """The parts of which the configuration plans anything; all of them where it plans nothing."""
    parts = [
        replace(part, questions=tuple(one for one in questions if one.startswith(part.letter)))
        for part in PARTS
    ]
    planned = [p for p in parts if not all(found[question].left_out for question in p.questions)]
    return planned or parts


def _provenance(tables: Path) -> dict[str, Any]:
    """Machine, versions and commit of the newest run; empty where nobody wrote them."""
    file = tables / "provenance.json"
    return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}


def _newest(runs: pd.DataFrame) -> str:
    """Finish of the newest run, ISO 8601 in UTC; empty when nothing has run."""
    times = pd.to_datetime(runs.finished_at.dropna(), utc=True, format="ISO8601")
    return str(times.max().strftime("%Y-%m-%dT%H:%M:%SZ")) if len(times) else ""


def _day(finished_at: str) -> str:
    if not finished_at:
        return "nothing measured yet"
    day = datetime.fromisoformat(finished_at)
    return f"{day.day} {day:%B %Y}"


def _machine(runs: pd.DataFrame, provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and value of what describes the machine; from the runs where nothing else does."""
    names = {
        "device": "Device",
        "devices": "Devices",
        "cpu": "Processor",
        "backend": "Backend",
        "host": "Host",
        "system": "System",
    }
    if provenance:
        # A job sees the devices that it asked for: the run that saw most tells most.
        facts = provenance | {"devices": _most_devices(runs) or provenance.get("devices")}
        return [
            (title, str(facts[key])) for key, title in names.items() if facts.get(key) is not None
        ]
    prints = sorted({str(text) for text in runs.fingerprint.dropna()})
    return [("Machine", text) for text in prints]


def _most_devices(runs: pd.DataFrame) -> int | None:
    seen = runs.get("devices_per_machine", pd.Series(dtype=float)).dropna()
    return int(seen.max()) if len(seen) else None


def _versions(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    versions = {"python": provenance.get("python"), **provenance.get("versions", {})}
    return [(name, str(version)) for name, version in versions.items() if version]


def _runs(runs: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for record in runs.to_dict("records"):
        plain = {key: record.get(key) for key in ("run", *RUN_COLUMNS)}
        rows.append(
            {
                str(key): None if value is pd.NA or value is pd.NaT or is_null(value) else value
                for key, value in plain.items()
            }
        )
    return rows
