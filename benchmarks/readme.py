"""The table of ratios that the README shows, between two markers."""

from collections.abc import Iterable

from ratios import Ratio, number, ratio_text

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEAD = "| benchmark | case | ours | peer | peer's | ratio |\n|---|---|---:|---|---:|---:|"


def row(one: Ratio) -> str:
    """A row of the table."""
    cells = (
        one.benchmark, one.case, number(one.ours, one.unit), one.peer_name or "–",
        number(one.peer, one.unit), ratio_text(one),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def table(ratios: Iterable[Ratio], machine: str, date: str) -> str:
    """The table as Markdown, with the date and the machine above it."""
    rows = "\n".join(row(one) for one in ratios)
    above = f"Measured on {date}: {machine}. A ratio above 1 means that ours is better."
    return f"{above}\n\n{HEAD}\n{rows}"


def replace_table(readme: str, ratios: Iterable[Ratio], machine: str, date: str) -> str:
    """The README with a new table between its markers; ValueError where it lacks them."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md lacks the markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table(ratios, machine, date)}\n\n{END}{after}"
