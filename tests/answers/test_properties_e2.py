"""E2 of times by chance: what it recommends and where more workers stop paying, found again."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of
from properties import BY_CHANCE, QUICK, asked
from small_labs import no_failure_is_an_error, nulls_are_no_error
from test_e2 import lab

TIDY = lab()
SECONDS = st.floats(1e-4, 1.0)


@given(st.lists(SECONDS, min_size=9, max_size=9), st.floats(0.1, 1e4))
@BY_CHANCE
def test_the_recommended_cell_is_not_told_from_the_soonest(seconds: list[float], b_crit: float):
    cell = [(n, b) for n in (1, 2, 4) for b in (16, 64, 256)]
    step = dict(zip(cell, seconds, strict=True))
    tidy = lab(step_s=lambda n, b: step[n, b], silent_s=lambda n, b: step[n, b] / 2, b_crit=b_crit)
    derived = derived_of(tidy)
    answer, _ = asked("E2", Inputs(derived, tidy))
    text = re.sub(r"[\ue000-\uf8ff]", "", answer.sentence).replace("\u202f", "")
    text = text.replace("\xa0", " ")
    found = re.match(r"Take (\w+) workers? with B = (\d+)", text)
    assert found is not None
    workers = {"one": 1, "two": 2, "four": 4}[found.group(1)]
    cells = derived["time_to_goal"]
    take = cells[(cells["workers"] == workers) & (cells["global_batch"] == int(found.group(2)))]
    assert take["to_fastest"].fillna("indistinct").iloc[0] == "indistinct"
    soonest = cells.loc[cells["time_to_goal_s"].idxmin()]
    if not ((cells["to_fastest"] == "indistinct") & (cells["workers"] < soonest["workers"])).any():
        assert workers == soonest["workers"]
    stop = re.search(r"More workers than (\w+) ", text)
    pairs = derived["doublings"]
    for n, word in ((1, "one"), (2, "two")):
        pays = (pairs.loc[pairs["workers"] == n, "pays"] == "below").any()
        if not pays:
            assert stop is not None
            assert stop.group(1) == word
            return
    assert stop is None


@given(st.data())
@QUICK
def test_any_nulls_and_missing_rows(data: st.DataObject) -> None:
    nulls_are_no_error(
        data, "E2", TIDY,
        {"time_to_goal": ["step_s", "time_to_goal_s_low", "to_fastest", "peak_bytes", "lr"],
         "doublings": ["time_ratio", "samples_ratio", "batch_ratio", "sharing_ratio",
                       "communication_ratio", "blame", "worker_s_ratio"],
         "goal_trainings": ["measured_s", "ratio", "within", "predicted_s"],
         "step_prediction": ["error_frac", "predicted_step_s", "note"],
         "advice": ["peak_bytes", "price", "time_to_goal_s_low"]},
    )  # fmt: skip


def test_no_failure_of_a_run_is_an_error() -> None:
    no_failure_is_an_error("E2", TIDY)
