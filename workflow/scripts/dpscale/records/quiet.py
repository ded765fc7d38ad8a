"""What the derived table `quiet` holds: how quiet the machine was while runs were timed."""

import os

from dpscale.records.columns import columns
from dpscale.vocabulary import words

TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # to which the kernel rounds what it tells of a core
# A repeat, or a run, is disturbed where others use more of the machine's cores meanwhile.
DISTURBED_FRAC = 0.05
COLUMNS = columns("run study workers repeats repeated others_frac") | words(
    "quietness", ("quiet", "disturbed", "unknown")
)
