"""The report as a tagged PDF, from the same templates with a print style sheet."""

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, count, pairwise, takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib

from dpscale.files import whole
from dpscale.reporting.render import render_report
from dpscale.reporting.report import Report

MM = 96 / 25.4  # CSS pixels
SPARE_PX = 12  # between blocks
BODY = "(answer|end|part|references)-?"  # anchors of what stands in the body, one below the other
# Style of the first layout: of the appendix paragraphs are all that may fill pages of the body.
FILLING_ALONE = "#further div:not([id]), .appendix { display: none; }"
COUNTER = r"target-counter\(attr\(href\), page\)|counter\(pages?\)"  # in a style sheet
LIBRARIES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
_FONTCONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


class MissingLibraryError(RuntimeError):
    """Pango's shared libraries are not installed; the message says what to type."""


class MathMLInPdfError(AssertionError):
    """A formula reached the PDF as MathML, which WeasyPrint would flatten without a word."""


def write_pdf(report: Report, *, templates: Path, output: Path) -> None:
    """Write the report as a PDF; the same report gives the same bytes on every machine.

    Raises MissingLibraryError where Pango cannot be loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        weasyprint = _weasyprint(Path(folder))
        # Everything is inside the page: nothing else may be fetched, and a failure is an error.
        fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"}, fail_on_errors=True)

        def laid_out(filled: Mapping[str, int], *, final: bool) -> Any:
            """Return the document; not final: with all that `filling` looks at, unnumbered."""
            text = render_report(report, templates=templates, medium="pdf", filled=filled)
            if re.search(r"<math\b", text):
                raise MathMLInPdfError("a formula is still MathML: draw it as an image")
            if not final:  # pages that tell the number of a later one would be laid out twice
                text = re.sub(COUNTER, '"00"', text).replace("</style>", f"{FILLING_ALONE}</style>")
            return weasyprint.HTML(string=text, url_fetcher=fetcher).render(pdf_tags=True)

        pages = laid_out({}, final=False).pages
        style = (templates / "print.css").read_text(encoding="utf-8")
        filled = filling(pages, margins_px(style))
        document = laid_out(filled, final=True)
        with whole(output) as temporary:
            temporary.write_bytes(document.write_pdf(pdf_tags=True))


def margins_px(style: str) -> tuple[float, float]:
    """Return the margins at the top and the foot of a page, by the style sheet of print."""
    found = re.search(r"@page \{[^@]*?margin: (\d+)mm \d+mm (\d+)mm", style)
    assert found, "print.css says no margin of a page"
    return int(found[1]) * MM, int(found[2]) * MM


def filling(pages: Sequence[Any], margins: tuple[float, float]) -> dict[str, int]:
    """Return how much of what goes further fills the page below answers, by an answer's anchor.

    pages: of all of it in the appendix; margins: at their top and foot, in CSS pixels. What begins
    a page since it does not fit on the one before leaves room there, which the answers that end on
    that page share, the last first: what fills it moves nothing to another page.
    """
    length = pages[0].height - sum(margins)
    at: dict[str, float] = {}  # where each begins, pages below each other
    heights: dict[str, float] = defaultdict(float)
    for number, page in enumerate(pages):
        for name, (_, top, _, bottom) in page.anchors.items():
            at.setdefault(name, number * length + top - margins[0])
            heights[name] += bottom - top
    body = sorted((y, name) for name, y in at.items() if re.match(BODY, name))
    filled: dict[str, int] = {}
    for (y, name), (then, _) in pairwise(body):
        room = length - y % length
        if name.startswith("end-") and then - y > room - 1:
            page = [one for top, one in body if y // length * length <= top <= y]
            ended = [one.removeprefix("end-") for one in page if one.startswith("end-")]
            for anchor in reversed(ended):
                blocks = takewhile(at.__contains__, (f"further-{anchor}-{n}" for n in count()))
                needed = accumulate(heights[block] + SPARE_PX for block in blocks)
                fits = [height for height in needed if height <= room]
                filled[anchor] = len(fits)
                room -= fits[-1] if fits else 0
    return filled


def _weasyprint(folder: Path) -> ModuleType:
    """WeasyPrint, with matplotlib's fonts as the only ones: it works where there is no font."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    config = folder / "fonts.conf"
    config.write_text(_FONTCONFIG.format(fonts=fonts, cache=folder / "cache"), encoding="utf-8")
    os.environ["FONTCONFIG_FILE"] = str(config)
    try:
        import weasyprint
        import weasyprint.urls
    except OSError as error:
        raise MissingLibraryError(
            f"the PDF needs Pango's libraries: apt-get install {LIBRARIES} "
            f"({str(error).splitlines()[0]})"
        ) from error
    return weasyprint
