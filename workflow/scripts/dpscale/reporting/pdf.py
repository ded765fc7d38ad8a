"""The report as a tagged PDF, from the same templates with a print style sheet."""

import os
import re
import tempfile
from pathlib import Path
from types import ModuleType

import matplotlib

from dpscale.files import whole
from dpscale.reporting.render import render_report
from dpscale.reporting.report import Report

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
    text = render_report(report, templates=templates, medium="pdf")
    if re.search(r"<math\b", text):
        raise MathMLInPdfError("a formula is still MathML: draw it as an image")
    with tempfile.TemporaryDirectory() as folder:
        weasyprint = _weasyprint(Path(folder))
        # Everything is inside the page: nothing else may be fetched, and a failure is an error.
        fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"}, fail_on_errors=True)
        document = weasyprint.HTML(string=text, url_fetcher=fetcher)
        with whole(output) as temporary:
            temporary.write_bytes(document.write_pdf(pdf_tags=True))


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
