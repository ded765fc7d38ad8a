"""Q7 for any lab: training by what is identical, evaluation by the drift, accuracy by seeds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import small_labs
from builders import Tables
from properties import QUICK, asked
from small_labs import inputs

STUDY = small_labs.study("replicas", epochs=[3])
IMAGES = 2_000
COUNTS = st.lists(st.integers(0, 9), min_size=2, max_size=2)
WORDS = {"above": "the spread without it is larger", "below": "the spread without it is smaller",
         "indistinct": "the spread without it is not told apart"}  # fmt: skip


def lab(off: list[int], on: list[int], drift: float) -> Tables:
    """Spreads of so many images by seed, and a drift without the broadcast."""
    rows = STUDY["replicas"].copy()
    for run, counts in {"replicas-no_broadcast": off, "replicas-baseline": on}.items():
        for seed, count in enumerate(counts):
            own = (rows["run"] == run) & (rows["seed"] == seed)
            rows.loc[own, "test_accuracy_frac"] = 0.85 - rows.loc[own, "rank"] * count / IMAGES
    own = (rows["run"] == "replicas-no_broadcast") & (rows["rank"] == 1)
    rows.loc[own, "buffer_difference_frac"] = drift
    return STUDY | {"replicas": rows}


@QUICK
@given(COUNTS, COUNTS, st.sampled_from([0.0, 0.01, 0.3]))
def test_any_spreads_and_any_drift(off, on, drift):
    made = inputs(lab(off, on, drift))
    _, text = asked("Q7", made)
    apart = np.subtract(off, on).astype(float)
    half = stats.t.ppf(0.975, 1) * apart.std(ddof=1) / np.sqrt(2)
    low, high = apart.mean() - half, apart.mean() + half  # images
    found = "above" if low > 1 + 1e-6 else "below" if high < -1 - 1e-6 else "indistinct"
    assert [verdict for verdict, words in WORDS.items() if words in text] == [found]
    assert ("for evaluation no." in text) == (drift > 0)


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = {
        "replicas": ["parameters_identical", "buffer_difference_frac_max",
                     "test_accuracy_spread_frac", "test_accuracy_frac_min", "epoch"],
        "spreads": ["spread_difference_frac", "one_image_frac"],
    }  # fmt: skip
    small_labs.nulls_are_no_error(data, "Q7", STUDY, columns)


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("Q7", STUDY)
