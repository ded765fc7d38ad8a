"""The tables of ratios in docs/benchmarks.md and README.md, each between two markers."""

from collections.abc import Iterable, Sequence

from ratios import Ratio, number, ratio_text

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEAD = "| benchmark | case | ours | peer | peer's | ratio |\n|---|---|---:|---|---:|---:|"
HEADLINES = 10  # rows of the README's table
WAITED_FOR = ("samples/s", "s")  # units of what a user notices


def row(one: Ratio) -> str:
    """A row of the table."""
    cells = (
        one.benchmark,
        one.case,
        number(one.ours, one.unit),
        one.peer_name or "–",
        number(one.peer, one.unit),
        ratio_text(one),
    )
    return f"| {' | '.join(cells)} |"


def headline(ratios: Iterable[Ratio]) -> list[Ratio]:
    """Of each benchmark and peer the case where ours does worst; rates, seconds and goals alone.

    A peer is the same whatever follows a comma in its name; HEADLINES of them at most.
    """
    worst: dict[tuple[str, str], Ratio] = {}
    for one in ratios:
        if one.ratio is None or not (one.unit in WAITED_FOR or one.peer_name == "goal"):
            continue
        peer = (one.benchmark, one.peer_name.partition(",")[0])
        worst[peer] = min(worst.get(peer, one), one, key=lambda found: found.ratio or 0.0)
    return list(worst.values())[:HEADLINES]


def table(ratios: Iterable[Ratio], machine: str, date: str) -> str:
    """The table as Markdown, with the date and the machine above it."""
    rows = "\n".join(row(one) for one in ratios)
    above = f"Measured on {date}: {machine}. A ratio above 1 means that ours is better."
    return f"{above}\n\n{HEAD}\n{rows}"


def replace_table(document: str, ratios: Sequence[Ratio], machine: str, date: str) -> str:
    """A document with a new table between its markers; ValueError where it lacks them."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table(ratios, machine, date)}\n\n{END}{after}"
