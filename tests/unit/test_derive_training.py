"""Accuracy over seeds, the order of samples, and replicas that stay the same or drift."""

import math

import numpy as np
import pandas as pd
import pytest

from builders import derived_lab, run_row, table, training_rows
from dpscale.derive.accuracy import Pair, accuracy, differences
from dpscale.records.bits import packed
from dpscale.studies.large_batch.derive import equal_updates, large_batch
from dpscale.studies.replicas.derive import order, replicas, spreads


def epoch(seed: int, number: int, loss: float, **given) -> dict:
    """Return what is seen of a seed of run r after an epoch."""
    return {
        "run": "r",
        "seed": seed,
        "epoch": number,
        "train_loss": loss,
        "steps_s": 3.0,
        "train_accuracy_frac": 0.5,
    } | given


def trained(rows: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    made = training_rows(rows)
    return table("trials", made["trials"]), table("curves", made["curves"])


def runs_of(study: str = "large_batch", arm: str = "large", **given) -> pd.DataFrame:
    shape = {"kind": "training", "workers": 2, "seeds": 3, "epochs": 2}
    return table("runs", [run_row("r", study=study, arm=arm, **(shape | given))])


def test_a_curve_is_the_median_over_seeds_with_its_interval():
    rows = [epoch(0, 1, 1.0), epoch(1, 1, 3.0), epoch(2, 1, 2.0)]
    made = accuracy(*trained(rows), runs_of()).iloc[0]
    columns = ["train_loss", "train_loss_low", "train_loss_high", "seeds"]
    # Logarithms 0, 0.6931 and 1.0986: mean 0.59725, deviation 0.55553, times 4.303 / sqrt(3).
    assert list(made[columns]) == pytest.approx([2.0, 0.4571, 7.2233, 3], abs=1e-3)


def test_one_seed_has_no_interval():
    made = accuracy(*trained([epoch(0, 1, 1.0)]), runs_of()).iloc[0]
    assert made["train_loss"] == 1.0
    assert pd.isna(made["train_loss_low"])


def test_a_test_accuracy_has_the_error_of_its_images_and_a_training_accuracy_has_none():
    rows = [epoch(seed, 1, 1.0, test_accuracy_frac=0.5) for seed in range(3)]
    made = accuracy(*trained(rows), runs_of(test_samples=100)).iloc[0]
    assert (made["train_accuracy_frac_low"], made["train_accuracy_frac_high"]) == (0.5, 0.5)
    # Wilson, 50 of 100: 0.4038 to 0.5962.
    ends = made[["test_accuracy_frac_low", "test_accuracy_frac_high"]].tolist()
    assert ends == pytest.approx([0.4038, 0.5962], abs=1e-4)


def two_arms(one: list[float], other: list[float], **given) -> pd.DataFrame:
    """Return the difference of two arms whose seeds have these losses, and an accuracy of half."""
    shape = {"kind": "training", "study": "s", "seeds": len(one), "test_samples": 100}
    runs = table("runs", [run_row("r", arm="a", **(shape | given)), run_row("q", arm="b", **shape)])
    rows = [
        epoch(seed, 1, loss, run=run, test_accuracy_frac=0.5)
        for run, losses in (("r", one), ("q", other))
        for seed, loss in enumerate(losses)
    ]
    return differences([Pair("a", "b")], *trained(rows), runs)


def test_a_difference_of_arms_is_that_of_the_runs_of_one_seed():
    made = two_arms([1.0, 5.0, 3.0], [0.9, 4.9, 2.9]).iloc[0]  # far apart, and alike by seed
    columns = [f"train_loss_difference{end}" for end in ("", "_low", "_high")]
    assert made[columns].tolist() == pytest.approx([0.1, 0.1, 0.1])
    assert (made["runs"], made["base_runs"], made["seeds"]) == ("r", "q", 3)


def test_a_difference_of_test_accuracies_has_the_error_of_both_test_sets():
    made = two_arms([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]).iloc[0]
    # Newcombe's method 10, 50 of 100 against 50 of 100: 0.0962 * sqrt(2).
    assert made["test_accuracy_difference_frac_high"] == pytest.approx(0.1360, abs=1e-4)
    assert made["train_loss_difference_high"] == 0


def on_images_of(flags: dict[str, str | None], seeds: int) -> list[float]:
    """Return the difference of two arms' test accuracies, each on the same images with each seed.

    flags: of each arm, right as "1" and wrong as "0".
    """
    images = max(len(one) for one in flags.values() if one)
    shape = {"kind": "training", "study": "s", "seeds": seeds, "test_samples": images}
    runs = table("runs", [run_row(arm, arm=arm, **shape) for arm in flags])
    rows = [
        epoch(seed, 1, 1.0, run=arm, test_accuracy_frac=0.5)
        | {"test_right": packed(np.array([letter == "1" for letter in one])) if one else None}
        for arm, one in flags.items()
        for seed in range(seeds)
    ]
    made = differences([Pair("a", "b")], *trained(rows), runs).iloc[0]
    name = "test_accuracy_difference_frac"
    return made[[name, f"{name}_low", f"{name}_high"]].tolist()


def test_arms_that_err_on_the_same_images_differ_by_the_images_on_which_they_do_not():
    # No discordant image of 100: t of 99 degrees of freedom, 1.9842, times sqrt(2)/102.
    alike = on_images_of({"a": "01" * 50, "b": "01" * 50}, 3)
    assert alike == pytest.approx([0.0, -0.0275, 0.0275], abs=1e-4)


def test_without_the_answers_of_both_arms_their_test_sets_count_as_independent():
    found = on_images_of({"a": "01" * 50, "b": None}, 3)
    assert found == pytest.approx([0.0, -0.1360, 0.1360], abs=1e-4)


def test_one_seed_has_a_difference_and_no_interval_on_the_same_images():
    found = on_images_of({"a": "01" * 50, "b": "01" * 50}, 1)
    assert found[0] == 0.0
    assert pd.isna(found[1])


def test_a_table_of_differences_says_of_how_many_it_is_and_what_chance_decides() -> None:
    made = derived_lab()["large_batch"]
    judged = made[made["test_accuracy_difference_frac_low"].notna()]
    # large, the control, four remedies twice, two beside what they add to, longer training beside
    # three
    assert judged["family"].tolist() == [15] * 15
    assert judged["chance_decides"].tolist() == pytest.approx([0.75] * 15)


@pytest.mark.parametrize(("lost", "side"), [(-2, "above"), (0, "indistinct"), (2, "below")])
def test_the_small_batch_at_the_scaled_rate_is_compared_by_seed_after_the_epoch_of_both(
    lost, side
) -> None:
    """After epoch 2 the control has 50, 60 and 70 of 100 right, less what it lost in tens."""
    ends = {"small": [0.5, 0.6, 0.7], "small_scaled_rate": [0.5, 0.6, 0.7], "large": [0.5] * 3}
    ends["small_scaled_rate"] = [end - lost / 10 for end in ends["small_scaled_rate"]]
    shape = {"kind": "training", "study": "large_batch", "epochs": 2, "seeds": 3}
    arms = [run_row(f"large_batch-{arm}", arm=arm, **shape) for arm in ends]
    rows = [
        epoch(seed, number, 1.0, run=f"large_batch-{arm}", test_accuracy_frac=seen)
        for arm, own in ends.items()
        for seed, end in enumerate(own)
        for number, seen in ((1, 0.1), (2, end))
    ]
    made = large_batch(*trained(rows), table("runs", arms)).set_index("arm")
    assert made.index.tolist() == ["large", "small_scaled_rate"]
    row = made.loc["small_scaled_rate"]
    assert (row["base"], row["epoch"], row["base_epoch"], row["seeds"]) == ("small", 2, 2, 3)
    assert row["test_accuracy_difference_frac"] == pytest.approx(-lost / 10)
    assert (row["test_accuracy_side"], row["family"]) == (side, 2)


def test_as_many_updates_are_compared_by_seed_and_by_image() -> None:
    """Small after an epoch of two updates, large after two of one: both right on images 0 to 39."""
    shape = {"kind": "training", "study": "large_batch", "epochs": 2, "seeds": 3}
    shape |= {"test_samples": 100}
    arms = [run_row(f"large_batch-{arm}", arm=arm, **shape) for arm in ("small", "large")]
    right = {"small": "1" * 40 + "0" * 60, "large": "1" * 50 + "0" * 50}
    rows = [
        epoch(seed, number, 1.0, run=f"large_batch-{arm}")
        | {"test_right": packed(np.array([letter == "1" for letter in own]))}
        | {"test_accuracy_frac": own.count("1") / 100}
        for arm, own in right.items()
        for seed in range(3)
        for number in (1, 2)
    ]
    steps = [
        {"run": f"large_batch-{arm}", "seed": 0, "epoch": 1, "step": step}
        for arm, made in (("small", 2), ("large", 1))
        for step in range(made)
    ]
    trials, curves = trained(rows)
    runs = table("runs", arms)
    seen = accuracy(trials, curves, runs)
    found = equal_updates(trials, curves, seen, table("steps", steps), runs).iloc[0]
    assert (found["epoch"], found["updates"], found["to_level"]) == (1, 2, "above")
    assert found["test_accuracy_difference_frac"] == pytest.approx(0.1)
    # By their own intervals, 0.31 to 0.50 and 0.40 to 0.60, they would not differ.
    large = seen[(seen["arm"] == "large") & (seen["epoch"] == 2)].iloc[0]
    assert found["test_accuracy_frac_high"] > large["test_accuracy_frac_low"]


def test_an_arm_twice_is_told_apart_in_at_most_5_of_100_pairs():
    rng, pairs, seeds, images = np.random.default_rng(1), 400, range(3), 360
    shape = {"kind": "training", "study": "s", "seeds": len(seeds), "test_samples": images}
    arms = [f"{number}{arm}" for number in range(pairs) for arm in "ab"]
    rows = [
        epoch(
            seed,
            1,
            rng.lognormal(0, 0.1),
            run=arm,
            test_accuracy_frac=rng.binomial(images, 0.95) / images,
        )
        for arm in arms
        for seed in seeds
    ]
    found = differences(
        [Pair(one, other) for one, other in zip(arms[::2], arms[1::2], strict=True)],
        *trained(rows),
        table("runs", [run_row(arm, arm=arm, **shape) for arm in arms]),
    )
    for measure in ("train_loss_difference", "test_accuracy_difference_frac"):
        apart = (found[f"{measure}_low"] > 0) | (found[f"{measure}_high"] < 0)
        assert len(found) == pairs
        assert apart.mean() <= 0.05, measure


def test_an_arm_that_diverged_has_no_difference():
    made = two_arms([1.0, 2.0], [1.0, 2.0], status="diverged").iloc[0]
    assert made["status"] == "diverged"
    assert pd.isna(made["train_loss_difference"])


def test_two_arms_of_which_one_is_not_planned_have_no_row():
    runs = table("runs", [run_row("r", study="s", arm="a", kind="training")])
    assert differences([Pair("a", "b")], *trained([]), runs).empty


def test_every_epoch_of_every_arm_is_a_row():
    made = derived_lab()["accuracy"].query("study == 'large_batch'")
    counts = made.groupby("arm", sort=False)["epoch"].agg(list).to_dict()
    five, ten = [1, 2, 3, 4, 5], list(range(1, 11))
    assert counts == {
        "small": five,
        "small_scaled_rate": five,
        "large": five,
        "linear_scaling": five,
        "warmup": five,
        "zero_gamma": five,
        "more_epochs": ten,
    }


def test_the_fifth_epoch_of_an_arm_has_its_final_values():
    made = derived_lab()["accuracy"].query("arm == 'large' and epoch == 5").iloc[0]
    assert (made["train_loss"], made["test_accuracy_frac"]) == pytest.approx((0.50, 0.77))


def test_a_diverged_arm_has_rows_to_its_last_epoch_and_null_where_not_finite():
    rows = [epoch(0, 1, 5.0), epoch(0, 2, math.inf)]
    made = accuracy(*trained(rows), runs_of(status="diverged"))
    assert list(made["status"]) == ["diverged", "diverged"]
    assert made["train_loss"].iloc[0] == 5.0
    assert pd.isna(made["train_loss"].iloc[1])
    assert made["train_accuracy_frac"].iloc[1] == 0.5


def test_a_median_does_not_hide_a_seed_that_diverged():
    rows = [epoch(0, 1, 1.0), epoch(1, 1, 1.1), epoch(2, 1, math.nan)]
    made = accuracy(*trained(rows), runs_of()).iloc[0]
    assert pd.isna(made["train_loss"])
    assert made["seeds"] == 3


def test_an_arm_whose_batch_is_not_settled_yet_is_a_row_with_nulls():
    runs = runs_of(status="not run yet", per_worker_batch=None, global_batch=None)
    made = accuracy(*trained([]), runs).iloc[0]
    assert (made["arm"], made["status"]) == ("large", "not run yet")
    assert made[["epoch", "per_worker_batch", "train_loss", "seeds"]].isna().all()


def digests(*names: str, seed: int = 0, rank: int = 0) -> list[dict]:
    """Return rows of `orders` of run r, one an epoch."""
    return [
        {
            "run": "r",
            "seed": seed,
            "epoch": i + 1,
            "rank": rank,
            "digest": name,
            "first_indices": "3 1 2",
        }
        for i, name in enumerate(names)
    ]


def test_an_order_is_compared_with_the_first_epoch_of_its_own_seed_and_rank():
    rows = digests("a", "a") + digests("b", "c", rank=1) + digests("c", "b", seed=1)
    made = order(table("orders", rows), runs_of("replicas", "without_set_epoch"))
    by = made.set_index(["seed", "rank", "epoch"])["same_as_first"]
    later = by.loc[(0, 0, 2)], by.loc[(0, 1, 2)], by.loc[(1, 0, 2)]
    assert later == (True, False, False)
    assert by.xs(1, level="epoch").all()


def test_the_baseline_is_the_arm_with_set_epoch():
    made = derived_lab()["order"].query("epoch > 1").groupby("arm")["same_as_first"].agg(set)
    assert made.to_dict() == {"with_set_epoch": {False}, "without_set_epoch": {True}}


def replica(rank: int, digest: str, buffers: float, test: float) -> dict:
    """Return one row of `replicas` of run r after its first epoch."""
    return {
        "run": "r",
        "seed": 0,
        "epoch": 1,
        "rank": rank,
        "parameter_digest": digest,
        "parameter_difference_max": 0.25 * rank,
        "buffer_difference_frac": buffers,
        "test_accuracy_frac": test,
    }


def test_replicas_report_the_worst_rank():
    rows = [replica(0, "p", 0.0, 0.75), replica(1, "p", 0.5, 0.25), replica(2, "p", 0.25, 0.5)]
    made = replicas(table("replicas", rows), runs_of("replicas", "no_broadcast")).iloc[0]
    assert made["parameters_identical"]
    assert (made["parameter_difference_max"], made["buffer_difference_frac_max"]) == (0.5, 0.5)
    columns = ["test_accuracy_frac_min", "test_accuracy_frac_max", "test_accuracy_spread_frac"]
    assert list(made[columns]) == [0.25, 0.75, 0.5]


@pytest.mark.parametrize(
    ("off", "on", "verdict"),
    [
        ([1, 2, 0], [1, 1, 1], "indistinct"),  # of 100 images: noise
        ([2, 2, 2], [1, 1, 1], "indistinct"),  # one image is all that the set resolves
        ([9, 10, 9], [0, 0, 0], "above"),
        ([0, 0, 0], [9, 10, 9], "below"),
        ([9], [0], "unknown"),
    ],
)
def test_a_spread_is_larger_where_its_interval_lies_beyond_one_image(off, on, verdict):
    shape = {"kind": "training", "study": "replicas", "test_samples": 100}
    runs = table(
        "runs", [run_row("f", arm="no_broadcast", **shape), run_row("n", arm="baseline", **shape)]
    )
    rows = [
        replica(rank, "p", 0.0, 0.9 - rank * images / 100) | {"run": run, "seed": seed}
        for run, counts in (("f", off), ("n", on))
        for seed, images in enumerate(counts)
        for rank in (0, 1)
    ]
    made = spreads(table("replicas", rows), runs).iloc[0]
    assert made["verdict"] == verdict
    assert (made["seeds"], made["runs"], made["base_runs"]) == (len(off), "f", "n")


def test_one_rank_with_other_parameters_makes_them_not_identical():
    rows = [replica(0, "p", 0.0, 0.5), replica(1, "q", 0.0, 0.5)]
    made = replicas(table("replicas", rows), runs_of("replicas", "no_broadcast")).iloc[0]
    assert not made["parameters_identical"]


def test_the_baseline_is_the_arm_with_broadcast():
    made = derived_lab()["replicas"]
    drift = made.groupby("arm")["buffer_difference_frac_max"].max()
    assert drift.to_dict() == {"broadcast": 0.0, "no_broadcast": 0.01}
