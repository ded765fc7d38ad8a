"""The closing page: what carries over, chosen by the data, and less where a study was left out."""

import functools
import math
import re
from typing import Any

import pytest

from builders import derived_lab, full_lab
from cases import Edit, around, both, plain, text_of, too_long, unended, where
from dpscale.derive.columns import as_table
from dpscale.reporting.answer import Answer
from dpscale.studies import closing, derived_of, tables
from dpscale.studies.cluster.derive import GAINS


@functools.cache
def page(*edits: tuple[str, Any], **options: Any) -> Answer:
    """The page of the made-up lab, some of its derived tables edited, in whole sentences."""
    derived = derived_lab(**options)
    edited = {name: tables()[name].judged(edit(derived[name])) for name, edit in edits}
    answer = closing(derived | edited, full_lab(**options))
    assert not unended(answer)
    return answer


def without_rows(rows: Any) -> Any:
    return rows.iloc[:0]


def test_what_is_of_the_machine_does_not_carry_over() -> None:
    found = page()
    said = plain(text_of(found))
    assert (
        "At the lab's 44.7 MB and 12.5 GB/s, two need steps of 3.22 ms (all hidden) to 32.2 ms "
        "(none) for 90%."
    ) in said
    assert "times do not." in said
    assert not too_long(found)


@pytest.mark.parametrize(
    ("b_crit", "says"),
    [
        # B = 256 in place of 128: (1 + 400 / 256) / (1 + 400 / 128) = 0.621 of the steps.
        (
            400.0,
            "needs 37.9% fewer than 128, ideally 50.0%: two workers that double it reach the goal "
            "sooner "
            "only above 62.1% efficiency, at 90% 1.45× as soon; Q2's reached 83.3%, "
            "too little. Your critical batch size (here 400) differs",
        ),
        # 0.971 of the steps, at 90% of the pace.
        (
            8.0,
            "two workers that double it reach the goal later than one even at 90% efficiency "
            "(0.927×). Your",
        ),
    ],
)
def test_an_efficiency_is_worth_what_its_batch_saves_in_steps(b_crit: float, says: str) -> None:
    found = page(("goal_fit", where(b_crit=b_crit, maximal_start=300.0)))
    assert says in plain(text_of(found))
    assert not too_long(found)


def test_what_gpus_showed_holds_for_their_like() -> None:
    tidy = full_lab()
    gpus = tidy | {"runs": tidy["runs"].assign(device="NVIDIA H100 80GB HBM3 (700 W)")}
    found = closing(derived_lab(), gpus)
    assert "; times and memory limits hold for the same GPU, speed-ups and" in text_of(found)
    assert not too_long(found)


def test_the_scope_names_what_stands_in_the_place_of_the_lab() -> None:
    said = plain(page().short)
    assert said.startswith(
        "The lab asks for ResNet-18 on CIFAR-10 with b = 32, 128, 512 on 4 GPUs, over the bus of "
        "one machine; these stand in for it, with b = 32, 128, 512 on 4 CPU cores, over loopback"
    )
    assert "loopback within one machine" in said


def test_a_report_of_the_lab_itself_needs_no_carrying() -> None:
    found = page(("stand_ins", where(same=True)))
    assert found.sentence.startswith("This is the lab's own network")
    assert plain(found.short) == "That is what the lab asks for."


MODELS = {"Q2": "resnet_8x8", "H3": "mnist_cnn", "E2": "mlp"}


def gains(*cells: tuple[Any, ...]) -> Any:
    """Rows of the table of gains: the question, the step in ms and the speed-up of four workers.

    A fourth is the growth of the speed-up from the question's least batch, whose step is half as
    long, to this one, with an interval of 10% to either side.
    """
    rows = []
    for question, step_ms, speedup, *growth in cells:
        row = {"question": question, "model": MODELS[question], "workers": 4}
        largest = row | {"per_worker_batch": 32, "largest": True, "runs": "scaling-n1-b32"}
        largest |= {"step_s": step_ms / 1000, "added_step_s": step_ms / 1000 * (4 / speedup - 1)}
        largest |= around("speedup_ratio", speedup, 0.1)
        for ratio in growth:
            largest |= around("growth_ratio", ratio, 0.1)
            least = largest | {"per_worker_batch": 16, "largest": False, "step_s": step_ms / 2000}
            first = speedup if math.isnan(ratio) else speedup / ratio
            least |= around("speedup_ratio", first, 0.1)
            least |= {"added_step_s": step_ms / 2000 * (4 / first - 1)}
            rows.append(least | around("growth_ratio", float("nan")))
        rows.append(largest)
    return "worker_gains", lambda table: as_table(rows, GAINS)


LONGER = (
    "Why a long step: four workers gain 4 c/(c + a), c being one worker's step and a what they add."
)
LAW = "More workers gain speed where one worker's step is long: four "


def test_workers_gain_where_a_step_is_long_if_the_data_say_so() -> None:
    found = page(gains(("Q2", 40, 3.0), ("H3", 6, 1.0), ("E2", 1, 0.5)))
    assert plain(found.sentence).startswith(
        LAW + "gained 3.00× on steps of 40.0 ms (Q2), gained nothing measurable, 1.00×, on 6.00 ms "
        "(H3's steps) and ran at 0.500× on 1.00 ms (E2). At the lab's 44.7 MB and 12.5 GB/s, two "
        "need steps of 3.22 ms (all hidden) to 32.2 ms (none) for 90%."
    )
    assert found.weight == pytest.approx(2.7)  # the gain's lower end
    assert "hold on any machine; times do not." in plain(text_of(found))
    assert f"{LONGER} Elsewhere a is 13.3 ms (Q2), 18.0 ms (H3) and 7.00 ms (E2)." in plain(
        text_of(found)
    )
    assert not too_long(found)


def test_outcomes_of_one_kind_share_their_verb() -> None:
    longer = page(gains(("Q2", 40, 3.0), ("H3", 6, 2.0), ("E2", 1, 0.5)))
    assert plain(longer.sentence).startswith(
        LAW + "gained 3.00× on steps of 40.0 ms (Q2), 2.00× on 6.00 ms (H3's"
    )
    slower = page(gains(("Q2", 40, 3.0), ("H3", 6, 0.7), ("E2", 1, 0.5)))
    assert "ran at 0.700× on 6.00 ms (H3's steps) and at 0.500× on 1.00 ms" in plain(
        slower.sentence
    )


@pytest.mark.parametrize(
    ("of_q2", "of_e2", "paragraph"),
    [
        (
            1.5,
            2.0,
            # Of c = 20 ms a is c (4 / 2 - 1), of 40 ms c (4 / 3 - 1).
            "From b = 16 to 32 (Q2) c grows 2.00×, a from 20.0 ms to 13.3 ms and the speed-up "
            "1.50×; from 16 to 32 (E2) c grows 2.00× and the "
            "speed-up 2.00×. Elsewhere a is 18.0 ms (H3).",
        ),
        (1.05, 2.0, "a from 8.00 ms to 13.3 ms and the speed-up not measurably; from"),
        (1.05, 1.0, "(E2) c grows 2.00× and the speed-up not measurably. Elsewhere"),
        (float("nan"), 2.0, "to 13.3 ms; from 16 to"),
    ],
)
def test_within_a_network_the_batch_alone_makes_steps_longer(of_q2, of_e2, paragraph) -> None:
    found = page(gains(("Q2", 40, 3.0, of_q2), ("H3", 6, 1.0), ("E2", 1, 0.5, of_e2)))
    assert LONGER in plain(text_of(found))
    assert paragraph in plain(text_of(found))
    assert not too_long(found)


@pytest.mark.parametrize(
    ("growth", "of_h3", "rest"),
    [
        (3.0, 1.3, ", with b = 16 they gained nothing measurable, 1.00×, on 3.00 ms (Q2)."),
        (2.0, 1.9, ", with b = 16 they gained 1.50× on 3.00 ms (Q2)."),
        (2.0, 1.5, None),
        (2.0, 1.0, None),
    ],
)
def test_a_shorter_step_that_gains_more_than_one_of_another_network_is_named(
    growth, of_h3, rest
) -> None:
    found = page(gains(("Q2", 6, 3.0, growth), ("H3", 2, of_h3), ("E2", 1, 0.5)))
    said = plain(text_of(found))
    assert LONGER in said
    of_h3 = f" With b = 32 they gained {of_h3:.2f}× on 2.00 ms (H3's steps)"
    assert said.count(of_h3) == bool(rest)
    assert said.partition(of_h3)[2].startswith(rest or "")


def test_a_network_that_gains_less_with_longer_steps_takes_the_advice_back() -> None:
    found = page(gains(("Q2", 40, 3.0, 0.5), ("E2", 1, 0.5, 2.0)))
    assert LONGER not in text_of(found)
    assert "That more workers gain where one worker's step is longer is not shown" in found.sentence


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            [("Q2", 40, 3.0), ("E2", 1, 2.0)],
            "More workers gain however long one worker's step is: four gained 3.00× on steps of "
            "40.0 ms (Q2) and 2.00× on",
        ),
        (
            [("Q2", 40, 0.5), ("E2", 1, 1.0)],
            "More workers gain nowhere, however long one worker's step is: at the largest common "
            "b four ran at 0.500× on steps of 40.0 ms (Q2) and gained nothing "
            "measurable, 1.00×, on 1.00 ms (E2).",
        ),
        (
            [("Q2", 40, 3.0, 3.0), ("E2", 1, 2.0)],
            "At the largest common b more workers gain, with smaller ones not everywhere: "
            "four gained 3.00× on steps",
        ),
        (
            [("Q2", 40, 1.0, 0.5), ("E2", 1, 1.0)],
            "That more workers gain where one worker's step is longer is not shown: at the "
            "largest common b four gained nothing measurable, 1.00×, on steps of 40.0 ms (Q2)",
        ),
        (
            [("H3", 40, 0.5), ("Q2", 6, 1.0), ("E2", 1, 3.0)],
            "is not shown: at the largest common b four ran at 0.500× on steps of 40.0 ms (H3's "
            "steps), "
            "gained nothing measurable, 1.00×, on 6.00 ms (Q2) and gained 3.00× on",
        ),
    ],
)
def test_no_other_outcome_advises_long_steps(cells, says) -> None:
    found = page(gains(*cells))
    assert plain(found.sentence).partition(says)[1], plain(found.sentence)
    assert LONGER not in text_of(found)
    assert found.weight == 1
    assert not too_long(found)


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        (3.9, "Expect less than bytes allow: {} 3.90× {} (Q2; why: Q3.1)."),
        (3.05, "Whether bytes alone decide is open: {} 3.05× {} (Q2)."),
        (2.0, "Expect more than bytes seem to allow: {} 2.00× {} (Q2)."),
    ],
)
def test_the_formula_of_the_bytes_is_tried_on_what_was_timed(bound: float, says: str) -> None:
    name, edit = gains(("Q2", 40, 3.0), ("E2", 1, 0.5))
    bounds = {"bound_ratio": bound, "latency_bound_ratio": 1.8}
    found = page((name, lambda rows: edit(rows).assign(**bounds)))
    words = "here they allow four workers with b = 32", "(with latency 1.80×); measured was 3.00×"
    assert says.format(*words) in plain(text_of(found))
    unknown = page((name, lambda rows: edit(rows).assign(**dict.fromkeys(bounds, math.nan))))
    assert "here they allow" not in plain(text_of(unknown))


def test_a_bound_is_of_the_bytes_of_its_own_network() -> None:
    rows = derived_lab()["worker_gains"].query("largest").set_index("question")
    fit = derived_lab()["link"].set_index("workers").loc[2]
    alpha_s, link = fit["alpha_s"], fit["beta_bytes_per_s"]
    runs = full_lab()["runs"].set_index("run")
    for question, row in rows.iterrows():
        size = runs.loc[row["runs"].split()[-1], "payload_bytes"]  # of two workers all is sent once
        step_s = row["step_s"]
        assert row["bound_ratio"] == pytest.approx(2 * step_s / (step_s + size / link)), question
        exchange_s = 2 * alpha_s + size / link  # two rounds
        assert row["latency_bound_ratio"] == pytest.approx(2 * step_s / (step_s + exchange_s))


def test_one_question_alone_shows_no_order() -> None:
    found = page(gains(("Q2", 40, 3.0)))
    assert "c/(c + a)" not in text_of(found)
    assert plain(found.sentence).startswith(
        "At the lab's 44.7 MB and 12.5 GB/s, two workers need steps of 3.22 ms"
    )


def test_a_gain_is_of_each_batch_that_both_ran() -> None:
    every = derived_lab()["worker_gains"]
    sizes = {question: list(own["per_worker_batch"]) for question, own in every.groupby("question")}
    assert sizes == {"Q2": [16, 32, 128, 512], "H3": [128], "E2": [16, 64, 256]}
    rows = every[every["largest"]]
    assert list(rows["per_worker_batch"]) == [512, 128, 256]
    weak = derived_lab()["scaling"].query("kind == 'weak' and workers == 2 and nodes == 1")
    assert rows.set_index("question").loc["Q2", "speedup_ratio"] == pytest.approx(
        weak.sort_values("per_worker_batch")["speedup_ratio"].iloc[-1]
    )
    grid = derived_lab()["step_grid"].set_index(["workers", "per_worker_batch"])
    chosen = rows.set_index("question").loc["E2"]
    n, b = chosen["workers"], chosen["per_worker_batch"]
    alone, several = grid.loc[(1, b), "step_s"], grid.loc[(n, b), "step_s"]
    assert chosen["step_s"] == pytest.approx(alone)
    assert chosen["speedup_ratio"] == pytest.approx(n * alone / several)
    assert chosen["workers"] == 2  # four share devices
    # By launch, of steps of 1.32 and 6.12 ms alone and 3.32 and 8.12 ms of two.
    assert chosen["growth_ratio"] == pytest.approx((6.12 / 1.32) / (8.12 / 3.32))
    assert rows.set_index("question").loc["Q2", "growth_ratio"] == pytest.approx(1.0)


def test_where_all_numbers_of_workers_share_devices_the_largest_is_compared() -> None:
    lab, shared = derived_lab(), where(oversubscribed=True)
    edited = {name: shared(lab[name]) for name in ("scaling", "step_grid")}
    names = tables()["worker_gains"].inputs[:-1]
    rows = tables()["worker_gains"](*((lab | edited)[name] for name in names), full_lab()["runs"])
    assert set(rows["workers"]) == {4}


def test_a_training_gains_by_its_steps_without_its_evaluations() -> None:
    rows = derived_lab()["worker_gains"].set_index("question")
    one, two = (
        derived_lab()["assignment"].query(f"rule == 'linear' and workers == {n}").iloc[0]
        for n in (1, 2)
    )
    assert rows.loc["H3", "speedup_ratio"] == pytest.approx(2 * two["epochs_efficiency_frac"])
    steps_s = one["train_s"] - one["evaluation_s"]
    assert rows.loc["H3", "step_s"] == pytest.approx(steps_s / one["steps"])


def test_the_epochs_with_the_assignments_batch_are_steps_of_h3_too() -> None:
    rows = derived_lab(assignment_batch=32)["worker_gains"].query("question == 'H3'")
    assert list(rows["per_worker_batch"]) == [32, 128]
    # 6.4 s for 10,000 / 128 steps of one worker; two take 0.6 of its time.
    last = rows.iloc[-1]
    assert last["step_s"] == pytest.approx(6.4 * 128 / 10_000)
    assert last["speedup_ratio"] == pytest.approx(1 / 0.6)
    assert last["growth_ratio"] == pytest.approx(1 / 0.6 / rows["speedup_ratio"].iloc[0])
    found = page(assignment_batch=32)
    assert "H3 is its epochs with b = 32 and 128, without evaluations." in text_of(found)


def scaled(of_q4: float, of_h5: float, of_s2: float) -> str:
    """The page's text where scaling the rate changed accuracies by so much.

    of_s2: at the largest batch whose error the rule keeps.
    """
    apart = "test_accuracy_difference_frac"
    in_q4 = where({"arm": "linear_scaling", "base": "large"}, **around(apart, of_q4, 0.01))
    in_h5 = where({"rule": "linear", "workers": 4}, **around("fixed_difference_frac", of_h5, 0.01))
    fixed = {"rule": "fixed", "global_batch": 256}
    in_s2 = where(fixed, **around("linear_difference_frac", of_s2, 0.01))
    edits = ("large_batch", in_q4), ("assignment", in_h5), ("lr_scaling", in_s2)
    return plain(text_of(page(*edits)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            (0.05, 0.04, 0.0),
            "Try the scaled rate, which kept S2's error up to 8 times the batch, beside the "
            "unscaled one (the lab's two with b = 128: 0.2 and 0.1). Scaling helped at 16× "
            "(Q4.2, from 0.1) and 4× (H5, from 0.001 with Adam) and cost accuracy at 32× (S2, "
            "zero gains, "
            "from 0.5).",
        ),
        (
            (0.05, -0.04, 0.0),
            "rate (the lab's two with b = 128: 0.2 and 0.1); neither was always better. "
            "Scaling helped at 16× (Q4.2, from 0.1) and cost accuracy at 4× (H5, from 0.001 with "
            "Adam) and 32× (S2, zero gains, from 0.5).",
        ),
        (
            (-0.05, -0.04, -0.03),
            "0.1). Scaling cost accuracy at 16× (Q4.2, from 0.1), 4× (H5, from 0.001 with Adam), "
            "8× "
            "(S2, zero gains, from 0.5) and 32× (S2, zero gains, from 0.5).",
        ),
    ],
)
def test_both_rates_are_to_be_tried_and_what_scaling_did_stands_beside(changes, says) -> None:
    assert says in scaled(*changes)


def test_a_rate_that_scaling_nowhere_made_worse_is_scaled() -> None:
    unlost = "lr_scaling_elbow", where({"rule": "linear"}, lost_batch=None)
    gained = where({"rule": "linear", "workers": 4}, **around("fixed_difference_frac", 0.04, 0.01))
    better = where(
        {"arm": "linear_scaling", "base": "large"},
        **around("test_accuracy_difference_frac", 0.05, 0.01),
    )
    said = plain(text_of(page(unlost, ("assignment", gained), ("large_batch", better))))
    assert "up to 8 times the batch, beside the unscaled one (the lab's two" in said
    unsaid = page(
        ("lr_scaling_elbow", without_rows), ("assignment", gained), ("large_batch", better)
    )
    assert "Scale the rate with the batch. Scaling helped at 16×" in plain(text_of(unsaid))


def test_scaling_goes_no_farther_than_s2_kept_the_error_though_nothing_is_set_beside_it() -> None:
    """The rule loses at twice the reference, where no rate was left unscaled to compare with."""
    at_once = where({"rule": "linear"}, elbow_batch=32, elbow_ratio=1.0, lost_batch=64)
    said = plain(text_of(page(("lr_scaling_elbow", at_once))))
    assert "Scale the rate" not in said
    assert "in S2 the scaled rate raised the error from 2 times on" in said


def test_rates_are_set_side_by_side_with_their_own_runs() -> None:
    (rates,) = [one.rows for one in page().tables if "rate scaled as the batch" in one.caption]
    assert [(row["question"], row["optimizer"]) for row in rates] == [
        ("Q4.2", "SGD"),
        ("H5", "Adam"),
        ("S2", "SGD"),
        ("S2", "SGD"),
    ]
    runs = rates[1]["scaled_difference_frac"].runs
    assert any("linear-n4" in run for run in runs)
    assert any("fixed-n4" in run for run in runs)
    assert not any("n1" in run for run in runs)


def test_lars_is_not_the_rate_of_the_reference() -> None:
    lars = where({"optimizer": "lars"}, role="arm", global_batch=256)
    assert text_of(page(("lr_scaling", lars))).count("(S2") == text_of(page()).count("(S2")


@pytest.mark.parametrize(
    ("of_s2", "of_q4", "of_gains", "says"),
    [
        (
            -0.4,
            -0.02,
            0.0,
            "Gradual warm-up gained 40.0 points in S2 (gains of one) and cost 2.00 in Q4.2.",
        ),
        (0.4, 0.0, 0.0, "Gradual warm-up cost 40.0 points in S2 (gains of one)."),
        (0.0, 0.02, 0.0, "Gradual warm-up gained 2.00 points in Q4.2."),
        (
            0.0,
            0.0,
            -0.2,
            "Zero gains beside warm-up cost 20.0 points in Q4.2: train with and without them.",
        ),
        (
            0.0,
            0.02,
            0.2,
            "Gradual warm-up gained 2.00 points in Q4.2; zero gains beside warm-up gained 20.0 "
            "points in Q4.2.",
        ),
        (
            0.4,
            -0.02,
            -0.2,
            "Gradual warm-up cost 40.0 points in S2 (gains of one) and 2.00 in Q4.2; zero gains "
            "beside warm-up "
            "cost 20.0 points in Q4.2: train with and without them.",
        ),
        (0.0, 0.0, 0.0, None),
    ],
)
def test_what_warm_up_and_zero_gains_do_at_the_scaled_rate_follows_s2_and_q4_2(
    of_s2, of_q4, of_gains, says
) -> None:
    error = where({"claim": "gradual_none_unit"}, **around("measured", of_s2))
    level = where({"claim": "gamma_large"}, **around("measured", 0.0))
    apart = "test_accuracy_difference_frac"
    gains = [
        where({"arm": "warmup", "base": "linear_scaling"}, **around(apart, of_q4)),
        where({"arm": "zero_gamma", "base": "warmup"}, **around(apart, of_gains)),
    ]
    edits = ("published_lr_scaling", both(error, level)), ("large_batch", both(*gains))
    found = page(*edits)
    assert (says in plain(text_of(found))) if says else ("zero gains beside" not in text_of(found))
    rows = [one.rows for one in found.tables if "at the scaled rate with gradual" in one.caption]
    measured = [value for value in (-of_s2, of_q4, of_gains) if value]
    assert [row["gain_frac"].value for own in rows for row in own] == pytest.approx(measured)


def test_where_no_two_rates_were_compared_none_is_advised() -> None:
    without = ("large_batch", "lr_scaling_elbow", "assignment")
    assert "Try the scaled" not in text_of(page(*((name, without_rows) for name in without)))


def test_a_step_of_one_worker_is_of_the_launches_that_the_speedup_is_of() -> None:
    lab = derived_lab()
    slower = lab["scaling"]["base_epoch_s"].mask(lab["scaling"]["workers"] > 1, 9.0)
    edited = lab["scaling"].assign(base_epoch_s=slower)
    rows = tables()["worker_gains"](
        edited, *(lab[name] for name in tables()["worker_gains"].inputs[1:-1]), full_lab()["runs"]
    )
    q2 = rows[rows["largest"]].set_index("question").loc["Q2"]
    assert q2["step_s"] == pytest.approx(9.0 * q2["per_worker_batch"] / 10_000)  # of D samples


def test_a_study_that_was_left_out_is_not_spoken_of() -> None:
    left_out = ("lr_scaling_elbow", "published_lr_scaling", "sweep_trend", "goal_fit")
    unproved = "lab_cells", where(rule_holds="unknown")
    said = text_of(page(unproved, *((name, without_rows) for name in left_out)))
    assert not {"S1", "S2", "Q1"} & set(re.findall(r"\b[A-Z]\d\b", said))
    assert "44.7 MB" in said


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ({"rule_holds": "kept"}, "(the lab's two with b = 128: 0.2 and 0.1)"),
        ({"rule_holds": "undecided"}, None),
        ({"rule_holds": "kept", "batch_ratio": 1.0}, None),
    ],
)
def test_a_start_is_the_largest_batch_that_scaling_is_shown_to_keep(edits, says) -> None:
    said = plain(text_of(page(("lab_cells", where(**edits)))))
    assert ("(the lab's" in said) == bool(says)
    assert (says or "rate; neither was always better") in said


def test_without_a_bound_of_the_batch_the_largest_that_keeps_the_error_is_the_start() -> None:
    kept = "lab_cells", where(rule_holds="kept")
    found = page(kept, ("goal_fit", where(b_crit=math.nan)))
    assert "(the lab's four with b = 512: 1.6 and 0.1)" in plain(text_of(found))
    assert not too_long(found)


def test_nothing_measured_leaves_the_formulas() -> None:
    empty = {name: rows.iloc[:0] for name, rows in full_lab().items()}
    found = closing(derived_of(empty), empty)
    assert found.sentence.startswith("Bytes carry over, times do not; by formula two")
    assert "to be checked there" in text_of(found)


def cells(found: Answer) -> list[dict[str, Any]]:
    return next(one.rows for one in found.tables if "The lab's cells" in one.caption)


def test_a_run_of_the_lab_has_its_speed_ups_beside_the_formulas() -> None:
    before = cells(page())
    after = cells(page(("lab_cells", where(speedup_ratio=1.5, checked="measured"))))
    captions = [one.caption for one in page().tables]
    assert any(
        "at the same multiple of the reference batch (B = 32, 128 of the lab)." in one
        for one in captions
    )
    assert not any("speedup_ratio" in row for row in before)
    assert not any("checked" in row for row in before)
    assert {(row["speedup_ratio"], row["checked"]) for row in after} == {(1.5, "measured")}
    assert [row["transfer_s"] for row in after] == [row["transfer_s"] for row in before]


@pytest.mark.parametrize(
    ("lr", "on_validation", "rule"),
    [
        (math.nan, True, "raised the error here"),
        (0.1, True, "raised the error here; the reference's rate kept it"),
        (0.1, False, "raised the error here; the reference's rate kept it on test data alone"),
    ],
)
def test_where_the_rule_lost_the_error_the_reference_s_rate_stands_if_it_kept_it(
    lr, on_validation, rule
) -> None:
    lost = where({"per_worker_batch": 512}, rule_holds="lost", lr=lr)
    learnt = where({"global_batch": 1024}, kept_on_validation=on_validation)
    found = page(("lab_cells", lost), ("lr_scaling", learnt))
    assert {row["rule_holds"] for row in cells(found) if row["per_worker_batch"] == 512} == {rule}
    caption = next(one.caption for one in found.tables if "The lab's cells" in one.caption)
    assert ("–: no rate was shown to keep the error." in caption) == math.isnan(lr)


def _fastest(share: float) -> Edit:
    """b = 512 trains the fastest, the first so large a share of that."""
    return both(
        where(**around("samples_per_s", 9.0), **around("rate_to_best_ratio", 0.1)),
        where(
            {"per_worker_batch": 512},
            **around("samples_per_s", 99.0),
            **around("rate_to_best_ratio", 1.0, 0.0),
        ),
        where({"per_worker_batch": 128}, **around("rate_to_best_ratio", share, 0.05)),
    )


def test_the_batch_that_keeps_the_accuracy_stands_beside_that_of_the_sweep() -> None:
    words = "; H1, by accuracy too, takes b = 512."
    slower = _fastest(0.5)
    assert words in text_of(page(("assignment_utilisation", slower)))
    assert "by accuracy too" not in text_of(page(("assignment_utilisation", _fastest(0.99))))
    crowd = where(device="CPU core", compute_frac=0.9, utilisation_frac=0.5)
    crowded = page(("assignment_utilisation", both(slower, crowd)))
    assert "by accuracy too" not in text_of(crowded)


def test_what_the_batch_that_h1_advises_would_gain_is_predicted_where_h3_gains_nothing() -> None:
    """99 samples/s of b = 512 are 5.17 s a step, to which four workers add 6 ms (4 / 1.0 - 1)."""
    words = (
        " With H1's b = 512, a step of 5.17 s, the same a would give H3's four 3.99× (predicted, "
        "not run)."
    )
    advised = "assignment_utilisation", _fastest(0.5)
    level = gains(("Q2", 40, 3.0), ("H3", 6, 1.0), ("E2", 1, 0.5))
    assert words in plain(text_of(page(level, advised)))
    for faster in (gains(("Q2", 40, 3.0), ("H3", 6, 1.5), ("E2", 1, 0.5)), None):
        others = (
            [advised, faster] if faster else [level, ("assignment_utilisation", _fastest(0.99))]
        )
        assert "the same a would give" not in text_of(page(*others))


def test_without_a_measured_number_of_workers_the_batch_that_h1_advises_is_predicted() -> None:
    level = gains(("Q2", 40, 3.0), ("H3", 6, 1.0), ("E2", 1, 0.5))
    for lacking in (where({"workers": 4}, status="failed"), where({"workers": 1}, status="failed")):
        edits = ("assignment_assigned", lacking), ("assignment_utilisation", _fastest(0.5))
        said = plain(text_of(page(level, *edits, assignment_batch=32)))
        assert "With H1's b = 512, a step of 5.17 s, the same a would" in said
        assert "(predicted, not run)" in said


def test_speed_ups_are_spoken_of_where_some_are_measured() -> None:
    words = "Speed-ups are null until they are measured there."

    def caption(found: Answer) -> str:
        return next(one.caption for one in found.tables if "The lab's cells" in one.caption)

    one = where({"workers": 2, "per_worker_batch": 32}, speedup_ratio=1.5, checked="measured")
    assert words in caption(page(("lab_cells", one)))
    assert words not in caption(page())


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ("falls then flat", "gets no measurably shorter: here beyond b = 128 (Q1)"),
        (
            "falls then undecided",
            "gets no measurably shorter; here it did up to b = 128, beyond it undecided (Q1).",
        ),
        ("falls then rises", "gets no measurably shorter: here beyond b = 128 (Q1)"),
        ("rises", "gets no measurably shorter: here beyond b = 128 (Q1)"),
        (
            "falls",
            "gets no measurably shorter; here it still did at b = 512, the largest timed (Q1).",
        ),
        ("same", "gets no measurably shorter."),
        ("unknown", "gets no measurably shorter."),
        ("mixed", "gets no measurably shorter."),
        ("single", "gets no measurably shorter."),
    ],
)
def test_a_batch_is_named_where_the_sweep_shows_one(shape, says) -> None:
    edit = where(shape=shape, knee_batch=128, last_batch=512)
    assert says in text_of(page(("sweep_trend", edit)))


@pytest.mark.parametrize(
    ("fit", "says"),
    [
        (
            {},
            # 1 - (1 + 40.1 / 256) / (1 + 40.1 / 128) of the steps.
            "A larger global batch saves ever fewer steps. By S1's fit (one hidden layer, "
            "plain SGD) B = 256 needs 11.9% fewer than 128, ideally 50.0%: two workers that "
            "double it "
            "reach the goal sooner only above 88.1% efficiency, at 90% 1.02× as soon; Q2's "
            "reached 83.3%, too little. Your critical batch size (here 40.1) differs: "
            "measure its noise scale (here ",
        ),
        (
            {"noise_scale": math.nan, "noise_over_b_crit": math.nan},
            "too little. Your critical batch size (here 40.1) differs: measure it.",
        ),
        ({"b_crit": math.nan}, None),
    ],
)
def test_the_critical_batch_size_bounds_the_global_batch(fit, says) -> None:
    said = plain(text_of(page(("goal_fit", where({"model": "mlp", "optimizer": "sgd"}, **fit)))))
    assert ("By S1's fit" in said) == bool(says)
    assert (says or "1. Give") in said
    unproved = page(("lab_cells", where(rule_holds="undecided")))
    assert (
        "saves at most a quarter beyond 40.1, the critical batch size (one hidden layer, plain "
        "SGD). Your critical batch size differs: measure"
    ) in plain(text_of(unproved))
    steady = ("goal_fit", where(b_crit=math.nan)), ("goal_searches", where(shape="proportional"))
    assert (
        "by a critical batch size; up to 1 024 there was none (S1, one hidden layer, plain SGD)."
        in plain(text_of(page(*steady)))
    )


def steps(found: Answer) -> list[dict[str, Any]]:
    return next(one.rows for one in found.tables if "are 90% efficient" in one.caption)


def test_the_step_of_one_that_bytes_allow_is_of_nothing_hidden_and_of_all() -> None:
    found = page()
    columns = "hidden_step_s", "affordable_step_s", "reached_step_s"
    written = [[round(row[one], 5) for one in columns] for row in steps(found)]
    assert written == [[0.00322, 0.03218, 0.03458], [0.00483, 0.04827, 0.05226]]


def test_the_bound_is_of_the_momentum_that_the_lab_trains_with_where_s1_has_it() -> None:
    renamed = where({"optimizer": "nesterov"}, optimizer="momentum")
    searches = "goal_searches", renamed
    said = plain(text_of(page(searches, ("goal_fit", renamed))))
    assert "By S1's fit (one hidden layer, momentum as the lab's) B = " in said
    assert "(here 121)" in said
    none = "goal_fit", both(renamed, where({"optimizer": "momentum"}, b_crit=math.nan))
    assert "By S1's fit (one hidden layer, plain SGD) B = " in plain(text_of(page(searches, none)))


def test_a_bound_of_another_momentum_is_not_called_the_labs() -> None:
    leads = both(where(lead=False), where({"model": "mlp", "optimizer": "nesterov"}, lead=True))
    assert "By S1's fit (one hidden layer) B = " in plain(text_of(page(("goal_searches", leads))))


def test_predictions_are_as_good_as_they_came_out() -> None:
    lines = "Predictions for more workers missed a step by up to 11.6% (Q3.1: too short)"
    found = page(("step_prediction", without_rows))
    assert lines + "." in plain(text_of(found))
    farther = "step_prediction", where({"workers": 4}, error_frac=-0.442)
    assert lines + " and 44.2% (E2: too short)." in plain(text_of(page(farther)))
    untried = page(("prediction", without_rows), ("step_prediction", without_rows))
    assert "Predictions for" not in text_of(untried)


def test_workers_that_share_a_device_slow_each_other_down_where_that_is_measured() -> None:
    words = "as here, slow each other down"
    assert words in text_of(page())
    open_ended = where({"workers": 4}, contention_s_low=-0.1)
    assert words not in text_of(page(("communication", open_ended)))


def test_the_least_epoch_is_given_at_the_share_of_a_link_that_was_reached() -> None:
    two = where({"workers": 2}, reached_frac=0.5, reached_step_s=0.101)
    said = plain(text_of(page(("lab_cells", two))))
    assert (
        "that the largest all-reduces reached here (50.0% at N = 2 and 92.4% at N = 4, over "
        "loopback within one machine)." in said
    )
    unknown = page(("lab_cells", where(reached_frac=math.nan, reached_step_s=math.nan)))
    assert "share of plain TCP" not in text_of(unknown)
    assert "reached_step_s" not in steps(unknown)[0]


def test_what_buffers_are_for_is_answered_in_two_questions() -> None:
    assert "and the use of buffers (Q6 and Q7) hold on any machine; times do not." in text_of(
        page()
    )
    assert "the use of buffers (Q7) hold on any machine; times do not." in text_of(
        page(("wire", without_rows))
    )
    lab = page(("stand_ins", where(same=True)))
    assert "on any machine" not in text_of(lab)


def test_compare_is_for_one_configuration_on_both_machines() -> None:
    assert "and this configuration: python workflow/scripts/compare.py HERE THERE" in text_of(
        page()
    )
    same = page(("stand_ins", where(same=True)))
    assert "compare.py" not in text_of(same)


@pytest.mark.parametrize(
    ("speedup", "width", "rest"),
    [
        (1.9, 0.05, "95.0%, enough."),
        (1.5, 0.05, "75.0%, too little."),
        (1.76, 0.2, "88.0% (70.4 to 105.6), undecided."),
    ],
)
def test_an_efficiency_is_set_beside_what_a_sooner_goal_takes(speedup, width, rest) -> None:
    """Two workers with B = 256 make 0.881 of the steps of one with 128, by S1's fit."""
    q2 = where({"question": "Q2", "largest": True}, **around("speedup_ratio", speedup, width))
    found = page(("worker_gains", q2))
    assert f"at 90% 1.02× as soon; Q2's reached {rest}" in plain(text_of(found))
    assert not too_long(found)
