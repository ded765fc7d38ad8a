"""Render the report's HTML from its answers, tables and figures."""

from dpscale.reporting.arguments import read_arguments
from dpscale.reporting.html import write_html

if __name__ == "__main__":
    report, templates, output = read_arguments(__doc__)
    write_html(report, templates=templates, output=output)
