"""The plan: which runs a configuration asks for, and which of them an edit makes stale."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from dpscale.config import Config
from dpscale.plan import Spec
from dpscale.studies import configured_rows, planned_runs, read_config
from dpscale.studies.completion import earlier_runs
from dpscale.studies.large_batch.plan import with_largest_batch
from dpscale.studies.study import Earlier
from dpscale.studies.sweep.boundary import bounds, next_probe, search

FOLDER = Path(__file__).resolve().parents[2] / "config"
DEFAULT = read_config(FOLDER / "config.yaml")
LAB = read_config(FOLDER / "lab.yaml")


def edited(section: str, **fields: Any) -> Config:
    """The embedded default with fields of a section changed."""
    changed = getattr(DEFAULT, section).model_copy(update=fields)
    return DEFAULT.model_copy(update={section: changed})


def stale_after(config: Config) -> set[str]:
    before, after = planned_runs(DEFAULT), planned_runs(config)
    return {run for run in before | after if before.get(run) != after.get(run)}


def cells(study: str, config: Config = DEFAULT) -> set[tuple[int, int | None]]:
    return {
        (spec.workers, spec.per_worker_batch)
        for spec in planned_runs(config).values()
        if spec.study == study
    }


def test_the_lab_sweeps_32_times_powers_of_4_and_one_batch_beyond_the_dataset() -> None:
    assert cells("sweep", LAB) == {
        (1, 32),
        (1, 128),
        (1, 512),
        (1, 2048),
        (1, 8192),
        (1, 32768),
        (1, 131072),
    }


def test_each_batch_of_the_sweep_has_launches_of_its_own_number() -> None:
    def of_16(config: Config) -> list[str]:
        return [run for run in planned_runs(config) if f"{run}-".startswith("sweep-b16-")]

    assert of_16(edited("sweep", launches=2)) == ["sweep-b16", "sweep-b16-launch2"]
    assert len(of_16(edited("sweep", launches=None))) == DEFAULT.launches


def test_the_lab_scales_over_1_2_4_workers_and_32_128_512_in_both_kinds() -> None:
    weak = {(n, b) for n in (1, 2, 4) for b in (32, 128, 512)}
    strong = {(2, 16), (2, 64), (2, 256), (4, 8), (4, 32), (4, 128)}
    assert cells("scaling", LAB) == weak | strong


def test_an_edited_learning_rate_makes_only_trainings_stale() -> None:
    stale = stale_after(edited("training", lr=0.2))
    planned = planned_runs(DEFAULT).items()
    trainings = {run for run, spec in planned if spec.kind == "training"}
    own_rate = {run for run, spec in planned if spec.study == "assignment"}
    assert stale == trainings - own_rate


def test_an_edited_study_makes_only_its_own_runs_stale() -> None:
    stale = stale_after(edited("replicas", epochs=7))
    assert stale == {run for run in planned_runs(DEFAULT) if run.startswith("replicas-")}


def test_an_edited_title_makes_nothing_stale() -> None:
    assert stale_after(edited("report", title="Another")) == set()


def test_an_edited_margin_of_searches_is_a_row_and_makes_nothing_stale() -> None:
    config = edited("steps_to_goal", equivalent_factor=3.0)
    assert configured_rows(config)["goal_margins"] == [{"equivalent_factor": 3.0}]
    assert stale_after(config) == set()


def test_a_study_set_to_null_is_left_out() -> None:
    config = DEFAULT.model_copy(update={"scaling": None, "ledger": None})
    assert {spec.study for spec in planned_runs(config).values()} == {
        "sweep",
        "boundary",
        "large_batch",
        "replicas",
        "data_parallel",
        "assignment",
        "assignment_split",
        "assignment_assigned",
        "assignment_doubled",
        "lr_scaling",
        "model_averaging",
        "local_sgd",
        "steps_to_goal",
        "strategies",
        "choose",
    }


def found(largest_fit_batch: int | None) -> Earlier:
    """What is known of 1,293 images once the boundary was searched."""
    boundary = pd.DataFrame({"largest_fit_batch": [largest_fit_batch]}, dtype="Int64")
    return Earlier(pd.DataFrame(), {"boundary": boundary}, 1293, pytest.fail)


def test_the_largest_batch_is_cut_to_keep_the_updates_of_an_epoch() -> None:
    spec = planned_runs(DEFAULT)["large_batch-large-n4"]
    assert (spec.per_worker_batch, spec.completed_by is None) == (None, False)
    # 1,293 images over 4 workers and 4 updates an epoch: 80 images a worker and update.
    resolved = with_largest_batch(spec, found(2435))
    assert (resolved.per_worker_batch, resolved.training.lr) == (80, 0.02)
    # Where memory is the limit a tenth of it is left to DDP: 45 of 50.
    assert with_largest_batch(spec, found(50)).per_worker_batch == 45


def test_linear_scaling_multiplies_the_rate_by_the_ratio_of_global_batches() -> None:
    spec = planned_runs(DEFAULT)["large_batch-linear_scaling-n4"]
    resolved = with_largest_batch(spec, found(2435))
    assert resolved.training.lr == pytest.approx(0.02 * (4 * 80) / (4 * 16))


def test_the_small_batch_is_trained_at_the_rate_of_the_large_one_too() -> None:
    spec = planned_runs(DEFAULT)["large_batch-small_scaled_rate-n4"]
    resolved = with_largest_batch(spec, found(2435))
    assert (resolved.per_worker_batch, spec.completed_by is None) == (16, False)
    assert resolved.training.lr == pytest.approx(0.02 * (4 * 80) / (4 * 16))
    small = planned_runs(DEFAULT)["large_batch-small-n4"]
    assert (small.training.lr, small.completed_by) == (0.02, None)
    assert resolved.training.model_copy(update={"lr": 0.02}) == small.training
    assert (resolved.seeds, resolved.model) == (small.seeds, small.model)


def test_the_small_batch_is_trained_at_its_own_rate_alone_without_linear_scaling() -> None:
    plan = planned_runs(edited("large_batch", remedies=("warmup", "more_epochs")))
    assert [spec.arm for spec in plan.values() if spec.study == "large_batch"] == [
        "small",
        "large",
        "warmup",
        "more_epochs",
    ]


def test_where_no_batch_fits_the_run_itself_is_to_say_why() -> None:
    spec = planned_runs(DEFAULT)["large_batch-large-n4"]
    resolved = with_largest_batch(spec, found(None))
    assert resolved.per_worker_batch == 1


def test_a_large_batch_that_is_given_is_whole_when_it_is_planned() -> None:
    plan = planned_runs(edited("large_batch", large_per_worker_batch=64))
    for arm, batch in (("linear_scaling", 64), ("small_scaled_rate", 16)):
        spec = plan[f"large_batch-{arm}-n4"]
        assert (spec.per_worker_batch, spec.completed_by) == (batch, None)
        assert spec.training.lr == pytest.approx(0.02 * 64 / 16)


def test_a_spec_is_completed_by_the_runs_that_its_completion_reads() -> None:
    plan = planned_runs(DEFAULT)
    sweep = [run for run, spec in plan.items() if spec.study == "sweep"]
    assert earlier_runs(plan["boundary"], plan) == sweep
    for arm in ("small_scaled_rate", "large"):
        assert earlier_runs(plan[f"large_batch-{arm}-n4"], plan) == [*sweep, "boundary"]
    goal = earlier_runs(plan["choose-goal-n2"], plan)
    assert {plan[run].kind for run in goal} == {"search", "grid"}
    assert {(plan[run].model.name, plan[run].arm) for run in goal} == {("mlp", "momentum")}
    assert earlier_runs(plan["scaling-n2-b32"], plan) == []


def test_an_edit_of_what_a_run_does_not_use_leaves_it_fresh() -> None:
    assert stale_after(edited("hardware", devices=2)) == set()
    augmented = stale_after(edited("data", augment=True))
    assert augmented == {
        run
        for run in planned_runs(DEFAULT)
        # S1 and S4 say themselves whether their images are augmented
        if not run.startswith(
            (
                "sweep-",
                "boundary",
                "ledger-",
                "model_averaging-learners-",
                "local_sgd-",
                "steps_to_goal-",
                "strategies-",
                "choose-",
            )
        )
    }


def searched(true_boundary: int, outcomes: dict[int, list[bool]]) -> dict[int, list[bool]]:
    """Outcomes of a whole search where every batch up to the boundary fits."""
    while batch := next_probe(
        outcomes, train_samples=10_000, resolution_frac=0.05, confirmations=2
    ):
        outcomes.setdefault(batch, []).append(batch <= true_boundary)
    return outcomes


def test_the_boundary_is_bisected_to_the_resolution_and_both_sides_confirmed_twice() -> None:
    outcomes = searched(3000, {512: [True], 2048: [True], 8192: [False]})
    fits, failed = bounds(outcomes)
    assert fits is not None
    assert failed is not None
    assert fits <= 3000 < failed
    assert failed - fits <= 0.05 * failed
    assert outcomes[fits] == [True] * 3
    assert outcomes[failed] == [False] * 3


def test_a_sweep_that_never_fails_ends_at_the_dataset_confirmed_twice() -> None:
    outcomes = searched(10**9, {32: [True], 8192: [True]})
    assert bounds(outcomes) == (10_000, None)
    assert outcomes[10_000] == [True] * 3


def test_a_device_that_fits_nothing_has_no_largest_batch() -> None:
    assert bounds(searched(0, {32: [False]}))[0] is None


def test_batches_that_fit_in_some_processes_only_lie_between_the_bounds() -> None:
    outcomes = {2048: [True], 2100: [True, True, False], 2200: [True], 8192: [False]}
    assert bounds(outcomes) == (2048, 8192)
    assert next_probe(outcomes, train_samples=10_000, resolution_frac=0.05, confirmations=2) == 2048
    outcomes[2048] = [True] * 3
    assert next_probe(outcomes, train_samples=10_000, resolution_frac=0.05, confirmations=2) == 8192
    outcomes[8192] = [False] * 3
    assert next_probe(outcomes, train_samples=10_000, resolution_frac=0.05, confirmations=2) is None


def swept(**columns: Any) -> pd.DataFrame:
    """The tidy table of a sweep whose batch of 256 fits, and whose batch of 1,024 does not."""
    rows = {"run": ["sweep-b256", "sweep-b1024"], "per_worker_batch": [256, 1024]}
    rows |= {"status": ["complete", "out_of_memory"], "train_samples": [1293, 1293], **columns}
    return pd.DataFrame(rows)


def test_a_search_probes_timed_runs_and_notes_what_became_of_each() -> None:
    planned, probed = planned_runs(DEFAULT)["boundary"], []

    def probe(spec: Spec) -> SimpleNamespace:
        probed.append(spec)
        fits = (spec.per_worker_batch or 0) <= 300
        return SimpleNamespace(status="complete" if fits else "out_of_memory")

    spec = search(planned, Earlier(swept(), {}, 1293, probe))
    assert [one.per_worker_batch for one in spec.protocol.probes] == [
        one.per_worker_batch for one in probed
    ]
    assert {one.kind for one in probed} == {"timed"}
    assert len({one.run for one in probed}) == len(probed) > 3
    assert spec.per_worker_batch == 279


def test_without_a_device_there_is_nothing_to_search() -> None:
    nothing = swept(status="unavailable", message="no CUDA device")
    spec = search(planned_runs(DEFAULT)["boundary"], Earlier(nothing, {}, 1293, pytest.fail))
    assert spec.withheld == "no CUDA device"


def test_a_search_at_an_edge_that_is_not_sharp_ends() -> None:
    chance = random.Random(0)
    outcomes = {512: [True], 2048: [True], 8192: [False]}
    tried = 0
    while batch := next_probe(
        outcomes, train_samples=10_000, resolution_frac=0.05, confirmations=2
    ):
        sure = 1.0 if batch < 2400 else 0.0 if batch > 3200 else 0.5
        outcomes.setdefault(batch, []).append(chance.random() < sure)
        tried += 1
        assert tried < 60
    fits, fails = bounds(outcomes)
    assert fits is not None
    assert fails is not None
    assert outcomes[fits] == [True] * 3
    assert outcomes[fails] == [False] * 3


ASSIGNMENT = read_config(FOLDER / "assignment.yaml")


def of_assignment(config: Config) -> dict[str, Any]:
    found = planned_runs(config).items()
    return {run: spec for run, spec in found if spec.study.startswith("assignment")}


def test_the_assignment_trains_40_epochs_of_b_128_with_the_rate_of_each_rule() -> None:
    runs = of_assignment(ASSIGNMENT)
    shown = {
        run: (spec.workers, spec.nodes, spec.per_worker_batch, round(spec.training.lr, 6))
        for run, spec in runs.items()
        if spec.arm not in (None, "larger_batch", "more_loading", "doubled_batch", "assigned_batch")
        and "-launch" not in run
    }
    assert shown == {
        "assignment-linear-n1": (1, 1, 128, 0.001),
        "assignment-linear-n2": (2, 1, 128, 0.002),
        "assignment-linear-n4": (4, 1, 128, 0.004),
        "assignment-linear-n2-on2": (2, 2, 128, 0.002),
        "assignment-linear-n6-on2": (6, 2, 128, 0.006),
        "assignment-linear-n8-on2": (8, 2, 128, 0.008),
        "assignment-sqrt-n4": (4, 1, 128, 0.002),
        "assignment-fixed-n4": (4, 1, 128, 0.001),
        "assignment-fixed_batch-n4": (4, 1, 32, 0.001),
        "assignment-sqrt-n8-on2": (8, 2, 128, 0.002828),
        "assignment-fixed-n8-on2": (8, 2, 128, 0.001),
        "assignment-fixed_batch-n8-on2": (8, 2, 16, 0.001),
    }
    trained = [runs[run] for run in shown]
    assert {spec.training.epochs for spec in trained} == {40}
    assert {spec.training.optimizer for spec in trained} == {"adam"}
    assert {spec.model.name for spec in trained} == {"mnist_cnn"}


def test_what_is_timed_trains_each_seed_in_a_launch_of_its_own_and_the_first_starts_cold() -> None:
    runs = of_assignment(ASSIGNMENT)
    names = ["assignment-linear-n4", "assignment-linear-n4-launch2", "assignment-linear-n4-launch3"]
    assert [runs[name].seeds for name in names] == [(0,), (1,), (2,)]
    assert [runs[name].protocol.needs.cold_start for name in names] == [True, False, False]
    assert {runs[name].protocol.needs.alone for name in names} == {True}
    other = runs["assignment-sqrt-n4"]
    assert (other.seeds, other.protocol.needs.alone) == ((0, 1, 2), False)


def test_without_a_second_node_the_assignment_plans_none() -> None:
    assert {spec.nodes for spec in of_assignment(DEFAULT).values()} == {1}


def test_timed_runs_of_the_assignment_do_not_depend_on_its_rate() -> None:
    stale = stale_after(edited("assignment", base_lr=0.005))
    assert stale == {run for run, spec in of_assignment(DEFAULT).items() if spec.kind == "training"}


def test_larger_batches_of_the_assignment_are_of_one_worker() -> None:
    runs = of_assignment(ASSIGNMENT).values()
    larger = [s for s in runs if s.arm == "larger_batch" and s.seeds == (0,)]
    assert [(spec.workers, spec.per_worker_batch) for spec in larger] == [(1, 512), (1, 1024)]
    assert [spec.training.lr for spec in larger] == [0.004, 0.008]


def test_one_worker_trains_once_more_with_further_processes_that_load() -> None:
    def tried(asked: dict[str, Any], **data: Any) -> set[tuple[int, int, int | None, int]]:
        study = ASSIGNMENT.section("assignment").model_copy(update=asked)
        loading = {"data": ASSIGNMENT.data.model_copy(update=data), "assignment": study}
        plan = planned_runs(ASSIGNMENT.model_copy(update=loading)).values()
        return {
            (spec.workers, spec.training.epochs, spec.per_worker_batch, spec.data.loader_workers)
            for spec in plan
            if spec.arm == "more_loading"
        }

    assert tried({}) == {(1, 3, 128, 4)}  # twice the two
    assert tried({}, loader_workers=0) == {(1, 3, 128, 1)}
    assert tried({"more_loader_workers": 7}) == {(1, 3, 128, 7)}
    smaller = {"per_worker_batch": 32, "larger_batches": (128, 512)}
    assert tried(smaller) == {(1, 3, 128, 4)}
    assert tried(smaller | {"larger_batches": (256,)}) == {(1, 3, 32, 4)}
    assert tried({"more_loader_workers": 0}) == set()
    assert tried({}, loader="resident", loader_workers=0) == set()


def test_one_worker_has_the_least_batches_of_strong_scaling_that_it_lacks() -> None:
    """N = 2 and 4 share B = 32 as 16 and 8, which no b of the lab is."""
    least = [spec for spec in planned_runs(DEFAULT).values() if spec.study == "scaling_least"]
    assert {(spec.workers, spec.per_worker_batch) for spec in least} == {(1, 8), (1, 16)}
    assert len(least) == 2 * DEFAULT.section("scaling").launches
    shared = DEFAULT.section("scaling").model_copy(update={"per_worker_batches": (8, 16, 32)})
    plan = planned_runs(DEFAULT.model_copy(update={"scaling": shared})).values()
    assert {spec.per_worker_batch for spec in plan if spec.study == "scaling_least"} == {2, 4}


def test_the_most_workers_try_twice_the_batch_where_the_data_fill_it() -> None:
    def tried(batch: int) -> set[tuple[int, int | None]]:
        study = DEFAULT.section("assignment").model_copy(update={"per_worker_batch": batch})
        plan = planned_runs(DEFAULT.model_copy(update={"assignment": study})).values()
        doubled = [spec for spec in plan if spec.study == "assignment_doubled"]
        learnt = [spec for spec in plan if spec.arm == "doubled_batch"]
        for spec in learnt:
            assert spec.training.lr == pytest.approx(0.001 * 4 * 2)  # in proportion to B
            assert spec.seeds == study.seeds
        found = {(spec.workers, spec.per_worker_batch) for spec in doubled}
        assert found == {(spec.workers, spec.per_worker_batch) for spec in learnt}
        return found

    assert tried(32) == {(4, 64)}
    assert tried(161) == {(4, 322)}  # 4 * 322 = 1,288 of 1,293 images
    assert tried(162) == set()


def test_workers_have_the_assignments_batch_too_where_they_train_with_another() -> None:
    def tried(config: Config, **asked: Any) -> set[tuple[int, int, int | None]]:
        study = config.section("assignment").model_copy(update=asked)
        plan = planned_runs(config.model_copy(update={"assignment": study})).values()
        found = [spec for spec in plan if spec.study == "assignment_assigned"]
        assert {spec.protocol.timing.arms for spec in found} <= {
            ("with_loading", "without_loading")
        }
        learnt = [spec for spec in plan if spec.arm == "assigned_batch"]
        for spec in learnt:
            growth = spec.workers * 128 / study.per_worker_batch
            assert spec.training.lr == pytest.approx(study.base_lr * growth)
        timed = {(spec.workers, spec.nodes, spec.per_worker_batch) for spec in found}
        assert timed == {(spec.workers, spec.nodes, spec.per_worker_batch) for spec in learnt}
        return timed

    two = {(1, 1, 128), (2, 1, 128)}
    assert tried(DEFAULT) == {*two, (4, 1, 128)}
    assert tried(DEFAULT, per_worker_batch=64) == two  # twice 64 is timed for H4
    assert tried(DEFAULT, workers=(1, 2, 16)) == two  # 16 * 128 are more than 1,293 images
    assert tried(DEFAULT, workers=(1, 16)) == set()  # nothing to set against one
    assert tried(DEFAULT, per_worker_batch=128) == set()
    assert tried(ASSIGNMENT, per_worker_batch=32) == {*two, (4, 1, 128)}  # one node of the two
