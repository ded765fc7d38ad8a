"""Audits of hand-collected tables: a part of the report of its own, and no answer."""

import json

import pytest
from made_lab import AUDIT, TEMPLATES

from dpscale.reporting.audits import audit_section
from dpscale.reporting.render import render_report
from dpscale.reporting.report import Report


def audit_of(*findings: dict) -> dict:
    return {**AUDIT, "findings": [*findings]}


def rendered(report: Report) -> str:
    text = render_report(report, templates=TEMPLATES, medium="html")
    return text.replace("\u00a0", " ").replace("&nbsp;", " ")


def test_a_table_is_a_section_with_its_findings_and_its_corrected_tables(make_report):
    text = rendered(make_report(audits=[AUDIT, {**AUDIT, "title": "Another"}]))
    part = text[text.index('id="part-audit"') : text.index('id="runs"')]
    assert "Part 4. Audit of hand-collected tables" in part
    assert part.index('id="answer-T1"') < part.index('id="answer-T2"')
    assert (
        "One of two rows does not add up: the speed-up at N = 2, b = 32 is 1.6, not 3.2 ("
        'it is <span class="together"><math' in part
    )
    assert "</math>:</span> multiplied by the number of workers)." in part
    assert "T_1" not in part
    for words in ("3.2", "1.6", "multiplied by the number of workers", "Q3.2, corrected", "1.60"):
        assert words in part
    assert "the column &#39;N&#39; is workers" in part


def test_a_row_of_one_worker_is_corrected_only_where_no_other_row_holds_its_time(tmp_path):
    one, two = AUDIT["derived"]
    apart = {**one, "per_worker_batch": 64}
    for derived, workers in (([one, two], [2]), ([one, apart, two], [1, 2]), ([one], [1])):
        path = tmp_path / "audit.json"
        path.write_text(json.dumps({**AUDIT, "derived": derived}), encoding="utf-8")
        section = audit_section(path, 1)
        assert [row["workers"] for row in section.tables[-1].rows] == workers


def test_other_peoples_words_are_neither_markup_nor_formulas(make_report):
    assert "A $table &lt;collected&gt; by hand" in rendered(make_report())


def test_a_report_without_tables_has_no_such_part(make_report):
    assert 'id="part-4"' not in rendered(make_report(audits=[]))


def test_a_consistent_table_says_so(make_report):
    text = rendered(make_report(audits=[{**AUDIT, "findings": []}]))
    assert "All 6 printed numbers agree with the numbers beside them." in text
    assert "What is wrong, what is right" not in text


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"printed": 0, "checked": 0}, "prints no number that follows from its times"),
        ({"printed": 4, "checked": 0}, "Nothing could be checked: no one of 4 numbers is in a row"),
        ({"printed": 4, "checked": 3}, "The 3 of 4 printed numbers that could be checked agree"),
    ],
)
def test_a_table_is_called_consistent_only_as_far_as_it_was_checked(make_report, counts, words):
    text = rendered(make_report(audits=[{**AUDIT, "findings": [], **counts}]))
    assert words in text
    assert "All " not in text[text.index('id="answer-T1"') :].split("</p>")[0]


@pytest.mark.parametrize(
    ("changed", "doubtful"),
    [
        ({"code": "superlinear"}, "the speed-up at N = 2, b = 32 is 3.2, and at most 1.6 is usual"),
        ({"code": "negative_comm", "printed": None}, "at N = 2, b = 32: negative communication."),
        ({"code": "negative_comm", "printed": -1.0}, None),
    ],
)
def test_what_caches_can_do_is_doubtful(make_report, changed, doubtful):
    (finding,) = AUDIT["findings"]
    text = rendered(make_report(audits=[{**AUDIT, "findings": [finding | changed]}]))
    assert (f"may not add up: {doubtful}" in text) == (doubtful is not None)
    assert ("One of two rows does not add up: " in text) == (doubtful is None)


def test_what_is_farthest_off_comes_first_and_several_are_counted(make_report):
    (finding,) = AUDIT["findings"]
    other = finding | {"code": "comm_mismatch", "column": "printed_comm_s", "printed": 12.5}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [finding, other]}]))
    first = "up: the communication at N = 2, b = 32 is 1.6, not 12.5 (it is "
    assert 0 < text.index(first) < text.index("; the speed-up at N = 2, b = 32 is 1.6, not 3.2 (")
    far = finding | {"code": "comm_mismatch", "printed": 3.2}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [finding, other, far]}]))
    assert "up: two communication times are wrong (off by 100% and 681%)" in text
    assert "one of two rows does not add up; two communication times are wrong (" in text


def of_reason(code: str, reason: str, **changed: object) -> dict:
    (finding,) = AUDIT["findings"]
    return finding | {"code": code, "reason": reason, **changed}


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        # The row of two workers: 12.5 s, of one 20 s.
        (
            of_reason("speedup_mismatch", "T_1/T_N is 20 / 12.5"),
            "is 1.6, not 3.2 (20 s of one worker over 12.5 s of two).",
        ),
        (
            of_reason("compute_mismatch", "T_1/N = 20 / 2", expected=10.0),
            "is 10, not 3.2 (20 s of one worker over 2).",
        ),
        (
            of_reason("comm_mismatch", "T_N - T_1/N = 12.5 - 20 / 2", expected=2.5),
            "is 2.5, not 3.2 (12.5 s in all less 10 s of computation).",
        ),
        # Of times that cannot be right nothing follows.
        (of_reason("speedup_mismatch", "T_1/T_N is 9 / 3", workers=3), "is 1.6, not 3.2."),
    ],
)
def test_a_wrong_number_stands_beside_the_times_that_give_the_right_one(
    make_report, finding, words
):
    text = rendered(make_report(audits=[audit_of(finding)]))
    assert f" at N = {finding['workers']}, b = 32 {words}</p>" in text
    short = text[text.index('<dl class="summary">') : text.index('class="contents"')]
    assert f"{words.split(' (')[0].removesuffix('.')}." in short


def test_of_several_wrong_numbers_the_first_stands_beside_its_times(make_report):
    wrong = of_reason("speedup_mismatch", "T_1/T_N is 20 / 12.5")
    several = "speed-ups are wrong (off by 100%)"
    text = rendered(make_report(audits=[audit_of(wrong, wrong)]))
    assert (
        f"two {several}: at N = 2, b = 32 it is 1.6, not 3.2 (20 s of one worker over 12.5 s of "
        "two)." in text
    )
    farther = of_reason("sum_mismatch", "x", printed=9.0)
    text = rendered(make_report(audits=[audit_of(wrong, wrong, farther)]))
    assert f"; two {several}.</p>" in text


def test_an_epoch_that_loading_shortens_leaves_two_times_in_doubt(make_report):
    (finding,) = AUDIT["findings"]
    loading = {"code": "loading_faster_than_without", "column": "epoch_s", "unit": "s"}
    changed = finding | loading | {"printed": 16.9, "expected": 18.3}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [changed]}]))
    assert (
        "One of two rows does not add up: at N = 2, b = 32 the epoch is "
        "7.7% shorter with loading (16.9 s) than without (18.3 s)." in text
    )
    assert "†: rests on two times of which one is wrong." in text
    assert text.count("32 †") == 1
    of_one = audit_of({**changed, "workers": 1})
    # The row of two workers rests on it; that of one is left out.
    assert rendered(make_report(audits=[of_one])).count("32 †") == 1
    elsewhere = audit_of(changed, {**finding, "workers": 1})
    text = rendered(make_report(audits=[elsewhere]))
    assert "Two of two rows do not add up: the" in text
    assert "Not measured here: two of two rows do not add up; the" in text
    # The row has a wrong cell beside the two.
    text = rendered(make_report(audits=[audit_of(changed, finding)]))
    assert "One of two rows does not add up: " in text


@pytest.mark.parametrize("holds_loading", [True, False])
def test_communication_that_holds_loading_is_an_upper_bound(make_report, holds_loading):
    derived = [row | {"holds_loading": holds_loading} for row in AUDIT["derived"]]
    text = rendered(make_report(audits=[{**AUDIT, "derived": derived}]))
    bound = "communication is at most what stands, bandwidth at least."
    assert (bound in text) == holds_loading


def test_a_column_that_is_wrong_by_one_cause_comes_first(make_report):
    (finding,) = AUDIT["findings"]
    rate = finding | {
        "code": "bandwidth_implausible",
        "column": "printed_bandwidth_gb_per_s",
        "unit": "GB/s",
        "printed": 32.0,
        "expected": 1.68485,
        "reason": "it is b = 32",
    }
    lesson = {"kind": "batch_size", "finding": rate}
    told = {**AUDIT, "findings": [rate, rate], "lessons": [lesson]}
    text = rendered(make_report(audits=[told]))
    assert (
        "up: every bandwidth has the batch size where bytes belong (32 GB/s at N = 2, b = 32, "
        "where the times give 1.685 GB/s).</p>"
    ) in text
    assert "not add up; every bandwidth has the batch size where bytes belong." in text
    text = rendered(make_report(audits=[{**told, "findings": [rate, rate, finding]}]))
    assert "1.685 GB/s); the speed-up at N = 2, b = 32 is 1.6, not 3.2 (it is" in text
    text = rendered(make_report(audits=[{**told, "lessons": [lesson | {"kind": "items"}]}]))
    assert "up: every bandwidth is wrong by one cause (32 GB/s at N = 2" in text
    assert "1.685 GB/s): it is b = 32." in text


def test_rows_that_lack_but_a_partial_iteration_are_counted_apart(make_report):
    (finding,) = AUDIT["findings"]
    rate = finding | {
        "code": "bandwidth_fractional",
        "column": "printed_bandwidth_gb_per_s",
        "unit": "GB/s",
        "printed": 1.64,
        "expected": 1.68,
        "reason": "it counts 24.4 iterations",
    }
    other = rate | {"workers": 4, "printed": 1.67}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [rate, other]}]))
    slight = "lack the last partial iteration in the bandwidth (off by 0.6% and 2.4%)."
    assert f"Two of two rows {slight}" in text
    assert f"Not measured here: two of two rows {slight}" in text
    assert "not add up" not in text
    assert "Iterations that are not whole are wrong here" in text
    text = rendered(make_report(audits=[{**AUDIT, "findings": [other, finding]}]))
    of_wrong = text.index("What is wrong, what")
    of_slight = text.index("Rows whose bandwidth leaves", of_wrong)
    assert text.index(">3.2<", of_wrong) < of_slight < text.index("24.4 iterations", of_wrong)
    text = rendered(make_report(audits=[{**AUDIT, "findings": [finding, rate, other]}]))
    # Of two rows there is one of each kind, and none without a finding.
    counted = "One more lacks the last partial iteration in the bandwidth (off by 0.6%)."
    assert 0 < text.index("One of two rows does not add up: the") < text.index(counted)
    assert (
        "Not measured here: one of two rows does not add up, one more lacks "
        "the last partial iteration; the speed-up at" in text
    )
    longer = {**AUDIT, "derived": [*AUDIT["derived"], AUDIT["derived"][0]]}
    text = rendered(make_report(audits=[{**longer, "findings": [finding, other]}]))
    assert "in the bandwidth (off by 0.6%) and one has no finding." in text
    far = rate | {"printed": 1.0}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [far]}]))
    assert "does not add up: the bandwidth at N = 2, b = 32 is 1.68 GB/s, not 1 GB/s" in text
    lesson = {"kind": "fractional", "finding": far}
    told = {**AUDIT, "findings": [far, other], "lessons": [lesson]}
    text = rendered(make_report(audits=[told]))
    assert "Two of two rows do not add up: every bandwidth counts" in text
    assert "Iterations that are not whole" not in rendered(make_report())


def test_a_number_is_told_from_the_right_one_in_as_many_digits_as_it_takes(make_report):
    (finding,) = AUDIT["findings"]
    near = finding | {"printed": 1.60001, "expected": 1.6}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [near]}]))
    assert "is 1.6, not 1.60001" in text


@pytest.mark.parametrize(
    ("code", "bound", "words"),
    [
        (
            "loading_faster_than_without",
            "at least 18.28 s, or the time without loading is wrong",
            "with loading (16.94 s) than without",
        ),
        ("batch_exceeds_dataset", "at most 18.28 s", "and no more than 18.28 s can be right ("),
        ("superlinear", "at most 18.28 s", "is 16.94 s, and at most 18.28 s is usual ("),
        ("comm_mismatch", "18.28 s", "is 18.28 s, not 16.94 s ("),
    ],
)
def test_what_is_but_a_bound_is_no_right_number(make_report, code, bound, words):
    (finding,) = AUDIT["findings"]
    changed = finding | {"code": code, "printed": 16.937219, "expected": 18.280495, "unit": "s"}
    text = rendered(make_report(audits=[{**AUDIT, "findings": [changed]}]))
    assert words in text
    assert f">{bound}<" in text


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "one of two rows does not add up; the speed-up at N = 2, b = 32 is 1.6, not"),
        (
            {"findings": [], "checked": 3, "printed": 3},
            "The 3 printed numbers that could be checked",
        ),
        ({"findings": [], "checked": 0, "printed": 3}, "Nothing in this table could be checked."),
    ],
)
def test_an_audit_has_its_line_on_the_first_page(make_report, change, line):
    page = rendered(make_report(audits=[{**AUDIT, **change}]))
    assert line in page[page.index('<dl class="summary">') : page.index('class="contents"')]


def test_what_is_doubtful_comes_before_what_was_assumed(make_report):
    text = rendered(make_report(audits=[{**AUDIT, "doubts": ["one may be a copy", "so may two"]}]))
    doubtful = text.index("<p>Doubtful: one may be a copy. So may two.</p>")
    assert doubtful < text.index("Read and assumed: 50,000")
    assert "Doubtful:" not in rendered(make_report())


def test_a_damaged_audit_is_named(tmp_path):
    path = tmp_path / "audit.json"
    path.write_text('{"title": "x"}')
    with pytest.raises(ValueError, match="derived") as caught:
        audit_section(path, 1)
    assert str(path) in caught.value.__notes__
