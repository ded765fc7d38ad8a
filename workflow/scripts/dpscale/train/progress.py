"""Progress of long work: one line an epoch or repeat, from rank 0."""

import sys
import time


class Progress:
    """Prints `what: done of total, detail, seconds left` to standard error."""

    def __init__(self, what: str, total: int, *, shown: bool) -> None:
        self._what, self._total, self._shown = what, total, shown
        self._done, self._start = 0, time.perf_counter()

    def step(self, detail: str = "") -> None:
        """One unit of the work is done."""
        self._done += 1
        if not self._shown:
            return
        elapsed_s = time.perf_counter() - self._start
        left_s = elapsed_s / self._done * (self._total - self._done)
        parts = [f"{self._what}: {self._done} of {self._total}", detail, f"{left_s:.0f} s left"]
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)
