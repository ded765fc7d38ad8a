"""Render the report's HTML from its answers, tables and figures."""

from dpscale.errors import one_line
from dpscale.reporting.arguments import read_arguments
from dpscale.reporting.render import write_html
from dpscale.studies import question_ids


@one_line("render_html.py")
def main() -> None:
    """Read the command line, and render."""
    report, templates, output = read_arguments(__doc__, question_ids())
    write_html(report, templates=templates, output=output)


if __name__ == "__main__":
    main()
