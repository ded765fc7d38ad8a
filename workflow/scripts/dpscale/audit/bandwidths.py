"""Printed bandwidths against 2(N-1)/N*X*itemsize*iterations / communication time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpscale.audit.cells import RATES, Interval, SheetCell, rate_name, reach
from dpscale.audit.communication import COMM, COMPUTE, Split
from dpscale.audit.conventions import Facts, Guess, likeliest, nearest
from dpscale.audit.table import TimingRow
from dpscale.derive import formulas
from dpscale.records.audit import Cause, Finding, cause

PRINTED = "printed_bandwidth_gb_per_s"
# NVLink 5: 1.8 TB/s in both directions together (NVIDIA GB200 data sheet).
FASTEST_BYTES_PER_S = 900e9
# PCIe 5.0 x16 in one direction: 16 lanes of 32 GT/s, 128 of 130 bits being data (PCI-SIG).
PCIE_BYTES_PER_S = 63e9
FAR_OFF = 10  # times what the times give
IMAGENET_RESNET18 = 11_689_512  # parameters with a first layer and 1,000 classes for ImageNet
POWERS = {1e9: 2.0**30, 2.0**30: 1e9, 1e6: 2.0**20, 2.0**20: 1e6}  # one taken for the other


@dataclass(frozen=True)
class Traffic:
    """What a row's workers exchange in an epoch, and how long that may have taken."""

    row: TimingRow
    facts: Facts
    parts: Split | None

    @property
    def comm_s(self) -> float | None:
        """Seconds of communication as the times give them, as printed where they give none."""
        printed = self.row.cells.get(COMM)
        return self.parts.comm_s if self.parts else printed.value if printed else None

    @cached_property
    def comms(self) -> list[Interval]:
        """What they may be: derived, left by a printed computation, printed; and surely not 0."""
        spans = [self.parts.comm, self.parts.rest(COMPUTE)] if self.parts else []
        printed = self.row.span(COMM)
        turned = printed.times(-1) if printed and printed.high < 0 else None
        return [s for s in (*spans, printed, turned) if s and (s.low > 0 or s.high < 0)]

    @cached_property
    def iterations(self) -> list[float]:
        """Iterations of an epoch: ceil(D/(N*b)), or floor where that is not none.

        A last partial one sends all gradients; a loader may drop it.
        """
        samples, row = self.facts.samples, self.row
        full = formulas.full_steps(samples, row.global_batch)
        return [formulas.loader_steps(samples, row.global_batch), *([full] if full else [])]

    @property
    def fractional(self) -> float:
        """D/(N*b), which no epoch has where it is not whole."""
        row = self.row
        return formulas.iterations_per_epoch(self.facts.samples, row.workers, row.per_worker_batch)

    @property
    def payload_bytes(self) -> float:
        """X*itemsize: bytes of the gradients."""
        return formulas.payload_bytes(self.facts.parameters, self.facts.itemsize)

    @property
    def moved_bytes(self) -> float:
        """2(N-1)/N*X*itemsize: bytes of one iteration."""
        return formulas.ring_allreduce_bytes(self.payload_bytes, self.row.workers)

    @property
    def rate(self) -> float | None:
        """Bytes per second of the iterations ceil(D/(N*b)); None where the seconds are unknown."""
        if self.row.workers == 1 or self.comm_s is None or self.comm_s <= 0:
            return None
        return formulas.bandwidth(self.moved_bytes, self.iterations[0], self.comm_s)

    def right_rates(self) -> list[Interval]:
        """Spans of bytes per second of whole iterations."""
        return self._rates(self.moved_bytes, *self.iterations)

    def rates(self, moved_bytes: float) -> list[Interval]:
        """Spans of bytes per second under every convention, that of fractional iterations too."""
        return self._rates(moved_bytes, *self.iterations, self.fractional)

    def fractional_rates(self) -> list[Interval]:
        """Spans of bytes per second of fractional iterations; none where they are whole."""
        whole = self.fractional == self.iterations[0]
        return [] if whole else self._rates(self.moved_bytes, self.fractional)

    def _rates(self, moved_bytes: float, *counts: float) -> list[Interval]:
        return [_over(moved_bytes, count, comm) for comm in self.comms for count in counts]

    def follows(self, factor: float = 1.0) -> bool:
        """Return whether the printed bandwidth, times a factor, is what the communication gives.

        By any convention, right or not: it tells which times and which unit are meant.
        """
        return self._meets(factor, self.rates(self.moved_bytes))

    def is_right(self, factor: float) -> bool:
        """Return whether it is what the communication gives of whole iterations."""
        return self._meets(factor, self.right_rates())

    def _meets(self, factor: float, rates: list[Interval]) -> bool:
        printed = self.row.span(PRINTED)
        return printed is not None and any(map(printed.times(factor).meets, rates))

    @property
    def epochs(self) -> dict[str, Interval]:
        """The measured times of the row, by their columns."""
        spans = {name: self.row.span(name) for name in ("nodata_s", "epoch_s")}
        return {name: span for name, span in spans.items() if span}


def _over(moved_bytes: float, iterations: float, seconds: Interval) -> Interval:
    """The span of the bytes of some iterations over an epoch's seconds."""
    return reach(lambda epoch_s: formulas.bandwidth(moved_bytes, iterations, epoch_s), seconds)


def bandwidths(flow: Traffic, factor: float) -> Iterator[Finding]:
    """Yield what is wrong with a row's printed bandwidth.

    factor: the unit that the column is in, over the one that its cells were read in.
    """
    cell = flow.row.cells.get(PRINTED)
    if cell is None:
        return
    cell = replace(cell, scale=cell.scale * factor)
    row, scale, printed = flow.row, cell.scale, cell.span
    right = not flow.comms or flow.is_right(factor)
    guess = None
    if row.workers == 1 and not printed.low <= 0 <= printed.high:
        guess = Guess(printed, cause("one_sends"))
    elif row.workers > 1 and not right:
        guess = _explained(cell, flow)
    elif row.workers > 1 and printed.low > FASTEST_BYTES_PER_S:
        why = cause("beyond_links", most_gb=FASTEST_BYTES_PER_S / 1e9)
        guess = Guess(printed, why, "bandwidth_implausible")
    if guess:
        code, unit = guess.code or "bandwidth_mismatch", rate_name(scale)
        expected = flow.rate / scale if flow.rate and not right else None
        yield Finding(*row.place, code, cell.printed, expected, (guess.cause,), PRINTED, unit)


def _explained(cell: SheetCell, flow: Traffic) -> Guess:
    """The mistake behind a wrong bandwidth, which the printed number meets, or else nearly so."""
    printed, scale = cell.span, cell.scale
    named, others = list(_named(flow, scale)), list(_mistakes(flow))
    if met := nearest(cell, named):
        return met
    if flow.rate and printed.low >= max(PCIE_BYTES_PER_S, FAR_OFF * flow.rate):
        why = cause("beyond_pcie", **_right(flow, scale), most_gb=PCIE_BYTES_PER_S / 1e9)
        return Guess(printed, why, "bandwidth_implausible")
    near = likeliest(cell, [*named, *others], flow.rates(flow.moved_bytes))
    return near or Guess(printed, cause("rate" if flow.rate else "no_rate", **_right(flow, scale)))


def _right(flow: Traffic, scale: float) -> dict[str, Any]:
    """What the right rate, in the unit of the column, rests on; for words."""
    rate = flow.rate and flow.rate / scale
    amounts = {"moved_bytes": flow.moved_bytes, "iterations": flow.iterations[0]}
    return amounts | {"comm_s": flow.comm_s, "rate": rate, "unit": rate_name(scale)}


def _named(flow: Traffic, scale: float) -> Iterator[Guess]:
    """The mistakes with a code of their own."""
    for rate in flow.fractional_rates():
        why = cause("fractional", exact=flow.fractional, whole=flow.iterations[0])
        yield Guess(rate, why, "bandwidth_fractional")
    for unit, other in RATES.items():
        if other != scale:
            why = _other_unit(unit, rate_name(scale))
            for rate in flow.rates(flow.moved_bytes):
                yield Guess(rate.times(scale / other), why, "bandwidth_wrong_unit")
    yield from _one_iteration(flow, scale)
    workers, batch = flow.row.workers, flow.row.per_worker_batch
    share = 2 * (workers - 1) / workers * batch
    for number, term in ((batch, "b"), (share, "2(N-1)/N*b"), (workers * batch, "N*b")):
        exact = Interval(number * scale, number * scale)
        why = cause("batch_size", term=term, number=number)
        yield Guess(exact, why, "bandwidth_implausible")


def _other_unit(unit: str, stated: str) -> Cause:
    bits, powers = (("bit" in unit) != ("bit" in stated), ("i" in unit) != ("i" in stated))
    kind = "unit_of_bits" if bits else "unit_of_powers" if powers else "unit"
    return cause(kind, unit=unit, stated=stated)


def _one_iteration(flow: Traffic, scale: float) -> Iterator[Guess]:
    spans = [("comm", comm) for comm in flow.comms]
    spans += [("epoch", span) for span in flow.epochs.values()]
    taken_for = scale / POWERS.get(scale, scale)
    for name, seconds in spans:
        for moved in (flow.moved_bytes, flow.payload_bytes):
            once = _over(moved, 1, seconds)
            yield Guess(once, cause("one_iteration", time=name), "bandwidth_one_iteration")
            mixed = cause("one_iteration_mixed", time=name)
            yield Guess(once.times(taken_for), mixed, "bandwidth_one_iteration")


def _mistakes(flow: Traffic) -> Iterator[Guess]:
    """Other mistakes that explain a wrong rate."""
    facts, moved, payload = flow.facts, flow.moved_bytes, flow.payload_bytes
    counted = {"counted": IMAGENET_RESNET18, "parameters": facts.parameters}
    for kind, wrong in {
        "no_factor": payload,
        "no_two": moved / 2,
        "two_for_factor": payload * 2,
        "all_workers": payload * 2 * (flow.row.workers - 1),
        "iterations_of_one": moved * flow.row.workers,
        "parameters": moved / facts.parameters * IMAGENET_RESNET18,
        "twice": moved * 2,
        "items": moved / facts.itemsize,
    }.items():
        for rate in flow.rates(wrong):
            yield Guess(rate, cause(kind, **counted))
    for name, seconds in flow.epochs.items():
        for count in (*flow.iterations, flow.fractional):
            yield Guess(_over(moved, count, seconds), cause("over_epoch", base=name))
