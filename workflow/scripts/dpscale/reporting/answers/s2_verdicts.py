"""S2's published results: sentences and tables that set them beside what was measured."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured

MARK = {"agrees": "agree", "disagrees": "disagree", "not decidable": "cannot be decided"}


def compared(inputs: Inputs) -> list[Row]:
    """Return the published results that have a counterpart here."""
    return [row for row in inputs.rows("published_lr_scaling") if row.get("runs")]


def claim(inputs: Inputs, words: str) -> Row | None:
    """Return the row of a published comparison."""
    found = inputs.rows("published_lr_scaling", claim=words)
    return found[0] if found else None


def difference(row: Row) -> Value:
    """Return the measured difference of a comparison."""
    runs = [str(row[key]) for key in ("runs", "base_runs") if row.get(key)]
    return measured(row, "difference_frac", "fraction", runs)


def direction(row: Row | None) -> str:
    """Return `lower`, `higher`, `indistinct` or `unknown` for the first side of a comparison."""
    if row is None:
        return "unknown"
    verdict = prose.against(difference(row), 0.0)
    return {"above": "higher", "below": "lower"}.get(verdict, verdict)


def balance(inputs: Inputs) -> str:
    """Return how many published results agree, which do not, and what a verdict means."""
    found = compared(inputs)
    if not found:
        return "No published result has a counterpart here."
    groups: dict[str, list[Row]] = {}
    for row in found:
        groups.setdefault(row["verdict"], []).append(row)
    counts = [
        f"{prose.number_word(len(groups[verdict]))} {_form(verdict, len(groups[verdict]))}"
        for verdict in MARK
        if verdict in groups
    ]
    against = [f"{row['claim']} ({row['source']})" for row in groups.get("disagrees", [])]
    odd = f" Against the publication: {prose.join(against)}." if against else ""
    return (
        f"Of {prose.counted(len(found), 'published result')} with a counterpart here "
        f"{prose.join(counts)}.{odd} A verdict compares the sign of a difference, or its absence "
        "within the margin, and never its size: ResNet-50 on ImageNet makes 156 updates an epoch "
        "at kn = 8192, and these runs another number on other data. Where the 95% interval of "
        "the seeds covers both outcomes nothing is decided."
    )


def _form(verdict: str, count: int) -> str:
    if verdict == "not decidable":
        return "cannot be decided"
    return verdict if count == 1 else MARK[verdict]


def tables(inputs: Inputs) -> list[Table]:
    """Return the published comparisons and the published curve, each beside the measured one."""
    found = inputs.rows("published_lr_scaling")
    claims = [row for row in found if row["kind"] == "claim"]
    curve = [row for row in found if row["kind"] == "curve" and row["batch_ratio"] != 1]
    published = [
        Column(key="published", title="Published error"),
        Column(key="published_difference_frac", title="Published difference", unit="fraction"),
    ]
    measured_here = [
        Column(key="difference_frac", title="Measured difference", unit="fraction"),
        Column(key="verdict", title="Verdict"),
    ]
    errors = Column(key="published", title="Published errors")
    batches = [
        Column(key="batch_ratio", title="Batch over reference", unit="ratio"),
        Column(key="published_batch", title="Published kn", unit="setting"),
        Column(key="global_batch", title="kn here", unit="setting"),
    ]
    named = [Column(key="claim", title="Comparison"), Column(key="source", title="Published in")]
    return [
        _table("Comparisons of Goyal et al. (2017) beside the measured ones.",
               [*named, errors, published[1], *measured_here], claims),
        _table("Their figure 1 beside the linear rule here: errors less the reference batch's.",
               [*batches, *published, *measured_here], curve),
    ]  # fmt: skip


def _table(caption: str, columns: list[Column], rows: list[Row]) -> Table:
    """A table whose measured cells alone have runs behind them."""

    def cell(row: Row, column: Column) -> Value | str:
        """One cell of a row: a measured value, or text."""
        if column.key == "published":
            return _published(row)
        if not column.unit:
            return str(row[column.key])
        if column.key == "difference_frac":
            status = None if row.get("runs") else "not planned"
            found = difference(row)
            return found.model_copy(update={"status": status or found.status})
        value = row.get(column.key)
        return Value(value=value, unit=column.unit, status="none" if value is None else None)

    made = [{column.key: cell(row, column) for column in columns} for row in rows]
    return Table(caption=caption, columns=columns, rows=made)


def _published(row: Row) -> str:
    """The published errors as they were printed: two decimals of a percent, no more digits."""
    own, other = (100 * row[key] for key in ("published_frac", "published_other_frac"))
    return f"{own:.2f}%" if row["kind"] == "curve" else f"{own:.2f}% against {other:.2f}%"
