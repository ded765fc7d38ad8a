"""S4 turns round when the data does; its table, differences and verdicts by hand."""

from typing import Any

import pandas as pd
import pytest

import local_sgd_builders
from answer_checks import text_of
from builders import Tables, full_lab, run_row, table
from dpscale.derive.local_sgd import local_sgd, local_sgd_curves, title
from dpscale.derive.local_sgd_times import local_sgd_times
from dpscale.derive.local_sgd_verdicts import measured_arms, published_local_sgd
from dpscale.reporting.answer import Answer
from dpscale.reporting.answers import s4
from dpscale.reporting.answers.inputs import Inputs


def study(accuracies: Any = local_sgd_builders.ACCURACIES) -> Tables:
    made = local_sgd_builders.rows(run_row, accuracies)
    return {name: table(name, rows) for name, rows in made.items()}


def with_arm(noise: float, arm: str, accuracy: float) -> Any:
    changed = {key: dict(value) for key, value in local_sgd_builders.ACCURACIES.items()}
    changed[noise][arm] = accuracy
    return changed


def answer_of(tidy: Tables) -> Answer:
    inputs = [tidy[name] for name in ("trials", "evaluations", "runs")]
    derived = {
        "local_sgd": local_sgd(*inputs), "local_sgd_curves": local_sgd_curves(*inputs),
        "published_local_sgd": published_local_sgd(*inputs),
    }  # fmt: skip
    return s4.answer(Inputs(derived, tidy))


@pytest.fixture(scope="module")
def tidy() -> Tables:
    return study()


def row_of(frame: pd.DataFrame, **cell: Any) -> pd.Series:
    for key, value in cell.items():
        frame = frame[frame[key] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_an_arm_has_its_last_epoch_its_rounds_and_the_bytes_of_a_ring(tidy):
    rows = local_sgd(tidy["trials"], tidy["evaluations"], tidy["runs"])
    arm = row_of(rows, label_noise_frac=0.2, arm="A5 H=16")
    assert arm["test_accuracy_frac"] == pytest.approx(0.92)
    assert (arm["test_accuracy_frac_low"], arm["test_accuracy_frac_high"]) == (0.91, 0.93)
    assert arm["train_loss"] == pytest.approx(2 - 0.92)
    assert (arm["rounds"], arm["seeds"], arm["global_batch"]) == (22, 3, 128)
    assert arm["sent_bytes"] == 22 * 2 * 15 / 16 * 4_000_000
    # 0.92 against 0.90 at every seed, although the seeds' spreads overlap
    over = [arm[f"over_large_frac{end}"] for end in ("", "_low", "_high")]
    assert over == pytest.approx([0.02, 0.02, 0.02])
    assert len(rows) == 12  # the trials that chose a rate are no arm of their own


def test_a_diverged_seed_takes_the_numbers_of_its_arm_and_decides_nothing(tidy):
    trials = tidy["trials"].copy()
    one = (trials["arm"] == "A2") & (trials["seed"] == 1) & (trials["label_noise_frac"] == 0.2)
    trials.loc[one, "status"] = "diverged"
    changed = tidy | {"trials": trials}
    rows = local_sgd(trials, tidy["evaluations"], tidy["runs"])
    row = row_of(rows, label_noise_frac=0.2, arm="A2")
    assert row["status"] == "diverged"
    assert row["message"] == "1 of 3 seeds diverged"
    assert pd.isna(row["test_accuracy_frac"])
    # Against the other seeds of A2 the difference would be known.
    assert rows.loc[rows["label_noise_frac"] == 0.2, "over_large_frac"].isna().all()
    assert rows.loc[rows["label_noise_frac"] == 0.0, "over_large_frac"].notna().sum() == 5
    found = answer_of(changed)
    assert "with 20% wrong labels post-local SGD cannot be compared" in found.sentence
    assert "nan" not in text_of(found)


def test_differences_are_paired_by_seed_and_judged_by_their_direction(tidy):
    rows = published_local_sgd(tidy["trials"], tidy["evaluations"], tidy["runs"])
    noisy = rows[(rows["label_noise_frac"] == 0.2) & (rows["dataset"] == "CIFAR-10")]
    verdicts = noisy.set_index("comparison")["verdict"].to_dict()
    assert verdicts == {
        "post-local against large": "agrees",  # 92 - 90 %, published 92.80 - 92.48
        "post-local against small": "agrees",
        "small against large": "disagrees",  # 89 - 90 %, published 92.63 - 92.48
        "more local steps": "agrees",
    }
    first = row_of(noisy, comparison="post-local against large")
    assert first["difference_frac"] == pytest.approx(0.02)
    assert first["published_difference_frac"] == pytest.approx(0.0032)
    clean = rows[rows["label_noise_frac"] == 0.0]
    assert set(clean["verdict"]) == {"not decidable"}


def test_the_arm_with_the_published_local_steps_stands_for_post_local_sgd():
    arms = ["A1", "A2", "A5 H=8", "A5 H=16", "A5 H=32"]
    assert measured_arms("post-local against large", arms) == ("A5 H=16", "A2")
    assert measured_arms("more local steps", arms) == ("A5 H=32", "A5 H=8")
    assert measured_arms("more local steps", arms[:3]) is None
    assert measured_arms("post-local against small", ["A1", "A2"]) is None
    assert title("A5 H=8") == "post-local SGD, H = 8"


def test_curves_end_where_the_arms_do_and_know_the_switch(tidy):
    rows = local_sgd_curves(tidy["trials"], tidy["evaluations"], tidy["runs"])
    own = rows[(rows["label_noise_frac"] == 0.2) & (rows["arm"] == "A5 H=16")]
    assert list(own["epoch"]) == [1, 2, 3, 4]
    assert set(own["switch_epoch"]) == {2.0}
    assert own["test_accuracy_frac"].iloc[-1] == pytest.approx(0.92)


def test_the_time_of_an_epoch_is_that_of_the_steps_predicted_for_as_many_workers(tidy):
    cell = {"link": "slow", "bytes_per_s": 1e8, "latency_s": 0.0, "per_worker_batch": 32,
            "workers": 16, "status": "predicted", "runs": "scaling-n2-b32"}  # fmt: skip
    steps = {"none": 0.050, "local_4": 0.020, "local_16": 0.011, "bf16": 0.03}
    what_if = pd.DataFrame([cell | {"variant": name, "step_s": step_s, "note": None,
                                    "exposed_step_s": step_s - 0.01}
                            for name, step_s in steps.items()])  # fmt: skip
    what_if = pd.concat([what_if, what_if.assign(workers=8)])
    runs = pd.concat([tidy["runs"], table("runs", [run_row("scaling-n2-b32", workers=2)])])
    rows = local_sgd_times(what_if, tidy["trials"], runs).set_index("local_steps")
    assert list(rows.index) == [1, 4, 16]
    # 10,000 samples in batches of 16 times 32
    assert rows.loc[16, "epoch_s"] == pytest.approx(0.011 * 10_000 / 512)
    assert rows.loc[4, "speedup_ratio"] == pytest.approx(2.5)


def test_the_sentence_tells_the_regimes_apart_and_what_is_saved(tidy):
    sentence = answer_of(tidy).sentence
    assert sentence.startswith(
        "With clean labels post-local SGD cannot be told apart from the large mini-batch"
    )
    assert "with 20% wrong labels post-local SGD is more accurate on the test set" in sentence
    assert "+2.00 percentage points" in sentence
    assert "22 rounds of communication instead of 40, 1.82× fewer" in sentence


def test_the_sentence_turns_round_when_post_local_sgd_is_worse():
    found = answer_of(study(with_arm(0.2, "A5 H=16", 0.85)))
    assert "with 20% wrong labels post-local SGD is less accurate" in found.sentence
    assert "disagree" in text_of(found)
    assert "by −5.00 percentage points, −5.00 to −5.00" in found.sentence  # 85 - 90 %


def test_the_best_arm_and_its_training_loss_are_named(tidy):
    text = text_of(answer_of(tidy))
    alone = text_of(answer_of(study(with_arm(0.0, "A5 H=16", 0.98))))
    assert "With clean labels the most accurate arm is A5, post-local SGD, H = 16 (98.0%" in alone
    assert "With clean labels no arm is more accurate than the large mini-batch" in text
    assert "with 20% wrong labels the most accurate arm is A3, huge mini-batch (95.0%" in text
    assert "not told apart here" not in text  # there the best arm has the lower loss
    losses = tidy["evaluations"].assign(
        train_loss=lambda rows: rows["test_accuracy_frac"]  # the better an arm the higher its loss
    )
    assert "not told apart here" in text_of(answer_of(tidy | {"evaluations": losses}))


def test_what_was_expected_and_the_verdicts_are_printed(tidy):
    text = text_of(answer_of(tidy))
    assert "Expected before the run: post-local SGD is more accurate with wrong labels." in text
    # both data sets, four comparisons: clean 0 decided; noisy 3 agree and 1 disagrees
    assert "of 16 comparisons 6 agree, 2 disagree and 8 are not decidable" in text


def test_a_run_that_is_missing_withholds_the_answer():
    from builders import without_runs

    lab = without_runs(full_lab(), ["local_sgd-noise0-a3"])
    found = answer_of(lab)
    assert found.missing == ["local_sgd, local_sgd-noise0-a3: not run yet"]


def with_rates_tried(tidy: Tables, shares: list[float]) -> Tables:
    """The study after a search among these shares of the rate; the results have the share 1."""
    tuning = tidy["trials"][tidy["trials"]["role"] == "tuning"]
    more = [tuning.assign(rate_factor=share, trial=100 + number)
            for number, share in enumerate(shares)]  # fmt: skip
    return tidy | {"trials": pd.concat([tidy["trials"], *more], ignore_index=True)}


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([], "was searched for no arm"),
        ([0.5, 2.0], "None of the chosen ones lies at the border"),
        ([0.5], "post-local SGD, H = 16 with clean labels (highest of 2)"),
        ([2.0, 4.0], "large mini-batch with 20% wrong labels (lowest of 3)"),
    ],
)
def test_the_search_of_the_rate_is_told_with_its_border(tidy, shares, words):
    assert words in text_of(answer_of(with_rates_tried(tidy, shares)))
