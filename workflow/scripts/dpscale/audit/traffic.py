"""What a row's workers exchange in an epoch, and the rates that its times give."""

from dataclasses import dataclass

from dpscale.audit.facts import Facts
from dpscale.audit.interval import Interval, reach
from dpscale.audit.split import COMM, Split
from dpscale.audit.table import Row
from dpscale.derive.formulas import (
    bandwidth,
    full_steps,
    iterations_per_epoch,
    loader_steps,
    payload_bytes,
    ring_allreduce_bytes,
)


@dataclass(frozen=True)
class Traffic:
    """What a row's workers exchange in an epoch, and the seconds that it may have taken.

    comm_s: the derived communication, the printed one where there is none; comms: the spans of
    both, and of what a printed computation leaves, those that are known.
    """

    row: Row
    facts: Facts
    comm_s: float | None
    comms: tuple[Interval, ...]

    @property
    def moved_bytes(self) -> float:
        """2(N-1)/N*X*itemsize: bytes of one iteration."""
        payload = payload_bytes(self.facts.parameters, self.facts.itemsize)
        return ring_allreduce_bytes(payload, self.row.workers)

    @property
    def rate(self) -> float | None:
        """Bytes per second of the iterations D/(N*b); None where the seconds are unknown."""
        if self.row.workers == 1 or self.comm_s is None or self.comm_s <= 0:
            return None
        return bandwidth(self.moved_bytes, self.iterations[0], self.comm_s)

    @property
    def iterations(self) -> list[float]:
        """Iterations of an epoch: D/(N*b), and rounded either way where that is not none."""
        samples, batch = self.facts.samples, self.row.global_batch
        exact = iterations_per_epoch(samples, self.row.workers, self.row.per_worker_batch)
        return [exact, loader_steps(samples, batch), *filter(None, [full_steps(samples, batch)])]

    def rates(self, moved_bytes: float) -> list[Interval]:
        """Spans of bytes per second under every convention."""
        return [
            reach(lambda comm_s, count=count: bandwidth(moved_bytes, count, comm_s), comm)
            for comm in self.comms
            for count in self.iterations
        ]


def traffic(row: Row, facts: Facts, parts: Split | None) -> Traffic:
    """Return the traffic of a row; a communication that may be zero gives no span."""
    cell, printed = row.cells.get(COMM), row.span(COMM)
    turned = printed.times(-1) if printed and printed.high < 0 else None
    spans = [parts.comm, parts.rest(parts.printed_compute)] if parts else []
    known = [span for span in (*spans, printed, turned) if span]
    return Traffic(
        row,
        facts,
        parts.comm_s if parts else (cell.value if cell else None),
        tuple(span for span in known if span.low > 0 or span.high < 0),
    )
