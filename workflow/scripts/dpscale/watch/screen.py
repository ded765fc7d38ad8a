"""What snakemake prints here of a job: why it would run, a line each, and why it failed."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpscale.watch.changes import changed, named

# What snakemake says of a call as a whole where each job has its line.
SAID_BY_JOB = ("Reasons:", "Some jobs were triggered by provenance", "Rules with provenance")
NOT_ASKED = "Conda environments: ignored"  # without --sdm conda
# Of a job that failed, beside its line.
SAID_BY_ERROR = ("RuleException", "CalledProcessError")
WIDEST = 300  # letters of an error


class Screen(logging.Formatter):
    """The formatter of snakemake's screen, with jobs in words of its own; the rest is another's."""

    def __init__(self, workflow: Any, other: logging.Formatter) -> None:
        super().__init__()
        self._workflow, self._other = workflow, other
        self._tables, self._jobs = 0, dict[int, Any]()

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; an empty one is not printed."""
        fields: dict[str, Any] = record.__dict__
        event = str(getattr(record, "event", None) or "")
        if event == "job_error":
            return _failed(fields, self._name(fields))
        if event == "error" and fields.get("exception") in SAID_BY_ERROR:
            return ""
        if record.msg == NOT_ASKED:
            return ""
        if self._workflow.dryrun:
            if event == "job_info":
                return f"{self._name(fields)}: {'; '.join(self._reasons(fields['jobid']))}"
            if event == "run_info":
                self._tables += 1
            if self._tables > 1 and event == "run_info":
                return ""
            if str(record.msg).startswith(SAID_BY_JOB):
                return ""
        return self._other.format(record)

    def _job(self, number: int) -> Any:
        if number not in self._jobs:
            dag = self._workflow.dag
            self._jobs = {dag.jobid(job): job for job in dag.jobs}
        return self._jobs[number]

    def _name(self, fields: dict[str, Any]) -> str:
        """The run, or the rule and what else tells its jobs apart."""
        wildcards = self._job(fields["jobid"]).wildcards_dict
        name = str(fields["rule_name"])
        return wildcards.get("run") or " ".join([name, *wildcards.values()])

    def _reasons(self, number: int) -> Iterator[str]:
        reason = self._workflow.dag.reason(self._job(number))
        if reason.forced:
            yield "asked for by force, or damaged"
        if missing := reason.missing_output:
            yield f"not there: {named(missing)}"
            return
        if incomplete := reason.incomplete_output:
            yield f"not finished by an earlier call: {named(incomplete)}"
        if change := reason.params_changed:
            yield changed(change.only_old, change.only_new)
        if reason.code_changed:
            yield "its rule changed"
        if reason.input_changed:
            yield "it has other inputs than before"
        if reason.software_stack_changed:
            yield "its software environment changed"
        if newer := reason.updated_input:
            yield f"newer than what it made: {named(newer)}"
        if reason.updated_input_run:
            yield f"made anew before it: {named(reason.updated_input_run)}"
        if reason.nooutput or reason.noio:
            yield "made at each call"


def _failed(fields: dict[str, Any], name: str) -> str:
    """What a failed job says itself, and where the rest is."""
    logs = list(fields.get("log") or ())
    said = next(filter(None, map(_last_line, logs)), "it said nothing").removeprefix(f"{name}: ")
    lines = [f"[{time.asctime()}]", f"{name} failed: {said}", *(f"  log: {path}" for path in logs)]
    return "\n".join(lines)


def _last_line(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-WIDEST:] if lines else ""
