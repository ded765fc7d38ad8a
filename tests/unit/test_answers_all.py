"""All answers together: complete, typed, withheld where a result is missing, written as JSON."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from builders import Tables, derived_lab, empty_lab, full_lab
from dpscale.reporting.answer import Answer, Value, dump_answers, load_answers
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_all, answer_one, asked_by, closing, derived_of, question_ids
from script_calls import Ended, call

# Of the studies that the made-up lab ran: one's own has its lab in a test of its own.
IDS = asked_by(set(full_lab()["runs"].study))


@cache
def lab(**options: Any) -> tuple[Tables, Tables]:
    return derived_lab(**options), full_lab(**options)


@cache
def answers(**options: Any) -> list[Answer]:
    return [one for one in answer_all(*lab(**options)) if one.id in IDS]


def answer(question: str, **options: Any) -> Answer:
    return answers(**options)[IDS.index(question)]


def measurements(given: list[Answer]) -> list[Value]:
    cells = [
        cell
        for one in given
        for table in one.tables
        for row in table.rows
        for cell in row.values()
        if isinstance(cell, Value)
    ]
    return cells + [value for one in given for value in one.values.values()]


@pytest.mark.parametrize("question", IDS)
def test_every_answer_has_prose_and_a_table(question):
    one = answer(question)
    assert one.sentence
    assert one.paragraphs
    assert one.tables
    assert one.status == "complete"
    assert one.missing == []


def test_every_known_value_names_runs_that_exist():
    runs = set(lab()[1]["runs"]["run"])
    values = [
        value for one in answers() for value in one.values.values() if value.value is not None
    ]
    assert len(values) > 100
    assert all(value.runs and set(value.runs) <= runs for value in values)


def test_every_null_says_why():
    nulls = [value for value in measurements(answers()) if value.value is None]
    assert nulls
    assert all(value.status for value in nulls)


def test_no_sentence_or_paragraph_shows_a_null():
    texts = [text for one in answers() for text in [one.sentence, *one.paragraphs]]
    assert not [
        text
        for text in texts
        if any(word in text for word in ("None", "nan", "unknown", "<NA>", "{", "  "))
        and "\\" not in text
    ]


def test_answers_survive_json():
    dumped = json.loads(json.dumps(dump_answers(answers()), allow_nan=False))
    assert load_answers(dumped) == answers()


MISSING = "not run yet"
SCALED = {"Q2": "scaling", "Q3.1": "communication", "Q3.2": "communication"}
# Of each run what it withholds; no two of a set withhold the same, and each answer names its cell.
WITHHELD = [
    {
        "sweep-b128": {"Q1": "sweep, b = 128"},
        "scaling-n2-b32": {name: f"{kind}, N = 2, b = 32" for name, kind in SCALED.items()},
        "large_batch-small": dict.fromkeys(("Q4.1", "Q4.2"), "large_batch, small"),
        "replicas-without_set_epoch": {"Q5": "replicas, without_set_epoch"},
        "ledger-n4": {"Q6": "ledger, N = 4"},
        "replicas-no_broadcast": {"Q7": "replicas, no_broadcast"},
        "assignment-batch-b512": {"H1": "assignment_utilisation, b = 512"},
        **{f"assignment-batch-b512-launch{n}": {} for n in (2, 3)},
        **{f"assignment-linear-n2-launch{n}": {} for n in (2, 3)},
        "assignment-linear-n2": dict.fromkeys(
            ("H2", "H3", "H5", "H6"), "assignment, rule = linear, N = 2, nodes = 1, b = 128"
        ),
        "assignment-split-n4": {"H4": "assignment_split, N = 4, nodes = 1"},
        "lr_scaling-linear-gradual-zero_gamma-kn256": {
            "S2": "lr_scaling, arm = linear-gradual-zero_gamma, B = 256"
        },
        "model_averaging-seed1": {"S3": "model_averaging, model_averaging-seed1"},
        "local_sgd-noise20-a4": {"S4": "local_sgd, local_sgd-noise20-a4"},
    },
    {
        "scaling-n1-b32": {name: f"{kind}, N = 1, b = 32" for name, kind in SCALED.items()},
        "large_batch-warmup": {"Q4.2": "large_batch, warmup"},
    },
]


@pytest.mark.parametrize("withheld", WITHHELD)
def test_runs_that_are_missing_withhold_just_the_conclusions_that_need_them(withheld):
    all_found = answers(not_run=tuple(withheld))
    found = {one.id: one for one in all_found if one.missing and one.id in IDS}
    assert {name: one.missing for name, one in found.items()} == {
        name: [f"{cell}: {MISSING}"] for cells in withheld.values() for name, cell in cells.items()
    }
    assert all(one.sentence.startswith("The conclusion is withheld") for one in found.values())


def test_a_failed_run_withholds_as_a_missing_one_does():
    tidy = full_lab(not_run=["scaling-n4-b128"])
    tidy["runs"].loc[tidy["runs"]["run"] == "scaling-n4-b128", "status"] = "failed"
    found = answer_one("Q2", Inputs(derived_of(tidy), tidy))
    assert found.missing == ["scaling, N = 4, b = 128: failed"]


@pytest.mark.slow
@pytest.mark.parametrize("status", ["failed", None])
@pytest.mark.parametrize("study", sorted(set(full_lab()["runs"]["study"])))
def test_arms_that_failed_or_were_left_out_cost_no_answer(study, status):
    every = full_lab()["runs"]
    for _, arm in every[every["study"] == study].groupby(every["arm"].astype(object).fillna("")):
        tidy = {
            name: rows[~rows["run"].isin(arm["run"])] if "run" in rows else rows
            for name, rows in full_lab().items()
        }
        if status:
            tidy["runs"] = every.assign(
                status=every["status"].mask(every["run"].isin(arm["run"]), status)
            )
        derived = derived_of(tidy)
        found = [*answer_all(derived, tidy), closing(derived, tidy)]
        assert not {one.id: one.error for one in found if one.status == "failed"}


def test_values_of_a_missing_cell_are_null_and_those_of_others_stay():
    values = answer("Q2", not_run=tuple(WITHHELD[0])).values
    assert values["weak_speedup_ratio_n2_b32"].value is None
    assert values["weak_speedup_ratio_n2_b32"].status == "not run yet"
    assert values["weak_speedup_ratio_n2_b128"].value == pytest.approx(5 / 3)


def test_without_any_run_every_conclusion_is_withheld_and_every_value_null():
    tidy = empty_lab()
    found = answer_all(derived_of(tidy), tidy)
    assert [one.id for one in found] == question_ids()
    assert {one.status for one in found} == {"withheld"}
    assert {one.short for one in found} == {"Withheld: results are missing."}
    assert all(one.missing for one in found)
    assert all(value.value is None for one in found for value in one.values.values())


def test_the_summary_has_a_line_of_each_question_with_a_number():
    for one in answers():
        assert len(one.short.replace("\u202f", "").split(" ")) <= 25, one.short
        assert re.search(r"\d", one.short), one.short
    # 5.125 s against 2.195 s
    assert "takes 2.20\u00a0s at b = 512, 5.13" in answers()[0].short


def test_a_line_of_the_summary_turns_with_the_data():
    for factor, words in ((1.5, "at best 0.667"), (0.3, "at best 3.33")):
        found = answer_one("Q2", Inputs(*lab(two_worker_factor=factor)))
        assert words in found.short


def test_a_study_that_the_configuration_leaves_out_is_said_to_be_left_out():
    tidy = full_lab()
    gone = tidy["runs"].loc[tidy["runs"]["study"] == "large_batch", "run"]
    tidy = {
        name: frame[~frame["run"].isin(gone)] if "run" in frame else frame
        for name, frame in tidy.items()
    }
    found = {one.id: one for one in answer_all(derived_of(tidy), tidy)}
    assert {name for name in IDS if found[name].missing} == {"Q4.1", "Q4.2"}
    assert "the study large_batch is left out of the configuration" in found["Q4.1"].sentence
    assert "once this result exists" not in " ".join(found["Q4.2"].paragraphs)


def run_script(folder: Path) -> Ended:
    given = ("--tables", folder, "--derived", folder, "--output", folder / "answers.json")
    return call("answer", *given)


def test_the_script_writes_the_same_answers_from_files(tmp_path):
    derived, tidy = lab()
    for name, table in tidy.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    for name, table in derived.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    done = run_script(tmp_path)
    assert done.returncode == 0, done.stderr
    assert load_answers(json.loads((tmp_path / "answers.json").read_text())) == answer_all(*lab())


def test_the_script_names_an_input_that_is_missing_in_one_line(tmp_path):
    done = run_script(tmp_path)
    assert done.returncode != 0
    assert done.stderr == f"answer.py: no input table {tmp_path / 'runs.parquet'}\n"
