"""Q6's paragraphs: the messages by phase and purpose, and their sum against the formula."""

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.units import format_value

GRADIENTS = "gradient bucket"
PHASES = {
    "construction": "at construction",
    "first": "in the first iteration",
    "rebuild": "in the second iteration, which rebuilds the buckets",
    "steady": "in a steady iteration",
}


def purposes_of(rows: list[Row], phase: str) -> dict[str, int]:
    """Bytes by purpose of the messages of a phase that carry any."""
    totals: dict[str, int] = {}
    for row in rows:
        if row["phase"] == phase and row["bytes"]:
            totals[row["purpose"]] = totals.get(row["purpose"], 0) + row["bytes"]
    return totals


def listed(purposes: dict[str, int]) -> str:
    """Return the bytes of each purpose as a list in prose."""
    return prose.join(
        [
            f"{format_value(size, 'bytes_exact')} of {named(purpose)}"
            for purpose, size in purposes.items()
        ]
    )


def named(purpose: str) -> str:
    """Return what the messages of a purpose carry."""
    return {
        GRADIENTS: "gradients",
        "shape check": "a shape check",
        "bucket rebuild": "the rebuilt bucket layout",
        "buffers": "batch-norm buffers",
    }.get(purpose, purpose.removesuffix(" at construction"))


def phases(own: list[Row]) -> str:
    """Return the messages of each phase with their bytes, and the reasons for them."""
    parts = [
        f"{when}, {listed(found)}"
        for phase, when in PHASES.items()
        if (found := purposes_of(own, phase))
    ]
    purposes = {row["purpose"] for row in own}
    why = []
    if any(name and "construction" in name for name in purposes):
        why.append("construction makes the replicas start equal")
    if "bucket rebuild" in purposes:
        why.append(
            "the bucket layout is rebuilt once in the order in which gradients became "
            "ready, and rank 0 sends it to all"
        )
    if "buffers" in purposes:
        why.append(
            "buffers are broadcast from rank 0, so that all workers hold the same running "
            "statistics and counters"
        )
    reasons = f" The reasons (Li et al., 2020): {'; '.join(why)}." if why else ""
    return (
        f"{prose.capitalised('; '.join(parts))}. These are logical payloads of one worker.{reasons}"
    )


def payload_of(inputs: Inputs, own: list[Row]) -> str:
    """Return whether one iteration's buckets hold exactly the trainable parameters."""
    gradients = purposes_of(own, "steady").get(GRADIENTS)
    run = next(iter(inputs.tidy_rows("runs", run=own[0].get("runs"))), Row())
    payload, parameters = run.get("payload_bytes"), run.get("parameters")
    if gradients is None or not payload or not parameters:
        return ""
    bytes_each = format_value(payload / parameters, "setting")
    sizes = (
        f"{format_value(parameters, 'count')} trainable parameters of {bytes_each} bytes "
        f"make $S$ = {format_value(payload, 'bytes_exact')}"
    )
    if gradients == payload:
        return f"The model's {sizes}, and the buckets of one iteration hold exactly that."
    gap = format_value(abs(gradients - payload), "bytes_exact")
    more = "more" if gradients > payload else "fewer"
    return (
        f"The model's {sizes}, but the buckets of one iteration hold "
        f"{format_value(gradients, 'bytes_exact')}: {gap} {more}."
    )


def _deviation(found: float, predicted: float) -> str:
    gap = found / predicted - 1
    if gap == 0:
        return "exactly the formula's"
    size = format_value(abs(gap), "fraction")
    return f"{size} {'above' if gap > 0 else 'below'} the formula"


def _predicted(row: Row, predicted: float) -> str:
    gradients = row.get("gradient_bytes")
    whole = format_value(predicted, "bytes_exact")
    if gradients is None or gradients == predicted:
        return f"the formula gives {whole}"
    return (
        f"the formula gives {format_value(gradients, 'bytes_exact')} for the gradients and {whole} "
        "with the buffers"
    )


def sums(wires: list[Row]) -> str:
    """Return the ledger's and the interface's bytes against the formula, for each N."""
    parts = []
    for row in wires:
        predicted = row.get("predicted_bytes")
        if not predicted:
            continue
        text = f"at N = {row['workers']} {_predicted(row, predicted)}"
        if row.get("ledger_bytes") is not None:
            text += f", the ledger's sum is {_deviation(row['ledger_bytes'], predicted)}"
        interface = row.get("interface_bytes")
        text += (
            f" and the interface's count is {_deviation(interface, predicted)}"
            if interface is not None
            else " and the interface's bytes were not counted"
        )
        parts.append(text)
    if not parts:
        return ""
    over = any(
        row.get("interface_bytes")
        and row.get("predicted_bytes")
        and row["interface_bytes"] > row["predicted_bytes"]
        for row in wires
    )
    headers = (
        " An interface counts the headers of packets and the acknowledgements too, which "
        "the formula leaves out."
        if over
        else ""
    )
    return (
        f"Summed over all workers for one steady iteration: {'; '.join(parts)}. An all-reduce "
        "of $s$ bytes costs $2 (N - 1) s$ in all, by the ring (Patarasuk and Yuan, 2009), and "
        f"a broadcast $(N - 1) s$.{headers}"
    )


def protocol(workers: int) -> str:
    """Return how the ledger was kept."""
    return (
        "The ledger records each collective that the process group is given, with operation, "
        "type and bytes, on rank 0 and apart for construction, the first iteration, the one "
        "that rebuilds the buckets, and steady iterations; the steady phase shown is one "
        f"iteration. The sentence and the list above are those of N = {workers}, the largest "
        "number measured."
    )
