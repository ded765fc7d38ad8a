"""The PDF: pages, text, no MathML, tagged, the same bytes twice; one clear line without Pango."""

import builtins
import shutil
import subprocess
from pathlib import Path

import pytest
from made_lab import TEMPLATES, Maker

from dpscale.reporting import pdf
from dpscale.reporting.render import render_report

POPPLER = pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not installed")


def _pango_is_missing() -> bool:
    try:
        import weasyprint  # noqa: F401
    except OSError:
        return True
    return False


PANGO = pytest.mark.skipif("_pango_is_missing()", reason="Pango is not installed")


@pytest.fixture
def printed(make_report: Maker, tmp_path: Path) -> Path:
    output = tmp_path / "report.pdf"
    pdf.write_pdf(make_report(), templates=TEMPLATES, output=output)
    return output


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
    assert 6 <= int(facts["Pages"]) <= 20


@PANGO
@POPPLER
def test_the_pdf_says_what_the_page_says_and_numbers_its_contents(printed):
    text = tool("pdftotext", "-layout", printed, "-")
    assert "Two workers finish an epoch 1.23× (1.20 to 1.27) as fast as one worker." in text
    assert "Table 9." in text
    assert "Appendix: the runs" in text
    contents = next(line for line in text.splitlines() if line.strip().startswith("Q7"))
    assert contents.split()[-1].isdigit()


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
def test_the_same_report_is_the_same_pdf(make_report, tmp_path):
    for name in ("one.pdf", "two.pdf"):
        pdf.write_pdf(make_report(), templates=TEMPLATES, output=tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


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
