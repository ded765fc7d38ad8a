"""Q5 for any lab: what it says of orders and trainings is what the tables have."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import small_labs
from cases import plain
from properties import QUICK, asked, side_of
from small_labs import SHARES, inputs
from trained import changed

STUDY = small_labs.study("replicas", "data_parallel", epochs=[2, 3])
WORDS = {"above": "without set_epoch is higher", "below": "without set_epoch is lower",
         "indistinct": "without set_epoch is not told apart"}  # fmt: skip
PAIRS = st.lists(SHARES, min_size=2, max_size=2)
TRAINING = st.fixed_dictionaries({"train_loss": PAIRS, "test_accuracy_frac": PAIRS})
ARMS = st.fixed_dictionaries({"baseline": TRAINING, "without_set_epoch": TRAINING})


def check(made: Any) -> None:
    answer, text = asked("Q5", made)
    ends = [row for row in made.rows("set_epoch") if row["status"] == "complete"]
    last = max(ends, key=lambda row: row["epoch"] or 0, default=None)
    found = side_of(last, "test_accuracy_difference_frac") if last else "unknown"
    for verdict, words in WORDS.items():
        said = words in plain(answer.sentence)
        assert said <= (found == verdict), text
        assert said or found != verdict or bool(answer.missing), text
    loss = side_of(last, "train_loss_difference") if last else "unknown"
    assert ("not a better model" in text) <= (loss == "below")


@QUICK
@given(ARMS, st.sampled_from([1, 2, 2]))
def test_any_values_of_the_seeds(arms, seeds):
    check(inputs(changed(STUDY, arms, seeds, "replicas-")))


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = {
        "accuracy": ["train_loss", "test_accuracy_frac"],
        "order": ["same_as_first", "digest", "epoch"],
        "set_epoch": ["train_loss_difference", "test_accuracy_difference_frac_low"],
    }
    small_labs.nulls_are_no_error(data, "Q5", STUDY, columns)


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("Q5", STUDY)
