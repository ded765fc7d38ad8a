"""Q1's boundary: how the largest batch was found, and what utilisation says."""

from collections.abc import Sequence

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Row
from dpscale.units import format_value


def boundary(found: Row, rows: Sequence[Row]) -> str:
    """Return how the largest batch that fits was found and confirmed."""
    largest, failed = found.get("largest_fit_batch"), found.get("smallest_failed_batch")
    fits = prose.counted(found.get("fit_confirmations") or 0, "fresh process", "fresh processes")
    if largest is None:
        return f"Training already runs out of memory at b = {failed}, the smallest size tried."
    if found.get("limit") != "memory":
        ended = [row for row in rows if row["status"] == "exceeds_dataset"]
        refused = (
            f" b = {ended[0]['per_worker_batch']} would need more images than there are "
            "and was refused, since a loader would silently shorten the batch."
            if ended
            else ""
        )
        return (
            f"The boundary here is the dataset: b = {largest} ran in {fits}, and no batch "
            f"within the data ran out of memory.{refused}"
        )
    failures = prose.counted(
        found.get("failure_confirmations") or 0, "fresh process", "fresh processes"
    )
    budget = found.get("memory_budget_bytes")
    limit = (
        f" The memory budget is {format_value(budget, 'bytes_binary')}, and an allocation "
        "beyond it really fails."
        if budget
        else ""
    )
    gap = failed / largest - 1 if failed else 0.0
    width = (
        f" The boundary lies between the two, {format_value(gap, 'fraction')} apart."
        if failed and failed - largest > 1
        else ""
    )
    first = found.get("first_failure_batch")
    mixed = (
        f" In between, a batch may train in one process and fail in another (b = {first} is "
        "the smallest that ever failed), since memory is laid out anew in each."
        if first and failed and first < failed
        else ""
    )
    return (
        "Between the last size of the sweep that ran and the first that did not, the "
        f"boundary was bisected: b = {largest} trained in {fits}, and b = {failed} ran out "
        f"of memory in {failures}.{width}{mixed}{limit} Only sizes that ran or failed in a process "
        "of their own count, since a failed allocation leaves memory behind in the process "
        "it hits."
    )


def device(rows: Sequence[Row]) -> str:
    """Return what can be said on the device's utilisation."""
    known = [row for row in rows if row.get("utilisation_frac") is not None]
    if not known:
        return (
            "Device utilisation was not measured on this machine; its cells are empty, not "
            "zero. Throughput per batch size shows the saturation instead."
        )
    first, last = known[0], known[-1]
    ends = [
        f"{format_value(row['utilisation_frac'], 'fraction')} at b = {row['per_worker_batch']}"
        for row in (first, last)
    ]
    return (
        f"Device utilisation is {ends[0]} and {ends[1]}. It is the share of time in which the "
        "device is busy, not how well it is used: a busy device can still run far below its "
        "peak."
    )
