"""Q4.2 for any lab: what it says of a remedy is what its difference decides."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import small_labs
from cases import plain
from properties import QUICK, asked, side_of
from small_labs import SHARES, inputs
from trained import changed

STUDY = small_labs.study("large_batch", epochs=[5, 10])
TEST = "test_accuracy_difference_frac"
TITLES = {
    "linear_scaling": "linear scaling", "warmup": "linear scaling with warm-up",
    "zero_gamma": "linear scaling with warm-up and zero gamma", "more_epochs": "longer training",
}  # fmt: skip
CLAIMS = {
    "above": "helps?",
    "below": "makes? it worse",
    "indistinct": "cannot be told apart from it",
}
SEEDS = st.lists(SHARES, min_size=3, max_size=3)
ARMS = st.fixed_dictionaries(
    dict.fromkeys(["small", "large", *TITLES], st.fixed_dictionaries({"test_accuracy_frac": SEEDS}))
)


def clauses(sentence: str) -> dict[str, list[str]]:
    """The titles that the sentence lists with each claim."""
    found = {}
    for verdict, claim in CLAIMS.items():
        said = re.search(
            rf"(?:^|[;,] )((?:(?!; ).)*?) {claim}(?:;|\.|$)", sentence.split("epochs, ")[-1]
        )
        found[verdict] = re.split(r", | and (?=l)", said[1]) if said else []
    return found


def check(made: Any) -> None:
    answer, text = asked("Q4.2", made)
    rows = {(row["arm"], row["base"]): row for row in made.rows("large_batch")}
    sentence = plain(answer.sentence)
    said = clauses(sentence)
    compared = sentence.startswith("Against the large batch alone")
    for arm, title in TITLES.items():
        row = rows.get((arm, "large"))
        found = side_of(row, TEST) if row and row["status"] == "complete" else "unknown"
        for verdict, listed in said.items():
            told_so = any(re.match(rf"{title} \(\d", one) for one in listed)
            assert not told_so or found == verdict, sentence
            assert told_so or found != verdict or not compared or answer.missing, sentence
    scaled = rows.get(("linear_scaling", "large"))
    assert ("The scaled rate" in text) <= bool(scaled and side_of(scaled, TEST) == "below")
    gamma = rows.get(("zero_gamma", "warmup"))
    assert ("90 epochs on ImageNet" in text) <= bool(gamma and side_of(gamma, TEST) == "below")
    assert "running statistics" not in text


@QUICK
@given(ARMS, st.sampled_from([1, 2, 3, 3]))
def test_any_values_of_the_seeds(arms, seeds):
    check(inputs(changed(STUDY, arms, seeds, "large_batch-")))


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = {
        "accuracy": ["train_loss", "test_accuracy_frac", "train_accuracy_frac"],
        "large_batch": [TEST, f"{TEST}_low", "train_loss_difference_low"],
    }
    small_labs.nulls_are_no_error(data, "Q4.2", STUDY, columns)


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("Q4.2", STUDY)
