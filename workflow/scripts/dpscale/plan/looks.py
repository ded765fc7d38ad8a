"""Looks: when a timed cell is launched again, and what an interval of it then has to hold.

A verdict that few launches leave open is looked at again with more of them. To look until it is
decided errs more often than one look does: of two equal cells 95% intervals at three looks tell one
in ten apart. So the looks are fixed beforehand, and the intervals of each are wide enough for all
of them together to hold 95%, whatever made somebody stop (repeated confidence intervals: Jennison
and Turnbull, Journal of the Royal Statistical Society B 51, 1989).
"""

import math

# Launches at each look, in those of the first.
SHARES = (1, 2, 4)
# Pocock's rule (Biometrika 64, 1977): standard errors that bound all looks alike, so that a normal
# mean without an effect stays within them at every one of SHARES with a probability of 95%.
ERRORS = 2.3118
CONFIDENCE_OF_EACH = math.erf(ERRORS / math.sqrt(2))  # 97.92%


def launches_at_looks(first: int) -> tuple[int, ...]:
    """Return the launches of a cell at each look, where the first has `first` of them."""
    return tuple(share * first for share in SHARES)
