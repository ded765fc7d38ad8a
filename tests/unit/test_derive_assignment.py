"""The cluster-training assignment, derived: values worked by hand."""

import pandas as pd
import pytest

from assignment_builders import DOUBLED_LOSS
from builders import derived_lab, full_lab
from dpscale.derive.formulas import full_run_seconds, share_margin, workers_of_steps
from dpscale.studies import derived_of
from dpscale.studies.assignment.derive import _behind
from dpscale.studies.assignment.published import stands_in


def row(table: str, *, lab: dict[str, pd.DataFrame] | None = None, **cell) -> pd.Series:
    made = (lab or derived_lab())[table]
    for column, value in cell.items():
        made = made[made[column] == value]
    assert len(made) == 1
    return made.iloc[0]


def training(workers: int, rule: str = "linear", **more) -> pd.Series:
    return row("assignment", workers=workers, rule=rule, nodes=1, **more)


def launches_of(run: str) -> tuple[str, ...]:
    return run, f"{run}-launch2", f"{run}-launch3"


# Formulas -----------------------------------------------------------------------------------


def test_3120_steps_of_40_epochs_can_only_come_from_6_workers():
    # 78 steps an epoch, 60,000 / (128 * 78) = 6.01
    assert workers_of_steps(60_000, 128, 3_120, 40) == 6


def test_18720_steps_of_40_epochs_come_from_one_worker():
    assert workers_of_steps(60_000, 128, 18_720, 40) == 1


def test_a_full_run_takes_as_many_times_longer_as_it_has_more_epochs():
    assert full_run_seconds(34.0, 4, 40) == 340.0


def test_the_interval_of_99_percent_of_10000_images_is_a_fifth_of_a_point_wide_on_each_side():
    # 1.96 * sqrt(0.99 * 0.01 / 10,000)
    assert share_margin(0.99, 10_000) == pytest.approx(0.00195, abs=1e-5)


# Trainings ----------------------------------------------------------------------------------


def test_training_time_is_every_epoch_and_its_evaluation_without_the_start_up():
    one = training(1)
    assert one["train_s"] == pytest.approx(4 * (8.0 + 0.5))
    assert one["evaluation_s"] == pytest.approx(4 * 0.5)
    assert one["startup_s"] == 3.0


def test_efficiency_is_one_workers_time_over_n_times_that_of_n():
    two = training(2)
    assert two["train_s"] == pytest.approx(4 * (4.8 + 0.5))
    assert two["speedup_ratio"] == pytest.approx(34.0 / 21.2)
    assert two["efficiency_frac"] == pytest.approx(34.0 / 42.4)
    assert two["efficiency_frac_low"] < two["efficiency_frac"] < two["efficiency_frac_high"]
    assert two["epochs_efficiency_frac"] == pytest.approx(8.0 / 9.6)


def test_with_start_up_the_gain_is_of_both_together():
    two = training(2)  # 34.0 + 3 s against 21.2 + 6 s
    assert two["speedup_with_startup_ratio"] == pytest.approx(37.0 / 27.2)


def test_one_launch_gives_no_verdict_on_speed():
    later = [f"assignment-linear-n{n}-launch{k}" for n in (1, 2, 4) for k in (2, 3)]
    made = row("assignment", lab=derived_lab(not_run=tuple(later)), workers=2, rule="linear")
    assert made["speedup_ratio"] == pytest.approx(34.0 / 21.2, rel=1e-3)
    assert pd.isna(made["speedup_ratio_low"])
    assert made["pace"] == "unknown"


def test_a_rule_compared_by_accuracy_alone_has_no_time():
    made = training(4, "sqrt")
    assert made["test_accuracy_frac"] == pytest.approx(0.945)
    assert pd.isna(made["train_s"])
    assert pd.isna(made["speedup_ratio"])


@pytest.mark.parametrize(
    ("workers", "rule", "kept", "advised"),
    [
        (4, "linear", "loses", False),  # 93% against 95%
        (4, "sqrt", "loses", False),  # 94.5%
        (4, "fixed", "gains", True),  # 96%
        (4, "fixed_batch", "keeps", False),  # 95%, and 0.2 points of 100,000 images
        (2, "linear", "loses", pd.NA),
    ],
)
def test_what_is_kept_of_one_workers_accuracy_is_by_the_paired_difference(
    workers, rule, kept, advised
):
    made = training(workers, rule)
    assert made["accuracy_kept"] == kept
    assert made["advised"] is advised or made["advised"] == advised


def test_the_linear_rule_is_compared_with_the_fixed_rate_on_as_many_workers():
    made = training(4)
    assert made["fixed_difference_frac"] == pytest.approx(0.93 - 0.96)
    assert made["to_fixed"] == "below"
    for other in (training(2), training(4, "sqrt"), training(4, "fixed")):
        assert pd.isna(other["fixed_difference_frac"])
        assert other["to_fixed"] == "unknown"


def test_one_seed_that_diverged_makes_the_training_diverged():
    tidy = full_lab()
    lost = tidy["runs"]["run"] == "assignment-linear-n2-launch2"
    runs = tidy["runs"].assign(status=tidy["runs"]["status"].mask(lost, "diverged"))
    made = row("assignment", lab=derived_of(tidy | {"runs": runs}), workers=2, rule="linear")
    assert (made["status"], made["against"]) == ("diverged", "diverged")
    assert pd.isna(made["test_accuracy_frac"])


def test_the_base_against_itself_is_one():
    assert training(1)["speedup_ratio"] == training(1)["efficiency_frac_high"] == 1.0


@pytest.mark.parametrize(("workers", "steps"), [(1, 4 * 78), (2, 4 * 39), (4, 4 * 19)])
def test_steps_are_epochs_times_full_batches_and_are_counted(workers, steps):
    # 10,000 / 128 = 78.1; / 256 = 39.06; / 512 = 19.5
    made = training(workers)
    assert made["planned_steps"] == made["steps"] == steps
    assert made["counted_workers"] == workers
    assert made["full_run_steps"] == 10 * steps


def test_the_fixed_batch_makes_the_steps_of_one_worker():
    made = training(4, "fixed_batch")
    assert made["per_worker_batch"] == 32
    assert made["steps"] == training(1)["steps"]


def test_a_training_without_a_record_keeps_its_row_and_its_status():
    lab = derived_lab(not_run=launches_of("assignment-linear-n4"))
    made = row("assignment", lab=lab, workers=4, rule="linear")
    assert made["status"] == "not run yet"
    assert pd.isna(made["train_s"])
    assert pd.isna(made["steps"])


def test_without_one_worker_there_is_a_time_and_no_speedup():
    lab = derived_lab(not_run=launches_of("assignment-linear-n1"))
    made = row("assignment", lab=lab, workers=2, rule="linear")
    assert made["train_s"] == pytest.approx(21.2)
    assert pd.isna(made["speedup_ratio"])


# Utilisation --------------------------------------------------------------------------------


def test_utilisation_is_of_one_worker_and_leaves_out_the_first_epoch():
    made = derived_lab()["assignment_utilisation"]
    assert made["per_worker_batch"].tolist() == [128, 512, 1024]
    # epochs 2, 3 and 4 of the builder: 0.502, 0.503, 0.504
    assert made["utilisation_frac"].tolist() == pytest.approx([0.503, 0.803, 0.953])
    assert made["launches"].tolist() == [3, 3, 3]


def test_shares_of_the_wall_time_are_those_of_the_phases():
    made = row("assignment_utilisation", per_worker_batch=128)
    assert made["load_frac"] == pytest.approx(0.2)
    assert made["compute_frac"] == pytest.approx(0.3 + 0.4 + 0.1)
    assert made["samples_per_s"] == pytest.approx(78 * 128 / 8.0)


def test_more_loading_processes_are_set_beside_fewer_with_the_same_batch():
    assert derived_lab()["assignment_loading"].empty
    tidy = full_lab()
    more = tidy["runs"]["run"].str.startswith("assignment-batch-b512")
    changed = {"arm": "more_loading", "per_worker_batch": 128, "loader_workers": 2}
    runs = tidy["runs"].assign(
        **{name: tidy["runs"][name].mask(more, value) for name, value in changed.items()}
    )
    lab = derived_of(tidy | {"runs": runs})
    made = row("assignment_loading", lab=lab, per_worker_batch=128)
    assert (made["loader_workers"], made["base_loader_workers"], made["launches"]) == (2, 0, 3)
    # 19 steps of 512 in place of 78 of 128, in as many seconds
    assert made["more_loading_ratio"] == pytest.approx(9728 / 9984, rel=1e-3)
    assert (made["more_loading"], made["load_frac"]) == ("below", pytest.approx(0.2))
    assert lab["assignment_utilisation"]["per_worker_batch"].tolist() == [128, 1024]


def test_more_loading_processes_without_a_result_have_no_number():
    tidy = full_lab()
    more = tidy["runs"]["run"].str.startswith("assignment-batch-b512")
    changed = {"arm": "more_loading", "per_worker_batch": 128, "status": "failed"}
    runs = tidy["runs"].assign(
        **{name: tidy["runs"][name].mask(more, value) for name, value in changed.items()}
    )
    lab = derived_of(tidy | {"runs": runs})
    made = row("assignment_loading", lab=lab, per_worker_batch=128)
    assert (made["status"], made["more_loading"]) == ("failed", "unknown")
    assert pd.isna(made["more_loading_ratio"])


def test_batches_are_compared_by_what_they_learn_in_as_many_epochs():
    tidy = full_lab()
    larger = tidy["curves"]["run"].str.startswith("assignment-batch-b1024")
    # The larger batch stops after two of the four epochs, 0.1 more accurate than others then are.
    curves = tidy["curves"][~larger | (tidy["curves"]["epoch"] <= 2)]
    better = curves["test_accuracy_frac"].mask(
        curves["run"].str.startswith("assignment-batch-b1024"), curves["test_accuracy_frac"] + 0.1
    )
    lab = derived_of(tidy | {"curves": curves.assign(test_accuracy_frac=better)})
    first, middle, last = (
        row("assignment_utilisation", lab=lab, per_worker_batch=b) for b in (128, 512, 1024)
    )
    assert {first["compared_epochs"], last["compared_epochs"]} == {2}
    assert first["test_accuracy_frac"] == pytest.approx(0.95 / 2)  # half of the way
    assert last["test_accuracy_difference_frac"] == pytest.approx(0.1)
    sides = (first["accuracy_to_first"], middle["accuracy_to_first"], last["accuracy_to_first"])
    assert sides == ("unknown", "indistinct", "above")


def test_a_longer_wait_for_the_loader_is_judged_by_launch():
    assert row("assignment_utilisation", per_worker_batch=512)["load_to_first"] == "indistinct"
    tidy = full_lab()
    longer = tidy["steps"]["run"].str.startswith("assignment-batch-b512")
    waits = tidy["steps"]["load_s"]
    steps = tidy["steps"].assign(load_s=waits.mask(longer, 1.5 * waits))
    made = row(
        "assignment_utilisation", lab=derived_of(tidy | {"steps": steps}), per_worker_batch=512
    )
    assert made["load_difference_frac"] == pytest.approx(0.1)  # 0.3 less 0.2
    assert made["load_to_first"] == "above"


@pytest.mark.parametrize(
    ("changed", "stands_for"),
    [
        ({}, False),
        ({"dataset": "digits"}, True),
        ({"model": "mlp"}, True),
        ({"optimizer": "sgd"}, True),
    ],
)
def test_other_data_network_or_optimiser_stand_in(changed, stands_for):
    assigned = {"dataset": "mnist", "model": "mnist_cnn", "optimizer": "adam"}
    assert stands_in(assigned | changed) is stands_for


# Split --------------------------------------------------------------------------------------

PARTS = ["load", "copy", "sharing", "stragglers", "overhead", "exposed", "computation", "rest"]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_parts_of_an_epoch_add_up_to_it(workers):
    made = row("assignment_split", workers=workers)
    assert sum(made[f"{part}_s"] for part in PARTS) == pytest.approx(made["epoch_s"])
    assert sum(made[f"{part}_frac"] for part in PARTS) == pytest.approx(1.0)


def test_one_worker_loses_time_to_loading_and_copies_alone():
    made = row("assignment_split", workers=1)
    # Of a step of 1 without loading 5% are copies; with loading it takes 1.25.
    assert made["load_frac"] == pytest.approx(0.25 / 1.25)
    assert made["copy_frac"] == pytest.approx(0.05 / 1.25)
    assert [made[f"{part}_frac"] for part in PARTS[2:6]] == [0.0] * 4


def test_computation_is_one_nth_of_one_worker_without_loading_less_the_copy():
    # T_1 = 6.4 s, of whose steps 5% are copies; an epoch of two with loading takes 4.8 s, 0.25 of
    # 1.25 of that loading, and 3.84 s without.
    made = row("assignment_split", workers=2)
    assert made["computation_s"] == pytest.approx(3.2 - made["copy_s"])
    assert made["rest_s"] == pytest.approx(4.8 - 3.84 - made["load_s"])


def test_exposed_communication_is_the_difference_of_two_arms():
    # T_1 = 6.4 s, T_2 = 3.84 s; 70% of 3.84 - 3.2 = 0.64 s is exposed, in an epoch of 4.8 s.
    made = row("assignment_split", workers=2)
    assert made["exposed_s"] == pytest.approx(0.7 * 0.64)
    assert made["exposed_frac"] == pytest.approx(0.448 / 4.8)


def test_sharing_is_contention_without_the_stragglers():
    made = row("assignment_split", workers=2)
    assert made["sharing_s"] + made["stragglers_s"] == pytest.approx(0.2 * 0.64)


def test_twice_the_batch_is_compared_with_the_split_of_as_many_workers():
    # Of 6.4 s * 0.6 ** 2, a quarter more with loading; with twice the batch 80% of that.
    made = row("assignment_doubled")
    assert made["epoch_s"] == pytest.approx(0.8 * 1.25 * 6.4 * 0.36)
    assert made["base_epoch_s"] == row("assignment_split", workers=4)["epoch_s"]
    assert made["speedup_ratio"] == pytest.approx(1.25)
    assert (made["pace"], made["per_worker_batch"]) == ("above", 256)
    assert made["base_runs"].split()[:2] == ["assignment-split-n4", "assignment-linear-n4"]
    # what it learns at twice the rate, beside as many workers with the usual batch
    assert made["lr"] == pytest.approx(8 * 0.001)
    assert made["test_accuracy_difference_frac"] == pytest.approx(-DOUBLED_LOSS)
    assert made["accuracy_to_base"] == "below"


def test_twice_the_batch_is_compared_with_the_fastest_of_fewer_workers():
    # Two workers take 6.4 s * 0.6, a quarter more with loading; one takes longer.
    made = row("assignment_doubled")
    assert (made["fewer_workers"], made["fewer_nodes"], made["to_fewer"]) == (2, 1, "above")
    assert made["fewer_speedup_ratio"] == pytest.approx(0.6 / (0.8 * 0.36))


def test_a_training_with_twice_the_batch_that_did_not_end_has_no_accuracy():
    tidy = full_lab()
    stopped = tidy["runs"]["arm"] == "doubled_batch"
    status = tidy["runs"]["status"].mask(stopped, "diverged")
    lab = derived_of(tidy | {"runs": tidy["runs"].assign(status=status)})
    made = row("assignment_doubled", lab=lab)
    assert made["accuracy_to_base"] == "unknown"
    assert made["pace"] == "above"


def test_workers_with_the_assignments_batch_are_compared_with_one_that_has_it():
    # One takes 0.8 * 6.4 s, a quarter more with loading; two 0.6 and four 0.36 of that.
    made = derived_lab(assignment_batch=32)["assignment_assigned"].set_index("workers")
    assert list(made.index) == [1, 2, 4]
    assert set(made["per_worker_batch"]) == {128}
    assert made.loc[1, "epoch_s"] == pytest.approx(0.8 * 1.25 * 6.4)
    ends = ["speedup_ratio", "speedup_ratio_low", "speedup_ratio_high"]
    assert list(made.loc[1, ends]) == [1.0, 1.0, 1.0]
    assert list(made.loc[[2, 4], "speedup_ratio"]) == pytest.approx([1 / 0.6, 1 / 0.36])
    assert list(made.loc[[2, 4], "efficiency_frac"]) == pytest.approx([1 / 1.2, 1 / 1.44])
    assert list(made["pace"]) == ["indistinct", "above", "above"]
    assert made.loc[4, "base_runs"] == "assignment-assigned-n1 assignment-assigned-training-n1"


def test_what_the_assignments_batch_learns_is_set_beside_one_worker_that_has_it():
    made = derived_lab(assignment_batch=32)["assignment_assigned"].set_index("workers")
    usual = derived_lab(assignment_batch=32)["assignment"]
    usual = usual[usual["rule"] == "linear"].set_index("workers")
    lost = usual["test_accuracy_frac"] - made["test_accuracy_frac"]
    assert list(lost) == pytest.approx([0.002] * 3)
    apart = made["test_accuracy_difference_frac"]
    assert pd.isna(apart[1])
    assert apart[4] == pytest.approx(made["test_accuracy_frac"][4] - made["test_accuracy_frac"][1])
    assert list(made["lr"]) == pytest.approx([0.004, 0.008, 0.016])
    kept = usual["accuracy_kept"].astype(object).where(usual["accuracy_kept"].notna(), None)
    assert list(made["accuracy_kept"])[1:] == list(kept)[1:]
    assert pd.isna(made["accuracy_kept"][1])


def test_a_training_with_the_assignments_batch_that_is_missing_leaves_its_times():
    gone = ("assignment-assigned-training-n2",)
    made = derived_lab(assignment_batch=32, not_run=gone)["assignment_assigned"]
    assert made["speedup_ratio"].notna().all()
    assert list(made["test_accuracy_frac"].notna()) == [True, False, True]


def test_twice_the_batch_is_an_epoch_with_the_assignments_where_it_is_that():
    made = derived_lab(assignment_batch=64)["assignment_assigned"]
    assert list(made["runs"].str.replace("assignment-", "")) == [
        "assigned-n1 assigned-training-n1",
        "assigned-n2 assigned-training-n2",
        "doubled-n4 doubled-training-n4",
    ]
    assert made["speedup_ratio"].iloc[-1] == pytest.approx(1 / 0.36)


def test_trainings_with_the_assignments_batch_are_timed_with_no_other():
    assert derived_lab()["assignment_assigned"].empty


def test_an_epoch_with_the_assignments_batch_of_one_worker_alone_is_compared_with_none():
    gone = ("assignment-assigned-n1", "assignment-assigned-n4")
    made = derived_lab(assignment_batch=32, not_run=gone)["assignment_assigned"]
    assert list(made["status"]) == ["not run yet", "complete", "not run yet"]
    assert made["speedup_ratio"].isna().all()
    assert list(made["pace"]) == ["unknown"] * 3


def test_parts_are_compared_by_launch():
    """Contention of 1, 1, 1 against stragglers of 0.1, 0.5, 0.9 is less only by 0.5 +- 0.99."""
    copies = pd.DataFrame({"mean_copy": [1.0] * 3, "copies": [1.1, 1.5, 1.9]})
    sides = [copies, pd.DataFrame({"one": [0.0] * 3})]
    row = {"epoch_s": 10.0, "sharing_frac": 0.1, "stragglers_frac": 0.05}
    behind = _behind(row, sides, ["sharing", "stragglers"])
    assert behind["stragglers_behind_frac"] == pytest.approx(0.05)
    assert behind["stragglers_behind_frac_low"] < 0.05 - 0.04
    assert "sharing_behind_frac" not in behind


# Published figures --------------------------------------------------------------------------


def mnist_lab(accuracy: float, epochs: int = 40) -> dict[str, pd.DataFrame]:
    """The lab with MNIST's numbers; every accuracy after the last epoch near this one."""
    tidy = full_lab()
    runs = tidy["runs"].copy()
    own = runs["study"] == "assignment"
    runs.loc[own, "dataset"] = "mnist"
    runs.loc[own, "device"] = "NVIDIA made-up"
    runs.loc[own, "epochs"] = epochs
    of_assignment = tidy["curves"]["run"].isin(runs.loc[own, "run"])
    curve = tidy["curves"].copy()
    curve.loc[of_assignment & (curve["epoch"] == 4), "epoch"] = epochs
    last = of_assignment & (curve["epoch"] == epochs)
    seeds = tidy["trials"].set_index(["run", "trial"])["seed"]
    seed = seeds.loc[pd.MultiIndex.from_frame(curve[["run", "trial"]])].to_numpy()
    shift = pd.Series(0.0001 * (seed - 1), index=curve.index)
    curve.loc[last, "test_accuracy_frac"] = (accuracy + shift)[last]
    return derived_of(tidy | {"runs": runs, "curves": curve})


def verdict(lab: dict[str, pd.DataFrame], claim: str, **cell) -> tuple[str, object]:
    made = row("assignment_published", lab=lab, claim=claim, **cell)
    return made["verdict"], made["reason"]


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [
        # 0.9827 +- 0.0026 published, +- 0.0026 measured on as many images: one point is the margin
        (0.983, "agrees"),
        (0.992, "not decidable"),
        (0.96, "disagrees"),
    ],
)
def test_an_accuracy_is_judged_by_its_whole_interval_and_the_published_one(accuracy, said):
    found = verdict(mnist_lab(accuracy), "test_accuracy_frac", workers=1, epochs=40)
    assert found[0] == said


def test_other_epochs_are_not_judged():
    found = verdict(mnist_lab(0.99, epochs=30), "test_accuracy_frac", workers=1, epochs=40)
    assert found == ("not judged", "30 epochs here")


def test_other_data_are_not_judged():
    lab = derived_lab()
    for claim in ("test_accuracy_frac", "train_s", "steps", "efficiency_frac"):
        made = lab["assignment_published"]
        rows = made[(made["claim"] == claim) & (made["nodes"] == 1)]
        assert set(rows["verdict"]) == {"not judged"}
        assert set(rows["reason"]) == {"other data, digits"}


def test_seconds_of_other_devices_are_not_judged():
    found = verdict(mnist_lab(0.99), "train_s", workers=2)
    assert found == ("not judged", "seconds of other devices, which are not named")


def test_published_efficiencies_follow_from_the_published_times():
    made = row("assignment_published", claim="efficiency_frac", workers=2)
    assert made["published"] == pytest.approx(456.15 / (2 * 379.69))
    # 0.802 (0.787 to 0.817) measured
    assert verdict(mnist_lab(0.99), "efficiency_frac", workers=2)[0] == "disagrees"


def test_speeds_of_another_device_than_a_gpu_is_not_judged():
    assert verdict(mnist_lab(0.99), "utilisation_frac", per_worker_batch=128)[0] == "disagrees"
    tidy = full_lab()
    mnist = tidy["runs"].assign(dataset="mnist", device="CPU core")
    for claim, cell in (
        ("utilisation_frac", {"per_worker_batch": 128}),
        ("efficiency_frac", {"workers": 2}),
    ):
        assert verdict(derived_of(tidy | {"runs": mnist}), claim, **cell) == (
            "not judged",
            "measured on CPU cores, published on GPUs",
        )


def test_an_efficiency_of_workers_that_share_devices_is_not_judged():
    tidy = full_lab()
    shared = tidy["runs"].assign(dataset="mnist", device="NVIDIA made-up", oversubscribed=True)
    found = verdict(derived_of(tidy | {"runs": shared}), "efficiency_frac", workers=2)
    assert found == ("not judged", "workers share devices here")


def test_full_batches_agree_with_the_published_steps_that_have_a_fraction():
    tidy = full_lab()
    own = tidy["runs"]["study"] == "assignment"
    runs = tidy["runs"].assign(
        train_samples=tidy["runs"]["train_samples"].mask(own, 60_000),
        dataset=tidy["runs"]["dataset"].mask(own, "mnist"),
    )
    made = row(
        "assignment_published", lab=derived_of(tidy | {"runs": runs}), claim="steps", nodes=1
    )
    assert (made["published"], made["measured"]) == (18_750, 18_720)
    assert made["verdict"] == "agrees"


def test_published_figures_that_contradict_others_are_named():
    assert verdict(derived_lab(), "steps", nodes=2) == (
        "contradicts itself",
        "the published epochs, images and batch (40 of 60 000 at b = 128), by which 2 workers "
        "make 9 360 steps and 6 workers 3 120",
    )
    assert verdict(derived_lab(), "speedup_ratio") == (
        "contradicts itself",
        "the published times, by which it is 1.20 (456.15\u00a0s over 379.69\u00a0s)",
    )
