"""Printed bandwidths against 2(N-1)/N*X*itemsize*iterations / communication time."""

from collections.abc import Iterator

from dpscale.audit.bandwidth_mistakes import mistakes, named
from dpscale.audit.finding import Guess, nearest, shown
from dpscale.audit.interval import Interval
from dpscale.audit.scales import rate_name
from dpscale.audit.table import Row
from dpscale.audit.traffic import Traffic
from dpscale.records.audit import Finding

PRINTED = "printed_bandwidth_gb_per_s"
# NVLink 5: 1.8 TB/s in both directions together (NVIDIA GB200 data sheet).
FASTEST_BYTES_PER_S = 900e9
# PCIe 5.0 x16 in one direction: 16 lanes of 32 GT/s, 128 of 130 bits being data (PCI-SIG).
PCIE_BYTES_PER_S = 63e9
FAR_OFF = 10  # times what the times give


def findings(row: Row, flow: Traffic, factor: float) -> Iterator[Finding]:
    """Yield what is wrong with a row's printed bandwidth.

    factor: the unit that the column is in, over the one that its cells were read in.
    """
    cell = row.cells.get(PRINTED)
    if cell is None:
        return
    scale, printed = cell.scale * factor, cell.span.times(factor)
    right = not flow.comms or follows(row, flow, factor)
    if row.workers == 1:
        guess = _silent(printed)
    elif right:
        guess = _too_fast(printed)
    else:
        guess = (
            nearest(printed, named(flow, scale))
            or _far_off(printed, flow, scale)
            or nearest(printed, mistakes(flow))
            or _mismatch(printed, flow, scale)
        )
    if guess:
        expected = flow.rate / scale if flow.rate and not right else None
        yield Finding(
            row.workers, row.per_worker_batch, guess.code, cell.printed,
            expected, guess.reason, PRINTED, rate_name(scale),
        )  # fmt: skip


def follows(row: Row, flow: Traffic, factor: float = 1.0) -> bool:
    """Return whether the printed bandwidth is what the row's communication gives."""
    printed = row.span(PRINTED)
    rates = flow.rates(flow.moved_bytes)
    return printed is not None and any(map(printed.times(factor).meets, rates))


def _silent(printed: Interval) -> Guess | None:
    if printed.low <= 0 <= printed.high:
        return None
    return Guess(printed, "bandwidth_mismatch", "one worker sends nothing")


def _too_fast(printed: Interval) -> Guess | None:
    if printed.low <= FASTEST_BYTES_PER_S:
        return None
    reason = (
        f"beyond {FASTEST_BYTES_PER_S / 1e9:.0f} GB/s, one direction of NVLink 5: no link between "
        "devices is as fast, so the times cannot be right"
    )
    return Guess(printed, "bandwidth_implausible", reason)


def _far_off(printed: Interval, flow: Traffic, scale: float) -> Guess | None:
    if flow.rate is None or printed.low < max(PCIE_BYTES_PER_S, FAR_OFF * flow.rate):
        return None
    reason = (
        f"the times give {shown(flow.rate / scale, rate_name(scale))}, and "
        f"{PCIE_BYTES_PER_S / 1e9:.0f} GB/s is all that PCIe 5.0 x16 moves in one direction"
    )
    return Guess(printed, "bandwidth_implausible", reason)


def _mismatch(printed: Interval, flow: Traffic, scale: float) -> Guess:
    reason = "no communication time of this row gives it"
    if flow.rate and flow.comm_s:
        reason = (
            f"{shown(flow.moved_bytes)} bytes an iteration, {shown(flow.iterations[0])} iterations "
            f"and {shown(flow.comm_s, 's')} give {shown(flow.rate / scale, rate_name(scale))}"
        )
    return Guess(printed, "bandwidth_mismatch", reason)
