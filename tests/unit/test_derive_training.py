"""Accuracy over seeds, the order of samples, and replicas that stay the same or drift."""

import math

import pandas as pd
import pytest

from builders import derived_lab, run_row, table
from dpscale.derive.accuracy import accuracy
from dpscale.studies.replicas.derive import order, replicas


def epoch(seed: int, number: int, loss: float, **given) -> dict:
    """Return one row of `epochs` of run r."""
    return {"run": "r", "seed": seed, "epoch": number, "train_loss": loss, "epoch_s": 3.0,
            "train_accuracy_frac": 0.5} | given  # fmt: skip


def runs_of(study: str = "large_batch", arm: str = "large", **given) -> pd.DataFrame:
    """Return `runs` of the one training run r."""
    shape = {"kind": "training", "workers": 2, "seeds": 3, "epochs": 2}
    return table("runs", [run_row("r", study=study, arm=arm, **(shape | given))])


def test_a_curve_is_the_median_over_seeds_with_its_interval():
    rows = [epoch(0, 1, 1.0), epoch(1, 1, 3.0), epoch(2, 1, 2.0)]
    made = accuracy(table("epochs", rows), runs_of()).iloc[0]
    columns = ["train_loss", "train_loss_low", "train_loss_high", "seeds"]
    assert list(made[columns]) == [2.0, 1.0, 3.0, 3]


def test_one_seed_has_no_interval():
    made = accuracy(table("epochs", [epoch(0, 1, 1.0)]), runs_of()).iloc[0]
    assert made["train_loss"] == 1.0
    assert pd.isna(made["train_loss_low"])


def test_every_epoch_of_every_arm_is_a_row():
    made = derived_lab()["accuracy"].query("study == 'large_batch'")
    counts = made.groupby("arm", sort=False)["epoch"].agg(list).to_dict()
    five, ten = [1, 2, 3, 4, 5], list(range(1, 11))
    assert counts == {"small": five, "large": five, "linear_scaling": five, "warmup": five,
                      "zero_gamma": five, "more_epochs": ten}  # fmt: skip


def test_the_fifth_epoch_of_an_arm_has_its_final_values():
    made = derived_lab()["accuracy"].query("arm == 'large' and epoch == 5").iloc[0]
    assert (made["train_loss"], made["test_accuracy_frac"]) == pytest.approx((0.50, 0.77))


def test_a_diverged_arm_has_rows_to_its_last_epoch_and_null_where_not_finite():
    rows = [epoch(0, 1, 5.0), epoch(0, 2, math.inf)]
    made = accuracy(table("epochs", rows), runs_of(status="diverged"))
    assert list(made["status"]) == ["diverged", "diverged"]
    assert made["train_loss"].iloc[0] == 5.0
    assert pd.isna(made["train_loss"].iloc[1])
    assert made["train_accuracy_frac"].iloc[1] == 0.5


def test_a_median_does_not_hide_a_seed_that_diverged():
    rows = [epoch(0, 1, 1.0), epoch(1, 1, 1.1), epoch(2, 1, math.nan)]
    made = accuracy(table("epochs", rows), runs_of()).iloc[0]
    assert pd.isna(made["train_loss"])
    assert made["seeds"] == 3


def test_an_arm_whose_batch_is_not_settled_yet_is_a_row_with_nulls():
    runs = runs_of(status="not run yet", per_worker_batch=None, global_batch=None)
    made = accuracy(table("epochs"), runs).iloc[0]
    assert (made["arm"], made["status"]) == ("large", "not run yet")
    assert made[["epoch", "per_worker_batch", "train_loss", "seeds"]].isna().all()


def digests(*names: str, seed: int = 0, rank: int = 0) -> list[dict]:
    """Return rows of `orders` of run r, one an epoch."""
    return [{"run": "r", "seed": seed, "epoch": i + 1, "rank": rank, "digest": name,
             "first_indices": "3 1 2"} for i, name in enumerate(names)]  # fmt: skip


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


def test_an_order_that_did_not_run_is_a_row_with_its_status():
    made = order(table("orders"), runs_of("replicas", "without_set_epoch", status="failed"))
    assert list(made["status"]) == ["failed"]
    assert made[["epoch", "digest", "same_as_first"]].isna().all(axis=None)


def replica(rank: int, digest: str, buffers: float, test: float) -> dict:
    """Return one row of `replicas` of run r after its first epoch."""
    return {"run": "r", "seed": 0, "epoch": 1, "rank": rank, "parameter_digest": digest,
            "parameter_difference_max": 0.25 * rank, "buffer_difference_frac": buffers,
            "test_accuracy_frac": test}  # fmt: skip


def test_replicas_report_the_worst_rank():
    rows = [replica(0, "p", 0.0, 0.75), replica(1, "p", 0.5, 0.25), replica(2, "p", 0.25, 0.5)]
    made = replicas(table("replicas", rows), runs_of("replicas", "no_broadcast")).iloc[0]
    assert made["parameters_identical"]
    assert (made["parameter_difference_max"], made["buffer_difference_frac_max"]) == (0.5, 0.5)
    columns = ["test_accuracy_frac_min", "test_accuracy_frac_max", "test_accuracy_spread_frac"]
    assert list(made[columns]) == [0.25, 0.75, 0.5]


def test_one_rank_with_other_parameters_makes_them_not_identical():
    rows = [replica(0, "p", 0.0, 0.5), replica(1, "q", 0.0, 0.5)]
    made = replicas(table("replicas", rows), runs_of("replicas", "no_broadcast")).iloc[0]
    assert not made["parameters_identical"]


def test_the_baseline_is_the_arm_with_broadcast():
    made = derived_lab()["replicas"]
    drift = made.groupby("arm")["buffer_difference_frac_max"].max()
    assert drift.to_dict() == {"broadcast": 0.0, "no_broadcast": 0.01}


def test_replicas_that_did_not_run_are_a_row_with_their_status():
    runs = runs_of("replicas", "no_broadcast", status="not run yet")
    made = replicas(table("replicas"), runs)
    assert list(made["status"]) == ["not run yet"]
    assert made[["epoch", "parameters_identical"]].isna().all(axis=None)
