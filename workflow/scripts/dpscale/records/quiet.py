"""What the derived table `quiet` holds: how quiet the machine was while runs were timed."""

import os

TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # to which the kernel rounds what it tells of a core
# A repeat, or a run, is disturbed where others use more of the machine's cores meanwhile.
DISTURBED_FRAC = 0.05
QUIETNESS = ("quiet", "disturbed", "unknown")  # values of `quietness`
COLUMNS = {
    "run": "str",
    "study": "str",
    "workers": "Int64",
    "repeats": "Int64",  # that count
    "repeated": "Int64",  # that were disturbed and made again, and do not count
    "others_frac": "float64",  # of the machine's cores, mean over the time of the repeats
    "quietness": "str",
}
