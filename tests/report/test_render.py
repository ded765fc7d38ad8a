"""The rendered report: escaped, whole, self-contained, each number tied to its runs."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from jinja2 import UndefinedError
from made_lab import (
    HEAD,
    TEMPLATES,
    Maker,
    answer,
    lab_answers,
    runs_table,
    speedup_value,
    timing_table,
)
from markupsafe import Markup

from dpscale.reporting.answer import (
    Answer,
    AnswerTable,
    Column,
    Figure,
    Value,
    dump_answers,
    load_answers,
)
from dpscale.reporting.formula import FormulaError, as_image, as_mathml, with_formulas
from dpscale.reporting.links import Sources, UnknownRunError, runs_text
from dpscale.reporting.render import render_report, write_html
from dpscale.reporting.report import MissingAnswerError, Report
from dpscale.reporting.scope import networks
from dpscale.reporting.tables import Shown, TableView, shown, table_view

HOSTILE = """<script>alert(1)</script> {{ 7*7 }} "quoted" 'single' & <b>"""
FETCHING = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("use", "href"),
    ("use", "xlink:href"),
    ("image", "href"),
    ("source", "src"),
}


class Page(HTMLParser):
    """Tags, ids and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
            if (tag, name) in FETCHING:
                self.fetched.append(value or "")


@pytest.fixture
def html(make_report: Maker) -> str:
    return page_of(make_report())


def page_of(report: Report) -> str:
    return render_report(report, templates=TEMPLATES, medium="html")


def view_of(table: AnswerTable) -> TableView:
    return table_view(table, sources(), number=1, image=False)


def sources() -> Sources:
    return Sources.of_runs(runs_table().run)


def test_hostile_text_is_printed_and_not_obeyed(make_report):
    answers = [answer("Q1", text=HOSTILE, missing=(HOSTILE,)), *lab_answers()[1:]]
    text = page_of(make_report(answers=answers, head={**HEAD, "title": HOSTILE}))
    assert Page(text).tags.count("script") == 1  # the page's own
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }} &#34;quoted&#34;") == 4


def test_hostile_cells_and_captions_are_escaped(make_report):
    table = AnswerTable(
        caption=HOSTILE, columns=[Column(key="a", title=HOSTILE)], rows=[{"a": HOSTILE}]
    )
    answers = [answer("Q1").model_copy(update={"tables": [table]}), *lab_answers()[1:]]
    text = page_of(make_report(answers=answers))
    assert Page(text).tags.count("script") == 1  # the page's own


def test_the_machine_has_as_many_devices_as_the_run_that_saw_most(make_report, tmp_path):
    (tmp_path / "provenance.json").write_text('{"device": "A100", "devices": 1}', encoding="utf-8")
    assert ("Devices", "1") in make_report().machine
    runs = runs_table().assign(devices_per_machine=[1, 4, None])
    assert ("Devices", "4") in make_report(runs=runs).machine


def test_a_missing_answer_is_an_error_that_names_it(make_report):
    with pytest.raises(MissingAnswerError, match=r"no answer to Q3\.1, Q7"):
        make_report(answers=[a for a in lab_answers() if a.id not in ("Q3.1", "Q7")])


def test_a_name_that_a_template_does_not_get_is_an_error(make_report, tmp_path):
    (tmp_path / "report.html.j2").write_text("{{ report.head.titel }}", encoding="utf-8")
    (tmp_path / "style.css").write_text("", encoding="utf-8")
    with pytest.raises(UndefinedError, match="titel"):
        render_report(make_report(), templates=tmp_path, medium="html")


def test_a_missing_figure_is_an_error(make_report):
    changed = answer("Q1").model_copy(
        update={"figures": [Figure(name="nowhere", title="T", caption="C.")]}
    )
    with pytest.raises(FileNotFoundError, match=r"nowhere\.svg"):
        make_report(answers=[changed, *lab_answers()[1:]])


def test_a_number_that_names_an_unknown_run_is_an_error(make_report):
    with pytest.raises(UnknownRunError, match="scaling-n2-b32"):
        page_of(make_report(runs=runs_table().iloc[:1]))


def test_the_page_asks_nothing_of_any_server(html):
    assert Page(html).fetched == []
    assert re.findall(r"url\((?!#)|@import", html) == []


def test_outside_links_lead_to_dois_only(html):
    outside = {link for link in Page(html).links if not link.startswith("#")}
    assert outside == {"https://doi.org/10.1016/j.jpdc.2008.09.002"}


def test_every_anchor_resolves_and_is_unique(html):
    page = Page(html)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_every_run_has_an_anchor(html):
    assert {"run-scaling-n1-b32", "run-scaling-n2-b32", "run-scaling-n4"} <= set(Page(html).ids)


def test_a_number_in_the_text_links_to_its_runs(html):
    assert (
        '<a class="measured" href="#run-scaling-n2-b32" title="run scaling-n2-b32">61.7%</a>'
        in html
    )


def test_a_number_of_two_runs_links_to_their_group(html):
    found = re.search(
        r'<a class="measured" href="#(source-\d+)" '
        r'title="2 runs: scaling-n1-b32, scaling-n2-b32">1.23× \(1.20',
        html,
    )
    assert found is not None
    assert found[1] in Page(html).ids


def test_lacking_results_are_counted_at_the_top_and_named_in_their_section(make_report):
    runs = runs_table()
    runs.loc[2, "status"] = "not run yet"
    text = page_of(make_report(runs=runs))
    assert "1 not run yet" in text[: text.index('<dl class="summary">')]
    assert "No result yet for: warmup, seed 1." in text


def test_a_whole_report_has_no_notice(make_report):
    text = page_of(make_report(answers=[a if a.left_out else answer(a.id) for a in lab_answers()]))
    assert "incomplete" not in text


def test_a_part_that_the_configuration_does_not_plan_is_not_in_the_report(make_report):
    text = page_of(make_report())
    assert "Part 1. The data-parallel lab" in text
    assert "The cluster-training assignment" not in text
    planned = [answer(a.id) if a.left_out else a for a in lab_answers()]
    text = page_of(make_report(answers=planned))
    assert "Part 2. The cluster-training assignment" in text


def test_a_report_of_the_assignment_alone_has_its_part_alone(make_report):
    gone = [
        a.model_copy(update={"missing": ["sweep: left out of the configuration"]})
        for a in lab_answers()[:9]
    ]
    answers = [*gone, *(answer(a.id) for a in lab_answers()[9:])]
    report = make_report(answers=answers)
    text = page_of(report)
    assert "The data-parallel lab" not in text
    assert report.incomplete == []


def test_the_first_page_has_the_line_of_each_answer_that_was_asked(make_report):
    given = [
        one.model_copy(update={"short": f"{one.id} <line>.", "marked": None})
        for one in lab_answers()
    ]
    report = make_report(answers=given)
    text = page_of(report)
    first = text[text.index('<dl class="summary">') : text.index('class="contents"')]
    asked = [one.id for one in given if not one.left_out]
    assert re.findall(r"<dd>(\S+) &lt;line&gt;.</dd>", first) == asked


def weighing(**weights: float) -> list[Answer]:
    """The answers of the lab, some with a weight and an opening of two sentences."""
    return [
        answer(one.id).model_copy(
            update={
                "weight": weights.get(one.id, 1.0),
                "sentence": f"Lesson of {one.id}, 1.5 times. And why.",
                "marked": None,
            }
        )
        for one in lab_answers()
    ]


def test_the_first_page_leads_with_the_first_sentences_of_the_weightiest_answers(make_report):
    text = page_of(make_report(answers=weighing(Q2=1.5, S1=3.0, E2=1.5)))
    first = text[text.index('class="lessons"') : text.index('<dl class="summary">')]
    assert re.findall(r'<li>(.*?) <a href="#answer-(\w+)">', first) == [
        (f"Lesson of {name}, 1.5 times.", name) for name in ("S1", "Q2", "E2")
    ]


def test_the_first_page_has_six_lessons_of_answers_at_most_and_none_without_an_effect(make_report):
    every = dict.fromkeys(("Q1", "Q2", "Q5", "Q6", "Q7", "S1", "S2", "S3", "S4"), 2.0)
    assert list(make_report(answers=weighing(**every)).lessons) == list(every)[:6]
    assert 'class="lessons"' not in page_of(make_report(answers=weighing()))


def test_a_lesson_names_the_networks_that_it_rests_on_unless_it_does_so_itself(make_report):
    named = "Lesson of Q2 (small residual network), 1.5 times. And why."
    answers = weighing(Q1=1.5, Q2=1.4)
    answers = [
        one.model_copy(update={"sentence": named}) if one.id == "Q2" else one for one in answers
    ]
    report = make_report(answers=answers)
    assert report.lessons == dict.fromkeys(("Q1", "Q2"), ("small residual network",))
    text = page_of(report)
    assert re.search(r">Q1</a>, small residual network</li>", text)
    assert re.search(r">Q2</a></li>", text)
    others = ("network of one hidden layer", "linear classifier")
    answers[1] = answers[1].model_copy(update={"sentence": "So it is (one hidden layer)."})
    text = page_of(replace(make_report(answers=answers), lessons={"Q1": others, "Q2": others}))
    assert re.search(r">Q1</a>, network of one hidden layer and linear classifier</li>", text)
    assert re.search(r">Q2</a></li>", text)


def test_a_lesson_rests_on_the_networks_of_the_numbers_that_it_opens_with():
    answer = Answer(
        id="S3",
        question="What?",
        sentence="It takes \ue000one\ue0011.5 s\ue002.",
        values={"of_both": Value(value=2.0, unit="s", runs=["one", "two", "three"])},
    )
    runs = pd.DataFrame(
        {"run": ["one", "two", "three"], "status": "complete", "model": ["softmax", "mlp", "mlp"]}
    )
    assert networks(answer, runs) == ("linear classifier",)
    said_by_none = answer.model_copy(update={"sentence": "It takes long."})
    assert networks(said_by_none, runs) == ("network of one hidden layer", "linear classifier")


def test_the_machine_is_the_last_of_the_first_page(make_report):
    text = page_of(make_report())
    first = text[text.index('id="summary"') : text.index('class="contents"')]
    places = [first.index(one) for one in ('class="scope"', 'class="summary"', 'class="machine"')]
    assert places == sorted(places)


FURTHER = {
    "method": ["Each time is a median."],
    "paragraphs": ["It follows from S1 and from Q2, not from T1."],
    "marked": None,
}


WORDS_FURTHER = (
    "Each time is a median.",
    "<b>Table A1.</b> More of it.",
    "<b>Figure A1.</b> Order",
)


def _with_further(medium):
    table = timing_table().model_copy(update={"further": True, "caption": "More of it."})
    figure = Figure(name="of_what_is_further", title="Order", caption="More.", further=True)
    shown = answer("Q1")
    more = {"tables": [*shown.tables, table], "figures": [*shown.figures, figure]}
    return lambda make: render_report(
        make(
            answers=[
                answer(a.id).model_copy(update=FURTHER | more) if a.id == "Q1" else a
                for a in lab_answers()
            ]
        ),
        templates=TEMPLATES,
        medium=medium,
    )


def test_what_goes_further_is_folded_into_its_answer_on_the_page(make_report):
    text = _with_further("html")(make_report)
    section = text[text.index('id="answer-Q1"') : text.index('id="answer-Q2"')]
    body, folded = section.split('<details class="further">')
    assert "<b>Table 1.</b>" in body
    assert "a median" not in body
    for words in WORDS_FURTHER:
        assert words in folded
    assert 'id="further"' not in text


def test_what_goes_further_is_an_appendix_in_print(make_report):
    text = _with_further("pdf")(make_report)
    body, appendix = text.split('id="further"')
    assert '<a href="#further-answer-Q1">' in body[body.index('id="answer-Q1"') :]
    assert "a median" not in body
    for words in WORDS_FURTHER:
        assert words in appendix


def test_paragraphs_of_what_goes_further_may_fill_pages_and_tables_stay(make_report):
    _, appendix = _with_further("pdf")(make_report).split('id="further"')
    blocks = re.findall(r"<div( id=\"further-answer-Q1-\d+\")?>\s*<(\w+)", appendix)
    assert {(bool(name), shown) for name, shown in blocks} >= {(True, "p")}
    assert "Table A1" in appendix
    assert all(shown == "p" for name, shown in blocks if name)


def test_the_name_of_another_answer_leads_to_it(make_report):
    linked = 'from <a href="#answer-S1">S1</a> and from <a href="#answer-Q2">Q2</a>, not from T1.'
    assert linked in _with_further("html")(make_report)


@pytest.mark.parametrize(("parts", "kept"), [(["lab"], "Q"), (["studies", "audit"], "ST")])
def test_only_the_parts_that_are_handed_in_are_in_the_report(make_report, parts, kept):
    report = make_report(head={"parts": parts})
    assert {name[0] for name in report.answers} == set(kept)
    assert [part.name for part in report.parts] == parts
    text = page_of(report)
    assert f"Part {len(parts)}." in text
    assert f"Part {len(parts) + 1}." not in text
    assert "<b>Table 1.</b>" in text


def test_a_question_that_nothing_was_planned_for_is_a_name_at_the_end(make_report):
    text = page_of(make_report())
    assert 'id="answer-H1"' not in text
    assert "plans no runs for them:\nH1, H2, H3, H4, H5, H6." in text


def test_the_first_page_says_which_networks_learn_which_data_in_each_part(make_report):
    text = page_of(make_report(runs=runs_table().assign(model=["mlp", "mlp", "own"])))
    data = "scikit-learn&#39;s digits of 8x8 pixels"
    scope = " ".join(text[text.index('<p class="scope">') :].split("</p>")[0].split())
    assert scope == (
        f'<p class="scope">All trainings use {data}: part 1 a network of one hidden layer; '
        "part 2 a network of one hidden layer; part 3 a network of one hidden layer."
    )


def test_parts_of_different_data_name_those_of_each(make_report):
    def of_run(name: str, run: str) -> Answer:
        """An answer that rests on one run."""
        values = {"x": Value(value=1.0, unit="s", runs=[run])}
        return Answer(id=name, question="?", sentence="So.", values=values)

    given = [
        of_run(one.id, "scaling-n1-b32" if one.id[0] == "Q" else "scaling-n2-b32")
        for one in lab_answers()
    ]
    runs = runs_table().assign(dataset=["digits", "mnist", "digits"])
    text = page_of(make_report(answers=given, runs=runs, head={"parts": ["lab", "studies"]}))
    scope = " ".join(text[text.index('<p class="scope">') :].split("</p>")[0].split())
    assert "Part 1 trains a small residual network on scikit-learn" in scope
    assert "part 2 trains a small residual network on MNIST." in scope


def test_a_run_that_could_not_begin_says_nothing_of_what_is_trained(make_report):
    runs = runs_table().assign(model=["Net", "Net", "own"], dataset=["net.py", "net.py", "own"])
    values = {"x": Value(value=1.0, unit="s", runs=list(runs["run"]))}
    given = [one.model_copy(update={"values": values}) for one in lab_answers()]
    text = page_of(make_report(answers=given, runs=runs))
    assert "given network" not in text
    assert "All trainings use net.py: part 1 Net;" in text.replace("\n", " ")


@pytest.mark.parametrize("medium", ["html", "pdf"])
def test_the_closing_page_stands_after_the_parts_and_in_the_contents(make_report, medium):
    drawn = [Figure(name="of_what_is_further", title="Gain", caption="More.", further=False)]
    closing = answer("cluster").model_copy(
        update={"question": "What carries over?", "figures": drawn}
    )
    report = make_report(closing=closing)
    text = render_report(report, templates=TEMPLATES, medium=medium)
    assert 'id="figure-of_what_is_further"' in text
    contents = text[text.index('class="contents"') : text.index("<main")]
    assert '<a href="#answer-cluster"><span>On your cluster</span></a>' in contents
    assert text.index('id="part-audit"') < text.index('id="answer-cluster"')
    assert text.index('id="answer-cluster"') < text.index('id="references"')


def test_without_a_closing_page_nothing_is_said_of_it(make_report):
    assert "On your cluster" not in page_of(make_report())


def test_a_repeated_figure_is_shown_once_and_pointed_to(html):
    assert Page(html).ids.count("figure-accuracy") == 1
    assert 'See <a href="#figure-accuracy">figure 5</a>' in html


def test_the_report_is_dated_by_its_newest_run(make_report):
    report = make_report()
    assert (report.date, report.finished_at) == ("2 March 2026", "2026-03-02T11:30:00Z")


def test_references_are_sorted_by_family_name(make_report):
    given = ["P. Zola, A, 2001.", "Z. Abel and B. Cox, C, 2002.", "S. Li et al., D, 2003."]
    answers = [
        one.model_copy(update={"references": given if one.id == "Q1" else []})
        for one in lab_answers()
    ]
    text = page_of(make_report(answers=answers))
    found = text[text.index('class="references"') :]
    assert re.findall(r"<li>\w\. (\w+)", found.split("</ul>")[0]) == ["Abel", "Li", "Zola"]


def test_the_contents_have_short_titles_where_there_are_some(make_report):
    given = [
        one.model_copy(update={"title": "In short" if one.id == "Q1" else ""})
        for one in lab_answers()
    ]
    text = page_of(make_report(answers=given))
    contents = text[text.index('class="contents"') : text.index("<main")]
    assert "<b>Q1</b> In short</span>" in contents
    assert "<b>Q2</b> What does question Q2 ask" in contents


def test_the_same_report_is_the_same_page(make_report, tmp_path):
    for name in ("one.html", "two.html"):
        write_html(make_report(), templates=TEMPLATES, output=tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.0598, 0.0602, "0.0598 to 0.0602"),
        (0.06, 0.06, ""),
        (0.06, 0.0600000001, ""),
        (0.05, 0.07, "0.0500 to 0.0700"),  # three digits of the value, as in prose
    ],
)
def test_the_ends_of_an_interval_print_apart(low, high, ends):
    cells = [Value(value=0.06, unit="number", low=low, high=high), Value(value=1.2, unit="number")]
    table = AnswerTable(
        caption="T.",
        columns=[Column(key="loss", title="Loss", unit="number")],
        rows=[{"loss": cell} for cell in cells],
    )
    assert view_of(table).rows[0][0].interval == ends


def test_a_column_has_one_scale_and_its_cells_link_to_the_runs_of_their_row():
    view = view_of(timing_table())
    assert (view.columns[2].symbol, view.rows[0][2], view.rows[3][2]) == (
        "s",
        Shown("12.50", "12.12 to 12.75", "#run-scaling-n1-b32", "run scaling-n1-b32", "12.5"),
        Shown("out of memory"),
    )
    assert view.rows[2][1] == "2\u202f048"  # a setting links to nothing


def wide_table(last: Value) -> AnswerTable:
    columns = [Column(key=f"c{index}", title=f"Column {index}") for index in range(9)]
    unknown = Value(value=None, unit="s", status="not measured")
    first = {column.key: 1 for column in columns[:-1]}
    return AnswerTable(
        caption="c", columns=columns, rows=[{**first, "c8": unknown}, {**first, "c8": last}]
    )


def test_a_wide_table_leaves_out_a_column_without_one_result_and_says_so():
    view = view_of(wide_table(Value(value=None, unit="s", status="not measured")))
    assert (len(view.columns), view.left_out) == (8, [("not measured", ["Column 8"])])


def test_a_wide_table_keeps_a_column_with_a_result():
    view = view_of(wide_table(Value(value=1.0, unit="s")))
    assert (len(view.columns), view.left_out) == (9, [])


def sparse_table(values: list[Value | str | None]) -> AnswerTable:
    """A table of a size, a time of which every row has one, and what few rows have."""
    columns = [
        Column(key="n", title="N", unit="count"),
        Column(key="time", title="Time", unit="s"),
        Column(key="few", title="Memory", unit="bytes"),
    ]
    rows = [
        {"n": 2**n, "time": Value(value=1.0, unit="s"), "few": value}
        for n, value in enumerate(values)
    ]
    return AnswerTable(caption="c", columns=columns, rows=rows)


GIGABYTE = Value(value=1e9, unit="bytes", low=0.9e9, high=1.1e9)


def test_a_column_that_is_blank_in_three_quarters_of_the_rows_is_said_below_the_table():
    view = view_of(sparse_table([None, GIGABYTE, None, "–"]))
    (column,) = view.sparse
    assert [head.title for head in view.columns] == ["N", "Time"]
    assert (column.head.title, column.head.symbol) == ("Memory", "GB")
    assert column.cells == [("N 2", Shown("1.00", "0.90 to 1.10", key="1e+09"))]


FAILED = Value(value=None, unit="bytes", status="out_of_memory")


@pytest.mark.parametrize(
    "values",
    [[None, GIGABYTE, GIGABYTE, None], [None, GIGABYTE, None], [FAILED, GIGABYTE, FAILED, FAILED]],
    ids=["of half the rows", "of three rows", "of failures that say why"],
)
def test_a_column_with_blanks_stays(values) -> None:
    assert [head.title for head in view_of(sparse_table(values)).columns] == ["N", "Time", "Memory"]


def test_a_column_that_no_row_has_anything_in_is_named_below_the_table():
    view = view_of(sparse_table([None] * 4))
    assert (view.left_out, view.sparse) == ([("no row has", ["Memory"])], [])


def long_table(rows: int) -> AnswerTable:
    columns = [Column(key="n", title="N")]
    return AnswerTable(caption="Times.", columns=columns, rows=[{"n": n + 1} for n in range(rows)])


def test_a_table_of_very_many_rows_shows_the_first_and_says_how_many_there_are():
    view = view_of(long_table(1234))
    assert (len(view.rows), view.caption) == (
        50,
        "Times. The first 50 of 1\u202f234 rows; all are in answers.json, and what they are made "
        "of in derived/*.csv",
    )


def test_a_table_of_fifty_rows_is_whole():
    view = view_of(long_table(50))
    assert (len(view.rows), view.caption) == (50, "Times.")


def test_the_appendix_of_very_many_runs_lists_those_that_numbers_lead_to_or_that_failed(
    make_report,
):
    report = make_report()
    (first, *_) = report.runs
    extra = [{**first, "run": f"more-{n}", "message": None} for n in range(600)]
    failed = {**first, "run": "failed", "message": "no memory left"}
    text = page_of(replace(report, runs=[*report.runs, *extra, failed]))
    ids = Page(text).ids
    assert "run-more-1" not in ids
    assert {"run-failed", "run-scaling-n1-b32"} <= set(ids)


def test_of_many_runs_the_first_are_named_and_the_others_counted():
    names = [f"r{n}" for n in range(1, 21)]
    assert runs_text(names[:2]) == "2 runs: r1, r2"
    assert runs_text(names).endswith("r14, r15 and 5 more")
    assert runs_text(names[:15]).endswith("r14, r15")


def test_a_measurement_is_its_text_its_interval_and_its_link():
    assert shown(speedup_value(("scaling-n1-b32",)), sources()) == Shown(
        "1.23×", "1.20 to 1.27", "#run-scaling-n1-b32", "run scaling-n1-b32"
    )


def test_answers_survive_the_way_through_json():
    assert load_answers(dump_answers(lab_answers())) == lab_answers()


def test_a_unit_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="furlong"):
        Value(value=1, unit="furlong")


def test_a_row_with_other_keys_than_the_columns_is_refused():
    with pytest.raises(ValueError, match="row 0"):
        AnswerTable(caption="c", columns=[Column(key="a", title="A")], rows=[{"b": 1}])


def pieces(tex: str) -> list[list[str]]:
    """Return the texts of a displayed formula's pieces, equation by equation."""
    drawn = as_mathml(tex, display=True)
    return [
        [re.sub("<[^>]*>", "", piece) for piece in equation.split("<wbr>")]
        for equation in drawn.split("</span> <span>")
    ]


def test_lines_of_a_displayed_formula_end_between_equations_and_before_relations_and_sums():
    assert pieces(r"a = b (c - d) + e, \qquad f \le -1") == [["a", "=b(c−d)", "+e,"], ["f", "≤−1"]]


def test_lines_of_a_displayed_formula_end_between_words():
    assert pieces(r"\text{bytes of all} = x") == [["bytes\xa0", "of\xa0", "all", "=x"]]


def test_a_sum_at_the_beginning_of_a_line_is_no_sign():
    assert '<mo form="infix">+</mo>' in as_mathml("a + b", display=True)


def test_a_formula_with_markup_inside_is_refused():
    with pytest.raises(FormulaError, match="script"):
        as_mathml(r"\text{<script>alert(1)</script>}")


def test_a_formula_as_an_image_has_its_tex_as_alternative_text():
    assert r'alt="\frac{1}{&#34;}"' in as_image(r'\frac{1}{"}')


def test_dollars_delimit_formulas_and_an_escaped_one_is_a_dollar():
    text = with_formulas(r"<b> $x$ costs \$5")
    assert text.startswith("&lt;b&gt; <math")
    assert text.endswith("</math> costs $5")


def test_a_formula_keeps_its_punctuation():
    assert with_formulas("$x$.").endswith("</math>.</span>")


def test_an_equation_in_the_text_does_not_break():
    assert with_formulas("N = 4 workers") == Markup("N\u00a0=\u00a04 workers")


def test_two_runs_never_share_an_anchor():
    assert Sources.of_runs(["a b", "a-b"]).anchors == {"a b": "run-a-b", "a-b": "run-a-b-2"}


def test_an_answer_that_does_not_exist_cannot_be_loaded():
    with pytest.raises(ValueError, match="sentence"):
        Answer.model_validate({"id": "Q1", "question": "?"})


def quiet_row(run: str, others_frac: float, quietness: str, repeated: int = 0) -> dict:
    return {
        "run": run,
        "study": "scaling",
        "workers": 1,
        "repeats": 3,
        "repeated": repeated,
        "others_frac": others_frac,
        "quietness": quietness,
    }


def test_the_report_says_which_timed_runs_were_disturbed_and_by_how_much(make_report):
    rows = [
        quiet_row("scaling-n2-b32", 0.124, "disturbed", repeated=4),
        quiet_row("scaling-n1-b32", 0.012, "quiet"),
        quiet_row("scaling-n1-b64", 0.06, "unknown"),
    ]
    text = page_of(make_report(quiet=rows))
    first = text[: text.index('class="contents"')]
    assert "1 of 2 timed runs was" in first
    assert "more than 5% of the cores, 12.4% at the most; 1 more was too short to tell" in first
    assert '<a href="#run-scaling-n2-b32">scaling-n2-b32</a> (12.4%).' in text
    assert "since something else used the machine: 4." in text


@pytest.mark.parametrize(("listed", "rows"), [(False, 0), (True, 1)])
def test_a_pdf_lists_the_runs_and_links_to_them_only_where_that_is_asked_for(
    make_report, listed, rows
):
    disturbed = [quiet_row("scaling-n2-b32", 0.124, "disturbed")]
    report = make_report(quiet=disturbed, head={"runs": listed})
    text = render_report(report, templates=TEMPLATES, medium="pdf")
    assert text.count('<tr id="run-scaling-n2-b32">') == rows
    assert ('href="#run-scaling-n2-b32"' in text) == listed
    assert ("In report.html, which lies beside this file" in text) != listed
    assert "scaling-n2-b32" in text[text.index('id="disturbed"') :]
    assert [one for one in re.findall(r'href="#([^"]+)"', text) if f'id="{one}"' not in text] == []


def test_a_quiet_machine_is_said_to_be_quiet(make_report):
    rows = [quiet_row("scaling-n1-b32", 0.012, "quiet")]
    text = page_of(make_report(quiet=rows))
    assert "while the 1 timed runs went on, others used at most 1.20% of the cores" in text
    assert 'id="disturbed"' not in text
    unknown = page_of(make_report())
    assert "others used" not in unknown
