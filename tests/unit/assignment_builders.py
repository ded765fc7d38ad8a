"""Rows of the cluster-training assignment for the labs of `builders`, made by hand.

An epoch of one worker takes ONE_S seconds, one of N workers `factor ** log2(N)` times as long, and
its seeds are 0.4% apart; the evaluation takes EVALUATION_S. Of a step 20% are loading.
"""

# ruff: noqa: C408 (rows read better as keywords)
import math
from collections.abc import Callable
from typing import Any

import direct_builders

Row = dict[str, Any]
Rows = list[Row]

ONE_S, EVALUATION_S, STARTUP_S = 8.0, 0.5, 3.0
EPOCHS, SEEDS, BATCH, LR = 4, 3, 128, 0.001
TEST_SAMPLES = 100_000  # so that the seeds decide
ACCURACY = {1: 0.95, 2: 0.94, 4: 0.93}  # with the linear rule
RULES = {  # rule: (factor of the rate, share of the batch, accuracy), at N = 4
    "sqrt": (2, 1, 0.945),
    "fixed": (1, 1, 0.96),
    "fixed_batch": (1, 4, 0.95),
}
DOUBLED, DOUBLED_LOSS = "doubled_batch", 0.004  # what twice the batch costs of the accuracy
ASSIGNED, ASSIGNED_LOSS = "assigned_batch", 0.002  # what the assignment's costs
UTILISATION = {128: 0.5, 512: 0.8, 1024: 0.95}
LOAD_SHARE = 0.2
SPLIT_NOISE = direct_builders.NOISE


def _training(
    run: str, rule: str, workers: int, batch: int, lr: float, nodes: int = 1, **more: Any
) -> Row:
    return (
        dict(
            run=run,
            kind="training",
            study="assignment",
            arm=rule,
            workers=workers,
            nodes=nodes,
            per_worker_batch=batch,
            lr=lr,
            epochs=EPOCHS,
            seeds=SEEDS,
            model="mnist_cnn",
            optimizer="adam",
            test_samples=TEST_SAMPLES,
            startup_s=STARTUP_S * workers,
        )
        | more
    )


def _launches(row: Row) -> Rows:
    """The runs of a timed training, each a launch with a seed of its own."""
    names = [row["run"], *(f"{row['run']}-launch{number}" for number in range(2, SEEDS + 1))]
    start = {"startup_s": None}
    return [row | {"run": name} | (start if number else {}) for number, name in enumerate(names)]


def training_rows(*, two_nodes: bool, batch: int = BATCH) -> Rows:
    """Return the planned columns of every training of the assignment."""
    linear = [_training(f"assignment-linear-n{n}", "linear", n, batch, LR * n) for n in ACCURACY]
    if two_nodes:
        linear += [
            _training(f"assignment-linear-n{n}-on2", "linear", n, batch, LR * n, nodes=2)
            for n in (2, 4)
        ]
    rows = [run | {"seeds": 1} for row in linear for run in _launches(row)]
    rows += [
        _training(f"assignment-{rule}-n4", rule, 4, batch // share, LR * factor)
        for rule, (factor, share, _) in RULES.items()
    ]
    for b in UTILISATION:
        larger = _training(f"assignment-batch-b{b}", "larger_batch", 1, b, LR * b / batch, seeds=1)
        rows += _launches(larger) if b != batch else []
    most = max(ACCURACY)
    for on in (1, 2) if two_nodes else (1,):
        run = f"assignment-doubled-training-n{most}" + ("-on2" if on > 1 else "")
        twice = _training(run, DOUBLED, most, 2 * batch, LR * most * 2, nodes=on)
        rows.append(twice)
    for row in assigned_rows(batch=batch):
        n, run = row["workers"], row["run"].replace("assigned", "assigned-training")
        rows.append(_training(run, ASSIGNED, n, BATCH, LR * n * BATCH / batch))
    return rows


def _seeds(run: Row) -> range:
    """The seeds that a run trains: of several launches each its own."""
    launch = int(run["run"].partition("-launch")[2] or 1)
    return range(launch - 1, launch) if run["seeds"] == 1 else range(run["seeds"])


def _final_accuracy(run: Row) -> float:
    if run["arm"] in RULES:
        return RULES[run["arm"]][2]
    lost = {DOUBLED: DOUBLED_LOSS, ASSIGNED: ASSIGNED_LOSS}.get(run["arm"], 0.0)
    return ACCURACY[run["workers"]] + 0.01 * (run["nodes"] - 1) - lost


def trained_rows(run: Row, factor: float) -> tuple[Rows, Rows]:
    """Return what is seen after epochs, and `steps`: the accuracy rises in a line to its end."""
    epochs, steps = [], []
    count = run["train_samples"] // run["global_batch"]
    for seed in _seeds(run):
        wall_s = ONE_S * factor ** math.log2(run["workers"]) * (1 + 0.004 * (seed - 1))
        for epoch in range(1, run["epochs"] + 1):
            shift = 0.0005 * (seed - SEEDS // 2)
            accuracy = (_final_accuracy(run) + shift) * epoch / run["epochs"]
            busy = UTILISATION.get(run["per_worker_batch"], 0.5) + 0.001 * epoch
            epochs.append(
                dict(
                    run=run["run"],
                    seed=seed,
                    epoch=epoch,
                    lr=run["lr"],
                    steps_s=wall_s * 0.99,
                    train_loss=2.0 - epoch / run["epochs"],
                    train_accuracy_frac=accuracy,
                    test_loss=1.0,
                    test_accuracy_frac=accuracy,
                    wall_s=wall_s,
                    evaluation_s=EVALUATION_S,
                    utilisation_frac=busy,
                )
            )
            own_s = wall_s / count
            steps += [
                dict(
                    run=run["run"],
                    seed=seed,
                    arm=None,
                    repeat=0,
                    epoch=epoch,
                    step=step,
                    rank=rank,
                    samples=run["per_worker_batch"],
                    step_s=own_s,
                    load_s=LOAD_SHARE * own_s,
                    copy_s=0.0,
                    forward_s=0.3 * own_s,
                    backward_s=0.4 * own_s,
                    update_s=0.1 * own_s,
                    loss=1.0,
                )
                for step in range(count)
                for rank in range(run["workers"])
            ]
    return epochs, steps


def split_rows(*, two_nodes: bool, batch: int = BATCH) -> Rows:
    """Return the planned columns of the timed runs of the assignment."""
    places = [(n, 1) for n in ACCURACY] + ([(2, 2), (4, 2)] if two_nodes else [])
    return [
        dict(
            run=f"assignment-split-n{n}" + (f"-on{on}" if on > 1 else ""),
            workers=n,
            nodes=on,
            study="assignment_split",
            per_worker_batch=batch,
            model="mnist_cnn",
        )
        for n, on in places
    ]


def doubled_rows(*, two_nodes: bool, batch: int = BATCH) -> Rows:
    """Return the planned columns of the timed runs of the most workers with twice the batch."""
    usual = split_rows(two_nodes=two_nodes, batch=batch)
    most = [row for row in usual if row["workers"] == max(ACCURACY)]
    return [
        row
        | {"run": row["run"].replace("split", "doubled"), "study": "assignment_doubled"}
        | {"per_worker_batch": 2 * batch}
        for row in most
    ]


def assigned_rows(*, batch: int) -> Rows:
    """Return the planned columns of the timed runs with BATCH, the assignment's own."""
    return [
        row
        | {"run": row["run"].replace("split", "assigned"), "study": "assignment_assigned"}
        | {"per_worker_batch": BATCH}
        for row in split_rows(two_nodes=False)
        if batch != BATCH and not (row["workers"] == max(ACCURACY) and 2 * batch == BATCH)
    ]


def larger_step_rows(run: Row, factor: float, step_rows: Callable[..., Rows]) -> Rows:
    """Return the steps of a timed run with a larger batch, whose epoch takes 80%."""
    epoch_s = 0.8 * ONE_S * (1 - LOAD_SHARE) * factor ** math.log2(run["workers"])
    times = list(epoch_s * (1 + SPLIT_NOISE))
    return step_rows(run, epoch_s=times, arm="with_loading", loading_factor=1 / (1 - LOAD_SHARE))


def split_step_rows(run: Row, factor: float, step_rows: Callable[..., Rows]) -> Rows:
    """Return the steps of a timed run: an epoch of one worker without loading takes 80%."""
    one_s = ONE_S * (1 - LOAD_SHARE)
    epoch_s = one_s * factor ** math.log2(run["workers"])
    times = list(epoch_s * (1 + SPLIT_NOISE))
    rows = step_rows(run, epoch_s=times)
    rows += step_rows(run, epoch_s=times, arm="with_loading", loading_factor=1 / (1 - LOAD_SHARE))
    if run["workers"] > 1:
        arms = direct_builders.arm_seconds(one_s, epoch_s, run["workers"])
        rows += direct_builders.arm_rows(run, arms, step_rows)
    return rows
