"""Q3.1's check: an epoch with loading cannot be shorter than the same epoch without it."""

from collections.abc import Sequence

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.prose import Verdict

MEANING: dict[Verdict, str] = {
    "indistinct": "the intervals overlap, so this is noise of the repeats",
    "below": "the intervals do not overlap, so the two epochs ran under different conditions, and "
    "neither the difference between them nor the subtraction is to be trusted there",
    "unknown": "without intervals it is open whether this is noise of the repeats",
}


def _cell(row: Row) -> tuple[object, ...]:
    return row["workers"], row.get("nodes"), row["per_worker_batch"]


def shorter_with_loading(inputs: Inputs, rows: Sequence[Row]) -> str:
    """Return the cells whose epoch with loading is the shorter one, and what that means.

    `rows` are rows of `communication`; empty where every epoch with loading is the longer one.
    """
    loaded = {_cell(row): row for row in inputs.rows("scaling", kind="weak")}
    groups: dict[Verdict, list[str]] = {}
    for row in rows:
        other = loaded.get(_cell(row), Row())
        with_it, without = (measured(one, "epoch_s", "s", []) for one in (other, row))
        if with_it.value is None or without.value is None or with_it.value >= without.value:
            continue
        groups.setdefault(prose.compare(with_it, without), []).append(
            f"{prose.quantity(with_it)} against {prose.quantity(without)} at "
            f"N = {row['workers']}, b = {row['per_worker_batch']}"
        )
    if not groups:
        return ""
    parts = [
        f"{prose.join(groups[verdict])}: {text}"
        for verdict, text in MEANING.items()
        if verdict in groups
    ]
    return (
        "Loading adds work, yet the epoch with loading (Q2) came out shorter than the one "
        f"without: {'; '.join(parts)}."
    )
