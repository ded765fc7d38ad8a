"""Render the report's PDF from its answers, tables and figures."""

import sys

from dpscale.errors import one_line
from dpscale.processes import collect_garbage_rarely
from dpscale.reporting.arguments import read_arguments
from dpscale.reporting.pdf import MissingLibraryError, write_pdf
from dpscale.studies import question_ids


@one_line("render_pdf.py")
def main() -> None:
    """Read the command line, and render."""
    report, templates, output = read_arguments(__doc__, question_ids())
    collect_garbage_rarely()
    try:
        write_pdf(report, templates=templates, output=output)
    except MissingLibraryError as error:
        sys.exit(f"render_pdf.py: no PDF: {error}")


if __name__ == "__main__":
    main()
