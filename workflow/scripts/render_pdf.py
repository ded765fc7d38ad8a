"""Render the report's PDF from its answers, tables and figures."""

import gc
import sys

from dpscale.errors import one_line
from dpscale.reporting.arguments import read_arguments
from dpscale.reporting.pdf import MissingLibraryError, write_pdf
from dpscale.studies import question_ids

# The boxes of all pages live until the last is drawn: to look for garbage among them after every
# 700 new ones takes a fifth of the time.
NEW_OBJECTS = 100_000


@one_line("render_pdf.py")
def main() -> None:
    """Read the command line, and render."""
    report, templates, output = read_arguments(__doc__, question_ids())
    gc.set_threshold(NEW_OBJECTS)
    try:
        write_pdf(report, templates=templates, output=output)
    except MissingLibraryError as error:
        sys.exit(f"render_pdf.py: no PDF: {error}")


if __name__ == "__main__":
    main()
