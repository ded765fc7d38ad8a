"""An epoch in two parts, computation and communication: what the times give, what is printed."""

from dataclasses import dataclass

from dpscale.audit.cells import Cell
from dpscale.audit.conventions import Times
from dpscale.audit.interval import Interval, reach
from dpscale.audit.table import Row
from dpscale.derive.formulas import communication_seconds, compute_seconds

NOISE_FRAC = 0.03  # ASSUME: epochs of 1 and of N workers, timed by hand, agree to this
COMPUTE, COMM = "printed_compute_s", "printed_comm_s"


@dataclass(frozen=True)
class Split:
    """A row's epoch in two: what the times give, and what is printed."""

    times: Times
    workers: int
    printed_compute: Cell | None
    printed_comm: Cell | None

    @property
    def compute(self) -> Interval:
        """The span of T_1/N."""
        return self.compute_of(self.times.base)

    @property
    def comm(self) -> Interval:
        """The span of T_N - T_1/N."""
        return self.comm_of(self.times)

    @property
    def compute_s(self) -> float:
        """T_1/N."""
        return compute_seconds(self.times.base.value, self.workers)

    @property
    def comm_s(self) -> float:
        """T_N - T_1/N; one worker communicates nothing."""
        if self.workers == 1:
            return 0.0
        return communication_seconds(self.times.base.value, self.times.total.value, self.workers)

    def compute_of(self, base: Cell) -> Interval:
        """The span of another T_1, divided by N."""
        return reach(lambda base_s: compute_seconds(base_s, self.workers), base.span)

    def comm_of(self, times: Times) -> Interval:
        """The span of T_N - T_1/N of other times."""
        return reach(
            lambda base_s, total_s: communication_seconds(base_s, total_s, self.workers),
            times.base.span,
            times.total.span,
        )

    @property
    def impossible(self) -> bool:
        """Whether the times leave less than nothing for communication, by more than noise."""
        return self.comm.high < -NOISE_FRAC * self.times.total.value

    def rest(self, printed: Cell | None) -> Interval | None:
        """The span of what a printed part leaves of the measured time."""
        total = self.times.total.span
        if printed is None:
            return None
        return reach(lambda whole, part: whole - part, total, printed.span)

    def compute_is_right(self) -> bool:
        """Whether the printed computation is what the times or the printed rest give."""
        cell = self.printed_compute
        if cell is None or cell.span.meets(self.compute):
            return True
        rest = self.rest(self.printed_comm)
        return bool(rest and cell.span.meets(rest) and self._comm_fits())

    def comm_is_right(self) -> bool:
        """Whether the printed communication is what the times or the printed computation leave."""
        cell = self.printed_comm
        rest = self.rest(self.printed_compute)
        return cell is None or self._comm_fits() or bool(rest and cell.span.meets(rest))

    def _comm_fits(self) -> bool:
        # Noise may leave a little less than nothing, and people then write 0.
        upto_zero = Interval(self.comm.low, max(self.comm.high, 0.0))
        return bool(self.printed_comm and self.printed_comm.span.meets(upto_zero))

    def adds_up(self) -> bool:
        """Whether the two printed parts make the measured time."""
        rest = self.rest(self.printed_compute)
        return not (rest and self.printed_comm) or self.printed_comm.span.meets(rest)


def split(row: Row, times: Times) -> Split:
    """Return a row's epoch in two."""
    return Split(times, row.workers, row.cells.get(COMPUTE), row.cells.get(COMM))


def agreeing(row: Row, parts: Split) -> int:
    """Return how many of the row's two printed parts are what the times give."""
    spans = [(row.span(COMPUTE), parts.compute), (row.span(COMM), parts.comm)]
    return sum(printed is not None and printed.meets(span) for printed, span in spans)
