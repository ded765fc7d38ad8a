"""How long a test waits: until what it waits for is there, or for as long as only a hang lasts."""

import time
from collections.abc import Callable

HANG_S = 1800.0  # no machine is so slow, and none so busy


def until(reached: Callable[[], object], tell: Callable[[], object] = str) -> None:
    """Return once a condition holds; a hang fails with what `tell` returns by then."""
    end = time.monotonic() + HANG_S
    while not reached():
        assert time.monotonic() < end, f"waited {HANG_S:.0f} s in vain. {tell()}"
        time.sleep(0.05)
