"""The PDF: pages, text, type, no MathML, tagged, the same bytes twice; one clear line without
Pango."""

import builtins
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
from made_lab import TEMPLATES, lab_answers, write_report
from PIL import Image

from dpscale.reporting import pdf
from dpscale.reporting.question import failed
from dpscale.reporting.render import render_report

POPPLER = pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not installed")
MOST_PAGES = {"body": 27, "part 1": 12, "appendix": 20, "white": 1}
FURTHER = "Appendix: methods and further tables"
LEAST_WHITE = 0.05  # of a page, which a table's row or the lines of a paragraph cannot fill
INTERVAL = re.compile(r"\d+\.\d+ to \d+\.\d+")


def _pango_is_missing() -> bool:
    try:
        import weasyprint  # noqa: F401
    except OSError:
        return True
    return False


PANGO = pytest.mark.skipif("_pango_is_missing()", reason="Pango is not installed")


@dataclass(frozen=True)
class Piece:
    """Text of a page in one size and ink; y is its height above the foot of the page."""

    text: str
    y: float
    size_pt: float
    font: str
    ink: tuple[float, ...]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up lab's report as a PDF."""
    folder = tmp_path_factory.mktemp("printed")
    pdf.write_pdf(write_report(folder), templates=TEMPLATES, output=folder / "report.pdf")
    return folder / "report.pdf"


@pytest.fixture(scope="module")
def document(printed):
    return pytest.importorskip("pypdf").PdfReader(printed)


@pytest.fixture(scope="module")
def pages(document) -> list[list[Piece]]:
    return [
        [one for one in _pieces(page) if "DejaVu" not in one.font or one.size_pt > 8.4]
        for page in document.pages
    ]


def _pieces(page) -> list[Piece]:
    found: list[Piece] = []
    ink: tuple[float, ...] = (0.0,)

    def operator(name, operands, *_):
        nonlocal ink
        if name in (b"rg", b"g"):
            ink = tuple(map(float, operands))

    def text(words, cm, tm, font, size):
        if words.strip() and font:
            y = cm[1] * tm[4] + cm[3] * tm[5] + cm[5]
            found.append(Piece(words, y, size * abs(tm[3] * cm[3]), font["/BaseFont"], ink))

    page.extract_text(visitor_operand_before=operator, visitor_text=text)
    return found


def tool(*command: object) -> str:
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True
    ).stdout


@PANGO
@POPPLER
def test_the_pdf_is_tagged_titled_dated_a4_and_has_its_pages(printed):
    facts = dict(line.split(":", 1) for line in tool("pdfinfo", "-isodates", printed).splitlines())
    assert facts["Title"].strip() == "Data-parallel training"
    assert facts["Tagged"].strip() == "yes"
    assert facts["CreationDate"].strip().startswith("2026-03-02T11:30")
    assert "A4" in facts["Page size"]
    assert 6 <= int(facts["Pages"]) <= 21


@PANGO
@POPPLER
def test_the_pdf_says_what_the_page_says_and_numbers_its_contents(printed):
    text = tool("pdftotext", "-layout", printed, "-")
    assert "Two workers finish an epoch 1.23× (1.20 to 1.27) as fast as one worker." in text
    assert "Table 9." in text
    assert "Appendix: the runs" in text
    contents = text[text.index("Contents\n") :]
    line = next(line for line in contents.splitlines() if line.strip().startswith("Q7"))
    assert line.split()[-1].isdigit()


@PANGO
@POPPLER
def test_the_pdf_with_an_answer_that_failed_says_so_in_its_place(tmp_path):
    answers = [failed("E2", "KeyError: $x <b>") if one.id == "E2" else one for one in lab_answers()]
    report = write_report(tmp_path, answers=answers, head={"parts": ["engineering"]})
    pdf.write_pdf(report, templates=TEMPLATES, output=tmp_path / "report.pdf")
    text = " ".join(tool("pdftotext", "-layout", tmp_path / "report.pdf", "-").split())
    assert "This answer failed, by a slip of the program: KeyError: $x <b>." in text


@PANGO
@POPPLER
def test_pages_have_their_numbers_also_where_nothing_fills_one(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "filling", lambda *_: {})
    report = write_report(tmp_path, head={"parts": ["engineering"]})
    pdf.write_pdf(report, templates=TEMPLATES, output=tmp_path / "report.pdf")
    text = tool("pdftotext", "-layout", tmp_path / "report.pdf", "-")
    count = text.count("\f")
    feet = re.findall(r"(\d+) ?/ ?(\d+)\s*\f", text)
    assert feet == [(str(number), str(count)) for number in range(1, count + 1)]


def tagged(element) -> Iterator[tuple[str, str | None]]:
    """Yield the tag of each element of a PDF's structure, with its alternative text."""
    element = element.get_object()
    if isinstance(element, list):
        for child in element:
            yield from tagged(child)
    elif isinstance(element, dict) and "/S" in element:
        yield element["/S"], element.get("/Alt")
        if "/K" in element:
            yield from tagged(element["/K"])


@PANGO
def test_the_pdf_has_its_language_and_headings_in_order_and_words_for_each_picture(document):
    assert document.trailer["/Root"]["/Lang"] == "en"
    tags = list(tagged(document.trailer["/Root"]["/StructTreeRoot"]["/K"]))
    levels = [int(name[2:]) for name, _ in tags if re.fullmatch(r"/H\d", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(then <= before + 1 for before, then in pairwise(levels))
    assert [words for name, words in tags if name == "/Figure" and not words] == []
    assert {"/Table", "/TH", "/TD", "/Caption", "/L", "/LI", "/Link"} <= {name for name, _ in tags}


@PANGO
def test_the_pdf_has_a_bookmark_for_each_question(document):
    titles = [one["/Title"] for one in _flat(document.outline)]
    assert [title.split()[0] for title in titles if " What does question" in title][:3] == [
        "Q1",
        "Q2",
        "Q3.1",
    ]


def _flat(outline: list) -> Iterator[dict]:
    for one in outline:
        yield from _flat(one) if isinstance(one, list) else [one]


@pytest.fixture(scope="module")
def starts(document) -> dict[str, int]:
    """The page, from 0, on which each part, answer and appendix begins, by its title."""
    return {
        one["/Title"].partition(".")[0]: document.get_destination_page_number(one)
        for one in _flat(document.outline)
    }


@PANGO
def test_body_part_1_and_appendix_keep_their_limits_of_pages(starts):
    assert starts[FURTHER] <= MOST_PAGES["body"]
    assert starts["Part 2"] - starts["Part 1"] + 1 <= MOST_PAGES["part 1"]
    assert starts["Appendix: the runs"] - starts[FURTHER] <= MOST_PAGES["appendix"]


@PANGO
def test_no_answer_is_cut_from_its_figure(document, starts):
    for page in document.pages[: starts[FURTHER]]:
        shown = page.extract_text()
        first = re.findall(r"What does question (Q\d[.\d]*) ask", shown.split("Contents")[0])
        assert shown.count("A title. A caption.") >= len({*first} - {"Q4.2"}), first


@PANGO
@POPPLER
def test_white_at_the_feet_of_the_body_pages_is_a_page_at_most(printed, starts, tmp_path):
    last = starts[FURTHER] - 1  # of the body, which ends where it ends
    tool("pdftoppm", "-gray", "-r", 36, "-f", 1, "-l", last, printed, tmp_path / "page")
    white = [_white(path) for path in sorted(tmp_path.iterdir())]
    assert sum(max(0, one - LEAST_WHITE) for one in white) <= MOST_PAGES["white"], white


def _white(path: Path) -> float:
    """The share of a page's text area that is white below its last ink."""
    ink = numpy.asarray(Image.open(path)) < 200
    top, foot = (int(ink.shape[0] * mm / 297) for mm in (19, 280))
    return 1 - (numpy.flatnonzero(ink[top:foot].any(axis=1)).max() + 1) / (foot - top)


def test_what_goes_further_fills_the_room_below_answers_as_far_as_it_fits():
    """Q1 and Q2 leave 508 px: of Q2's blocks of 200 and 300 px one fits and leaves 296, of Q1's
    of 100, 150 and 60 px two. Q3 ends where Q4 begins."""
    first, second = {}, {}
    first["answer-Q1"], first["end-answer-Q1"] = (72, 300), (300, 300)
    first["answer-Q2"], first["end-answer-Q2"] = (310, 558), (558, 558)
    second["answer-Q3"], second["end-answer-Q3"] = (72, 300), (300, 300)
    second["answer-Q4"], second["end-answer-Q4"] = (320, 900), (900, 900)
    blocks = {"Q1": (100, 150, 60), "Q2": (200, 300), "Q3": (10,)}
    last = {
        f"further-answer-{question}-{n}": (72, 72 + height)
        for question, heights in blocks.items()
        for n, height in enumerate(heights)
    }
    pages = [
        SimpleNamespace(
            height=1122.5, anchors={one: (0, top, 9, foot) for one, (top, foot) in found.items()}
        )
        for found in (first, second, last)
    ]
    margins = pdf.margins_px((TEMPLATES / "print.css").read_text())
    assert margins == (pytest.approx(64.3, abs=0.1), pytest.approx(56.7, abs=0.1))  # 17, 15 mm
    assert pdf.filling(pages, margins) == {"answer-Q1": 2, "answer-Q2": 1}


@PANGO
@POPPLER
def test_every_font_is_embedded(printed):
    fonts = tool("pdffonts", printed).splitlines()[2:]
    assert fonts
    assert [line for line in fonts if line.split()[-5] != "yes"] == []


@PANGO
def test_no_heading_is_the_last_line_of_a_page(pages):
    last = [min(page, key=lambda one: one.y) for page in pages if page]
    assert [one.text for one in last if one.size_pt >= 11.5 and "Bold" in one.font] == []


@PANGO
def test_a_heading_goes_to_the_next_page_with_the_text_that_follows_it(tmp_path):
    import weasyprint

    pypdf = pytest.importorskip("pypdf")
    style = (TEMPLATES / "print.css").read_text(encoding="utf-8")
    ends = [
        f'<div style="break-before: page; height: {height}pt"></div><h3>Question</h3>'
        f'<p class="sentence">Answer</p>'
        for height in range(560, 720, 8)  # of 711 on a page: one heading is where the page ends
    ]
    text = f"<!doctype html><html lang=en><style>{style}</style>{''.join(ends)}</html>"
    weasyprint.HTML(string=text).write_pdf(tmp_path / "ends.pdf")
    last = [
        min(found, key=lambda one: one.y).text.strip()
        for page in pypdf.PdfReader(tmp_path / "ends.pdf").pages
        if (
            found := [
                one for one in _pieces(page) if "Question" in one.text or one.text == "Answer"
            ]
        )
    ]
    assert set(last) == {"Answer"}


@PANGO
def test_an_interval_in_a_table_is_in_type_that_can_be_read(pages):
    found = [one for page in pages for one in page if INTERVAL.fullmatch(one.text.strip())]
    assert len(found) > 50
    assert min(one.size_pt for one in found) >= 8.499
    assert max(max(one.ink) for one in found) < 0.1


def test_the_print_text_has_images_for_formulas_and_figures_and_no_mathml(make_report):
    text = render_report(make_report(), templates=TEMPLATES, medium="pdf")
    assert "<math" not in text
    assert "<svg" not in text
    assert 'alt="Words of speedup" src="data:image/svg+xml;base64,' in text


def test_mathml_on_its_way_to_the_pdf_is_an_error(make_report, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "render_report", lambda *_, **__: "<p><math></math></p>")
    with pytest.raises(pdf.MathMLInPdfError):
        pdf.write_pdf(make_report(), templates=TEMPLATES, output=tmp_path / "report.pdf")


@PANGO
def test_the_same_report_is_the_same_pdf(printed, make_report, tmp_path):
    pdf.write_pdf(make_report(), templates=TEMPLATES, output=tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == printed.read_bytes()


def test_without_pango_the_message_says_what_to_type(make_report, tmp_path, monkeypatch):
    known = builtins.__import__

    def without_pango(name, *arguments, **options):
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'\nmore lines")
        return known(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pango)
    with pytest.raises(pdf.MissingLibraryError, match="apt-get install libpango") as raised:
        pdf.write_pdf(make_report(), templates=TEMPLATES, output=tmp_path / "report.pdf")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "report.pdf").exists()
