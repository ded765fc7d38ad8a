"""A comparison as a page and as lines for a terminal: rows and places, the words are templates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dpscale.compare.judge import Change, Comparison, Judged, titled
from dpscale.compare.observations import Quantity, Source
from dpscale.compare.predictions import Predictions
from dpscale.compare.ratios import Basis
from dpscale.reporting.render import page_environment
from dpscale.reporting.tables import Shown
from dpscale.reporting.words import FILTERS, TEMPLATES, environment
from dpscale.units import ColumnFormat, column_format, format_value, unit_of
from dpscale.units.plain import rounded
from dpscale.vocabulary import words

VOCABULARY = words("verdict", Change) | words("quantity", Quantity) | words("basis", Basis)
MOST_LINES = 20  # of a terminal
_ORDER = ("worse", "better", "indistinct", "unknown")
_UNITS: dict[Quantity, str] = {"time": "s", "memory": "bytes", "accuracy": "fraction"}
# The plots' axis ends at these factors: a wider one would hide what is near 1.
_NARROWEST, _WIDEST = 1.1, 4.0


@dataclass(frozen=True)
class Line:
    """An interval on the axis of its plot, 0 to 100; what lies beyond an end is at the end."""

    low: float
    centre: float
    high: float


@dataclass(frozen=True)
class RowView:
    """One line of a table, numbers as text; a and b are of a cell, in the unit of its table."""

    judged: Judged
    title: str
    a: str
    b: str
    ratio: Shown
    line: Line | None


@dataclass(frozen=True)
class Group:
    """A table of the page: what one column of one table measured, in one unit (symbol)."""

    source: Source
    quantity: Quantity
    symbol: str
    rows: list[RowView]

    @property
    def anchor(self) -> str:
        """Where the page has it."""
        return f"{self.source.table}-{self.source.column}"


def html_page(comparison: Comparison, templates: Path = TEMPLATES) -> str:
    """Return the page as one HTML text that asks nothing of any server."""
    made = page_environment(templates, "html")
    made.filters |= FILTERS | {"percent": percent}
    axis = _axis(comparison.family)
    sources = list(dict.fromkeys(one.source for one in comparison.cells))
    groups = [_group(source, comparison.cells, axis) for source in sources]
    return made.get_template("compare.html.j2").render(
        style=Markup((templates / "style.css").read_text(encoding="utf-8")),
        together=[_row(one, axis) for one in worst_first(comparison.together)],
        groups=groups,
        axis=rounded(axis),
        names=_names(comparison),
        **_facts(comparison),
    )


def terminal_text(comparison: Comparison) -> str:
    """Return what differs and what is told apart, the worst first, MOST_LINES of them."""
    told = worst_first(one for one in comparison.family if one.verdict in ("worse", "better"))
    return (
        environment()
        .get_template("compare.txt.j2")
        .render(
            told=told[:MOST_LINES],
            more=max(0, len(told) - MOST_LINES),
            rounded=rounded,
            **_facts(comparison),
        )
    )


def _facts(comparison: Comparison) -> dict[str, object]:
    counts = {
        verdict: sum(one.verdict == verdict for one in comparison.family) for verdict in _ORDER
    }
    return {
        "comparison": comparison,
        "title": _title,
        "counts": counts,
        "chance": comparison.chance,
        "least": _least(comparison.least, len(comparison.cells)),
        "predicted": _predicted(comparison.predictions),
        "unknown": sum(one.ratio.contrast is None for one in comparison.cells),
    }


def _predicted(found: Predictions | None) -> list[dict[str, str]]:
    """The cells of the lab as text, by column."""
    names = ("transfer_s", "affordable_base_s", "exposed_s", "speedup_ratio")
    return [
        {"cell": f"N = {row['workers']}, b = {row['per_worker_batch']}"}
        | {name: _measured(row, name) for name in names}
        for row in (found.rows if found else [])
    ]


def _measured(row: Mapping[str, Any], name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return format_value(row[name], unit_of(name), low=low, high=high, status="not measured")


def _least(factors: Sequence[float], cells: int) -> dict[str, str | None]:
    """The change that the best cell and that half of all cells could show; empty without any.

    half: None where more than half of the cells have no interval.
    """
    if not factors:
        return {}
    half = factors[cells // 2 : cells // 2 + 1]
    return {"best": percent(factors[0] - 1), "half": percent(half[0] - 1) if half else None}


def percent(share: float) -> str:
    """Return a share in percent, two digits of it."""
    return format_value(float(f"{share:.2g}"), "fraction")


def _names(comparison: Comparison) -> dict[str, str]:
    """What the columns are called: the folders by their last names, where these tell them apart."""
    a, b = Path(comparison.a).name, Path(comparison.b).name
    return {"a": "a", "b": "b"} if a == b else {"a": a, "b": b}


def worst_first(judged: Iterable[Judged]) -> list[Judged]:
    """Return cells by verdict, those told apart first, then by how much worse the second is."""
    return sorted(judged, key=lambda one: (_ORDER.index(one.verdict), -one.excess, _title(one)))


def _title(one: Judged) -> str:
    return titled(one.cell, one.key)


def _group(source: Source, cells: Sequence[Judged], axis: float) -> Group:
    own = worst_first(one for one in cells if one.source == source)
    quantity = own[0].quantity
    means = [mean for one in own for mean in (one.ratio.a, one.ratio.b)]
    form = column_format(means, _UNITS.get(quantity) or unit_of(source.column))
    return Group(source, quantity, form.symbol, [_row(one, axis, form) for one in own])


def _row(one: Judged, axis: float, form: ColumnFormat | None = None) -> RowView:
    a, b = (form.text(mean) if form else "" for mean in (one.ratio.a, one.ratio.b))
    full = format_value(one.ratio.value, "ratio", low=one.low, high=one.high)
    head, _, interval = full.partition(" (")
    return RowView(one, _title(one), a, b, Shown(head, interval.rstrip(")")), _line(one, axis))


def _axis(judged: Iterable[Judged]) -> float:
    """The factor at the right end of the plots, 1 over it at the left one."""
    ends = [abs(math.log(one.ratio.value)) for one in judged]
    return min(max(math.exp(1.5 * max(ends, default=0)), _NARROWEST), _WIDEST)


def _line(one: Judged, axis: float) -> Line | None:
    if one.low is None or one.high is None:
        return None
    return Line(*(_place(value, axis) for value in (one.low, one.ratio.value, one.high)))


def _place(ratio: float, axis: float) -> float:
    share = math.log(max(ratio, 1e-300)) / math.log(axis)
    return round(50 + 50 * min(max(share, -1.0), 1.0), 2)
