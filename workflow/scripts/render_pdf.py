"""Render the report's PDF from its answers, tables and figures."""

import sys

from dpscale.reporting.arguments import read_arguments
from dpscale.reporting.pdf import MissingLibraryError, write_pdf

if __name__ == "__main__":
    report, templates, output = read_arguments(__doc__)
    try:
        write_pdf(report, templates=templates, output=output)
    except MissingLibraryError as error:
        sys.exit(f"no PDF: {error}")
