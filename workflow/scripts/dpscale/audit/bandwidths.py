"""Printed bandwidths against 2(N-1)/N*X*itemsize*iterations / communication time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from dpscale.audit.cells import RATES, Interval, SheetCell, rate_name, reach
from dpscale.audit.communication import COMM, COMPUTE, Split
from dpscale.audit.conventions import Facts, Guess, likeliest, nearest, shown
from dpscale.audit.table import SPOKEN, TimingRow
from dpscale.derive import formulas
from dpscale.records.audit import Finding

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
        """Iterations of an epoch: D/(N*b), and rounded either way where that is not none."""
        samples, row = self.facts.samples, self.row
        exact = formulas.iterations_per_epoch(samples, row.workers, row.per_worker_batch)
        full = formulas.full_steps(samples, row.global_batch)
        return [exact, formulas.loader_steps(samples, row.global_batch), *([full] if full else [])]

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
        """Bytes per second of the iterations D/(N*b); None where the seconds are unknown."""
        if self.row.workers == 1 or self.comm_s is None or self.comm_s <= 0:
            return None
        return formulas.bandwidth(self.moved_bytes, self.iterations[0], self.comm_s)

    def rates(self, moved_bytes: float) -> list[Interval]:
        """Spans of bytes per second under every convention."""
        return [_over(moved_bytes, count, comm) for comm in self.comms for count in self.iterations]

    def follows(self, factor: float = 1.0) -> bool:
        """Return whether the printed bandwidth, times a factor, is what the communication gives."""
        printed = self.row.span(PRINTED)
        rates = self.rates(self.moved_bytes)
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
    right = not flow.comms or flow.follows(factor)
    guess = None
    if row.workers == 1 and not printed.low <= 0 <= printed.high:
        guess = Guess(printed, "one worker sends nothing")
    elif row.workers > 1 and not right:
        guess = _explained(cell, flow)
    elif row.workers > 1 and printed.low > FASTEST_BYTES_PER_S:
        reason = (
            f"beyond {FASTEST_BYTES_PER_S / 1e9:.0f} GB/s, one direction of NVLink 5: no link "
            "between devices is as fast, so the times cannot be right"
        )
        guess = Guess(printed, reason, "bandwidth_implausible")
    if guess:
        code, unit = guess.code or "bandwidth_mismatch", rate_name(scale)
        expected = flow.rate / scale if flow.rate and not right else None
        yield Finding(*row.place, code, cell.printed, expected, guess.reason, PRINTED, unit)


def _explained(cell: SheetCell, flow: Traffic) -> Guess:
    """The mistake behind a wrong bandwidth, which the printed number meets, or else nearly so."""
    printed, scale = cell.span, cell.scale
    named, others = list(_named(flow, scale)), list(_mistakes(flow))
    if met := nearest(cell, named):
        return met
    right = shown(flow.rate / scale, rate_name(scale)) if flow.rate else ""
    if flow.rate and printed.low >= max(PCIE_BYTES_PER_S, FAR_OFF * flow.rate):
        most = f"{PCIE_BYTES_PER_S / 1e9:.0f} GB/s is all that PCIe 5.0 x16 moves in one direction"
        return Guess(printed, f"the times give {right}, and {most}", "bandwidth_implausible")
    reason = "no communication time of this row gives it"
    if right and flow.comm_s:
        reason = (
            f"{shown(flow.moved_bytes)} bytes an iteration, {shown(flow.iterations[0])} iterations "
            f"and {shown(flow.comm_s, 's')} give {right}"
        )
    near = likeliest(cell, [*named, *others], flow.rates(flow.moved_bytes))
    return near or Guess(printed, reason)


def _named(flow: Traffic, scale: float) -> Iterator[Guess]:
    """The mistakes with a code of their own."""
    for unit, other in RATES.items():
        if other != scale:
            reason = _unit_reason(unit, rate_name(scale))
            for rate in flow.rates(flow.moved_bytes):
                yield Guess(rate.times(scale / other), reason, "bandwidth_wrong_unit")
    yield from _one_iteration(flow, scale)
    workers, batch = flow.row.workers, flow.row.per_worker_batch
    share = 2 * (workers - 1) / workers * batch
    for number, words in ((batch, "b"), (share, "2(N-1)/N*b"), (workers * batch, "N*b")):
        reason = f"it is {words} = {number:g}, the batch size with a unit, and no rate"
        exact = Interval(number * scale, number * scale)
        yield Guess(exact, reason, "bandwidth_implausible")


def _unit_reason(unit: str, stated: str) -> str:
    reason = f"it is the rate in {unit}, printed as {stated}"
    if ("bit" in unit) != ("bit" in stated):
        return f"{reason} (a byte has 8 bits)"
    if ("i" in unit) != ("i" in stated):
        return f"{reason}: powers of 1024 (GiB = 2^30) against powers of 1000 (GB = 10^9)"
    return reason


def _one_iteration(flow: Traffic, scale: float) -> Iterator[Guess]:
    spans = [("communication of an epoch", comm) for comm in flow.comms]
    spans += [("time of an epoch", span) for span in flow.epochs.values()]
    taken_for = scale / POWERS.get(scale, scale)
    for words, seconds in spans:
        reason = f"it is the bytes of one iteration over the {words}"
        for moved in (flow.moved_bytes, flow.payload_bytes):
            once = _over(moved, 1, seconds)
            yield Guess(once, reason, "bandwidth_one_iteration")
            mixed = f"{reason}, and 2^30 is taken for 10^9"
            yield Guess(once.times(taken_for), mixed, "bandwidth_one_iteration")


def _mistakes(flow: Traffic) -> Iterator[Guess]:
    """Other mistakes that explain a wrong rate."""
    facts, moved, payload = flow.facts, flow.moved_bytes, flow.payload_bytes
    counted = f"it counts {IMAGENET_RESNET18:,} parameters (ResNet-18 for ImageNet)"
    larger = moved / facts.parameters * IMAGENET_RESNET18
    for reason, wrong in {
        "the factor 2(N-1)/N is left out": payload,
        "the factor 2 of 2(N-1)/N is left out": moved / 2,
        "2 stands for 2(N-1)/N": payload * 2,
        "it is what all workers send together, 2(N-1) S": payload * 2 * (flow.row.workers - 1),
        "the iterations are D/b, those of one worker": moved * flow.row.workers,
        f"{counted}, not {facts.parameters:,}": larger,
        "it counts twice the bytes": moved * 2,
        "it counts items, not bytes": moved / facts.itemsize,
    }.items():
        for rate in flow.rates(wrong):
            yield Guess(rate, reason)
    for name, seconds in flow.epochs.items():
        words = f"it is over {SPOKEN[name]}, not that of communication"
        for count in flow.iterations:
            yield Guess(_over(moved, count, seconds), words)
