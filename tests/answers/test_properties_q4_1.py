"""Q4.1 for any lab: what it claims of a measure is what the table of differences decides."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import small_labs
from builders import Tables
from cases import plain
from properties import QUICK, asked, side_of
from small_labs import SHARES, inputs
from trained import changed

COLUMNS = {
    "training loss": "train_loss_difference",
    "training accuracy": "train_accuracy_difference_frac",
    "test accuracy": "test_accuracy_difference_frac",
}
STUDY = small_labs.study("large_batch-small", "large_batch-large", epochs=[5])
WORDS = {"above": "a higher", "below": "a lower"}
ARMS = st.fixed_dictionaries({
    "train_loss": st.lists(st.floats(0.01, 3), min_size=3, max_size=3),
    "train_accuracy_frac": st.lists(SHARES, min_size=3, max_size=3),
    "test_accuracy_frac": st.lists(SHARES, min_size=3, max_size=3),
    "status": st.sampled_from(["complete"] * 6 + ["diverged"]),
})  # fmt: skip
DERIVED = ["train_loss", "train_accuracy_frac_low", "test_accuracy_frac", "test_accuracy_frac_low",
           "epoch"]  # fmt: skip


def lab(arms: dict[str, Any], seeds: int) -> Tables:
    """The study where small and large batch went as given."""
    return changed(STUDY, arms, seeds, "large_batch-")


def check(given_inputs: Any) -> None:
    answer, text = asked("Q4.1", given_inputs)
    sentence = plain(answer.sentence)
    rows = given_inputs.rows("large_batch", arm="large", base="small")
    compared = sentence.startswith("In the ")
    assert rows or not any(word in sentence for word in WORDS.values())
    for measure, column in COLUMNS.items():
        found = side_of(rows[0], column) if rows and rows[0]["status"] == "complete" else "unknown"
        for verdict, word in WORDS.items():
            assert (f"{word} {measure}" in sentence) == (compared and found == verdict), sentence
    loss = side_of(rows[0], COLUMNS["training loss"]) if rows else "unknown"
    assert ("less well" in text) <= (loss == "above")
    assert ("looks like" in text) <= (loss in ("below", "indistinct"))
    effect = next((value for name, value in answer.values.items()
                   if name == "difference_test_accuracy_frac"), None)  # fmt: skip
    assert effect is not None


@QUICK
@given(st.fixed_dictionaries({"small": ARMS, "large": ARMS}), st.sampled_from([1, 2, 3, 3, 3]))
def test_any_values_of_the_seeds(arms, seeds):
    check(inputs(lab(arms, seeds)))


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = {"accuracy": DERIVED, "large_batch": list(COLUMNS.values())}
    small_labs.nulls_are_no_error(data, "Q4.1", lab({}, 3), columns)


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("Q4.1", STUDY)
