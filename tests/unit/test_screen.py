"""What snakemake's screen says of a job: why it would run, and why it failed."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpscale.watch.changes import changed, named
from dpscale.watch.screen import Screen

NOT: dict[str, Any] = dict.fromkeys(
    (
        "forced",
        "missing_output",
        "incomplete_output",
        "params_changed",
        "code_changed",
        "input_changed",
        "software_stack_changed",
        "updated_input",
        "updated_input_run",
        "nooutput",
        "noio",
    )
)


def test_a_changed_field_is_named_with_both_values() -> None:
    before = """{"run":"a","training":{"lr":0.02,"schedule":{"decay":"none"}},"seeds":[0]}"""
    now = """{"run":"a","training":{"lr":0.05,"schedule":{"decay":"none"}},"seeds":[0]}"""
    assert changed({repr(before), "[]"}, {repr(now)}) == "training.lr 0.02 -> 0.05"


def test_of_many_changed_fields_the_first_three_are_named() -> None:
    before, now = (repr(json.dumps(dict.fromkeys("abcde", value))) for value in (1, 2))
    assert changed({before}, {now}) == "a 1 -> 2, b 1 -> 2, c 1 -> 2 and 2 more"


def test_a_field_that_came_or_went_and_an_option_that_is_no_field() -> None:
    assert changed({repr('{"a": 1}')}, {repr('{"b": null}')}) == "a 1 -> nothing, b nothing -> null"
    assert changed({"'x'"}, {"'y'"}) == "the options of its command changed"
    before, now = (repr(["--own", json.dumps({"digest": one})]) for one in ("ab", "cd"))
    assert changed({before}, {now}) == "the code of own.file, or of what it imports, changed"


def test_three_files_are_named_and_the_others_counted() -> None:
    assert named(["x/a.csv"]) == "x/a.csv"
    assert named(["x/a.csv", "y/b.csv"]) == "a.csv, b.csv"
    assert named([f"{name}.csv" for name in "edcba"]) == "a.csv, b.csv, c.csv and 2 more"


def screen(reason: dict[str, Any], *, dryrun: bool = True) -> Screen:
    job = SimpleNamespace(wildcards_dict={"run": "ledger-n2"})
    dag = SimpleNamespace(
        jobs=[job], jobid=lambda _: 7, reason=lambda _: SimpleNamespace(**NOT | reason)
    )
    return Screen(SimpleNamespace(dag=dag, dryrun=dryrun), logging.Formatter())


def text(shown: Screen, event: str | None, message: str = "", **fields: Any) -> str:
    record = logging.makeLogRecord({"msg": message, "event": event, "jobid": 7} | fields)
    return shown.format(record)


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (
            {"missing_output": {"results/x/runs/y/record.json"}},
            "not there: results/x/runs/y/record.json",
        ),
        ({"code_changed": True}, "its rule changed"),
        (
            {"updated_input": {"results/x/dataset.json"}},
            "newer than what it made: results/x/dataset.json",
        ),
        ({"updated_input_run": {"a/b.csv"}}, "made anew before it: a/b.csv"),
        ({"forced": True}, "asked for by force, or damaged"),
        (
            {
                "params_changed": SimpleNamespace(
                    only_old={"'{\"lr\": 1}'"}, only_new={"'{\"lr\": 2}'"}
                )
            },
            "lr 1 -> 2",
        ),
    ],
)
def test_a_dry_run_says_in_a_line_why_a_run_is_made(reason, line) -> None:
    assert text(screen(reason), "job_info", rule_name="timed_run") == f"ledger-n2: {line}"


def test_a_dry_run_has_its_table_once_and_no_reasons_without_a_job() -> None:
    shown = screen({})
    assert text(shown, "run_info", "Job stats: 1") == "Job stats: 1"
    assert text(shown, "run_info", "Job stats: 1") == ""
    assert text(shown, None, "Reasons:\n    (check individual jobs above)") == ""
    assert text(shown, None, "This was a dry-run") == "This was a dry-run"


def test_a_failed_job_says_its_error_and_where_its_log_is(tmp_path: Path) -> None:
    log = tmp_path / "ledger-n2.log"
    log.write_text("Traceback\n\nledger-n2: attempt 1: rank 1 on host: ValueError: no\n\n")
    shown = screen({}, dryrun=False)
    said = text(shown, "job_error", rule_name="timed_run", log=[str(log)], shellcmd="printf '{}'")
    assert said.splitlines()[1:] == [
        "ledger-n2 failed: attempt 1: rank 1 on host: ValueError: no",
        f"  log: {log}",
    ]
    command = "CalledProcessError in file x: Command 'printf ...' returned 1"
    assert text(shown, "error", command, exception="RuleException") == ""
    assert text(shown, "error", "no such file", exception="WorkflowError") == "no such file"
