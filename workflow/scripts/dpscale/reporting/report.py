"""What the report says, as one typed model made from answers, tables and figures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from dpscale import __version__
from dpscale.config.sections import ReportConfig
from dpscale.records.quiet import COLUMNS as QUIET_COLUMNS
from dpscale.records.quiet import DISTURBED_FRAC
from dpscale.records.storage import about, read_json, read_table
from dpscale.reporting.answer import Answer, load_answers
from dpscale.reporting.audits import audit_section
from dpscale.reporting.lessons import leading
from dpscale.reporting.parts import PARTS, Part
from dpscale.reporting.pictures import Picture, read_picture
from dpscale.reporting.scope import Trained, networks, trained
from dpscale.units import format_value, is_null

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


@dataclass(frozen=True)
class Quiet:
    """What others used of the machine's cores while runs were timed.

    judged: timed runs of which that is known; unjudged: others, too short for it; repeated: repeats
    that were made again for it; disturbed: the runs beyond `limit` with the share of each, largest
    first; shares as text.
    """

    limit: str
    judged: int
    unjudged: int
    repeated: int
    most: str
    disturbed: dict[str, str]


@dataclass(frozen=True)
class Report:
    """Everything that the templates need.

    lessons: answers that the first page leads with, and the networks that each rests on; left_out:
    questions that nothing was planned for; runs: RUN_COLUMNS and `run`, None if unknown.
    """

    head: ReportConfig
    date: str
    finished_at: str
    commit: str | None
    machine: list[tuple[str, str]]
    trained: list[Trained]
    lessons: dict[str, tuple[str, ...]]
    versions: list[tuple[str, str]]
    parts: tuple[Part, ...]
    answers: dict[str, Answer]
    left_out: list[str]
    pictures: dict[str, Picture]
    runs: list[dict[str, Any]]
    statuses: dict[str, int]
    lacking: dict[str, int]
    incomplete: list[str]
    failed: list[str]
    quiet: Quiet
    closing: Answer | None = None


def read_report(
    *,
    answers: Path,
    tables: Path,
    derived: Path,
    figures: Path,
    head: ReportConfig,
    audits: Sequence[Path] = (),
    questions: Sequence[str],
) -> Report:
    """Return the report of one results folder.

    questions: ids of all questions in the order of the report; derived: folder with quiet.csv;
    tables: folder with runs.parquet and, where there is one, provenance.json (machine, versions
    and commit of the newest run); audits: files of hand-collected tables.
    Beside the answers may lie closing.json, the last page.
    Raises MissingAnswerError for a question without an answer. What the configuration plans nothing
    for is not in the report, nor are the parts that its `report.parts` does not name.
    """
    audited = {a.id: a for a in (audit_section(p, n) for n, p in enumerate(audits, start=1))}
    parts, within = _parts(head, _answers(answers, questions) | audited)
    chosen = {name: one for name, one in within.items() if not one.left_out}
    beside = answers.with_name("closing.json")
    closing = _read(beside) if beside.exists() else []
    shown = [*chosen.values(), *closing]
    names = [figure.name for answer in shown for figure in answer.figures]
    runs = pd.read_parquet(tables / "runs.parquet")
    finished_at = _newest(runs)
    provenance = _provenance(tables)
    statuses = runs.status.value_counts()
    return Report(
        head=head,
        finished_at=finished_at,
        date=_day(finished_at),
        commit=provenance.get("commit"),
        machine=_machine(runs, provenance),
        trained=trained(parts, chosen, runs),
        lessons={name: networks(chosen[name], runs) for name in leading(chosen)},
        versions=_versions(provenance),
        parts=parts,
        answers=chosen,
        left_out=[name for name, one in within.items() if one.left_out],
        pictures={name: read_picture(figures, name) for name in dict.fromkeys(names)},
        runs=_runs(runs),
        statuses={str(name): int(statuses[name]) for name in sorted(statuses.index)},
        lacking={name: int(statuses[name]) for name in LACKING if name in statuses},
        incomplete=[name for name, one in chosen.items() if one.missing],
        failed=[name for name, one in chosen.items() if one.status == "failed"],
        quiet=_quiet(read_table(derived / "quiet.csv", QUIET_COLUMNS)),
        closing=next(iter(closing), None),
    )


def _read(path: Path) -> list[Answer]:
    """The answers in a file; an error names it, the answer and the key that cannot be used."""
    dumped, found = read_json(path), list[Answer]()
    if not isinstance(dumped, list) or not all(isinstance(item, dict) for item in dumped):
        raise ValueError(f"{path}: holds no list of answers; make it again")
    for index, item in enumerate(dumped):
        with about(path), about(f"answer {item.get('id', index)}"):
            found += load_answers([item])
    return found


def _answers(path: Path, questions: Sequence[str]) -> dict[str, Answer]:
    found = {answer.id: answer for answer in _read(path)}
    if absent := [question for question in questions if question not in found]:
        raise MissingAnswerError(f"{path} has no answer to {', '.join(absent)}")
    return {question: found[question] for question in questions}


def _parts(
    head: ReportConfig, every: Mapping[str, Answer]
) -> tuple[tuple[Part, ...], dict[str, Answer]]:
    """The parts that are asked for and have answers; all answers in them, left out ones too."""
    wanted = [part for part in PARTS if head.parts is None or part.name in head.parts]
    within = {one.id: one for part in wanted for one in every.values() if one.id[0] == part.letter}
    there = [name for name, one in within.items() if not one.left_out]
    parts = [
        replace(part, questions=tuple(name for name in there if name[0] == part.letter))
        for part in wanted
    ]
    return tuple(part for part in parts if part.questions), within


def _quiet(runs: pd.DataFrame) -> Quiet:
    judged = runs[runs.quietness != "unknown"].set_index("run")
    shares = {str(run): format_value(frac, "fraction") for run, frac in judged.others_frac.items()}
    disturbed = set(judged.index[judged.quietness == "disturbed"])
    return Quiet(
        limit=f"{DISTURBED_FRAC:.0%}",
        judged=len(judged),
        unjudged=len(runs) - len(judged),
        repeated=int(judged.repeated.sum()),
        most=next(iter(shares.values()), ""),
        disturbed={run: share for run, share in shares.items() if run in disturbed},
    )


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
    known = {"python": provenance.get("python"), **provenance.get("versions", {})}
    versions = {"dpscale": __version__} | known
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
