"""Small valid tidy tables for tests: whole labs whose numbers can be worked out by hand.

`full_lab()` returns every tidy table, `derived_lab()` the derived ones. One worker's epoch of
TRAIN_SAMPLES samples takes `one_worker_epoch_s(b)` seconds without loading and LOADING_FACTOR
times that with it; N workers take `two_worker_factor ** log2(N)` times as long. The repeats'
offsets are symmetric, so every median is exact.
"""

# ruff: noqa: C408 (rows read better as keywords)
import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

import assignment_builders
import choose_builders
import direct_builders
import local_sgd_builders
import lr_scaling_builders
import model_averaging_builders
import steps_to_goal_builders
import strategies_builders
from dpscale.derive.tables import Derived
from dpscale.studies import derived_of, schemas

Rows = list[dict[str, Any]]
Tables = dict[str, pd.DataFrame]

TRAIN_SAMPLES = 10_000
PARAMETERS = 1_000_000
PAYLOAD_BYTES = 4_000_000
BUFFER_BYTES = 40_000
LOADING_FACTOR = 1.25
SWEEP = {32: "complete", 128: "complete", 512: "complete", 2048: "out_of_memory"}
BOUNDARY = [(1280, "complete"), (1281, "out_of_memory")] * 2
WEAK_CELLS = [(workers, batch) for workers in (1, 2, 4) for batch in (32, 128, 512)]
STRONG_CELLS = [(2, 16), (2, 64), (2, 256), (4, 8)]
MEASURED = ["parameters", "payload_bytes", "buffer_bytes", "peak_memory_bytes", "utilisation_frac"]
OF_RECORD = [
    "train_samples",
    "test_samples",
    "oversubscribed",
    "workers_per_machine",
    "devices_per_machine",
    "device",
    "fingerprint",
    "host",
    "started_at",
    "finished_at",
    "wall_s",
    "commit",
    "versions",
    "startup_s",
]
LARGE_BATCH = {  # arm: (per-worker batch, lr, epochs, final training loss, final accuracy)
    "small": (32, 0.1, 5, 0.10, 0.95),
    "small_scaled_rate": (32, 1.6, 5, 0.12, 0.95),
    "large": (512, 0.1, 5, 0.50, 0.80),
    "linear_scaling": (512, 1.6, 5, 0.40, 0.84),
    "warmup": (512, 1.6, 5, 0.30, 0.88),
    "zero_gamma": (512, 1.6, 5, 0.25, 0.90),
    "more_epochs": (512, 0.1, 10, 0.20, 0.92),
}


def table(name: str, rows: Iterable[dict[str, Any]] = ()) -> pd.DataFrame:
    """Return the tidy table `name` of the rows given (none: empty), absent columns null."""
    rows, schema = list(rows), schemas()[name]
    unknown = {key for row in rows for key in row} - set(schema)
    if unknown:
        raise KeyError(f"{name} has no column {sorted(unknown)}")
    return pd.DataFrame(rows, columns=list(schema)).astype(schema)


def empty_lab() -> Tables:
    """Return every tidy table with its columns and no row."""
    return {name: made.copy(deep=False) for name, made in _no_rows().items()}


@functools.cache
def _no_rows() -> Tables:
    return {name: table(name) for name in schemas()}


def run_row(run: str, **given: Any) -> dict[str, Any]:
    """Return one row of `runs`: a complete one-worker timed run unless told otherwise."""
    row = (
        dict(
            run=run,
            kind="timed",
            study="scaling",
            arm=None,
            status="complete",
            message=None,
            workers=1,
            nodes=1,
            per_worker_batch=32,
            train_samples=TRAIN_SAMPLES,
            test_samples=2_000,
            seeds=1,
            epochs=1,
            lr=0.1,
            parameters=PARAMETERS,
            payload_bytes=PAYLOAD_BYTES,
            buffer_bytes=BUFFER_BYTES,
            peak_memory_bytes=300_000_000,
            memory_budget_bytes=600_000_000,
            utilisation_frac=0.9,
            oversubscribed=False,
            device="cpu",
            fingerprint="cpu|x|torch|gloo|h",
            host="h",
            started_at="2026-01-01T00:00:00+00:00",
            finished_at="2026-01-01T00:01:00+00:00",
            wall_s=60.0,
            commit="0123456",
            versions="Python 3.11, torch 2.14",
            dataset="digits",
            model="resnet_8x8",
            optimizer="sgd",
            loader="dataloader",
            loader_workers=0,
            repeated_data=False,
            workers_per_machine=given.get("workers", 1),
            devices_per_machine=4,
        )
        | given
    )
    if "global_batch" not in row:
        row["global_batch"] = row["workers"] * row["per_worker_batch"]
    measured = MEASURED
    if row["status"] in ("not run yet", "failed"):
        measured = [*MEASURED, *OF_RECORD]
    if row["status"] not in ("complete", "diverged"):
        row |= {name: None for name in measured if name not in given}
    return row


def runs_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return `runs` of partial rows, each completed by `run_row`."""
    return table("runs", [run_row(**row) for row in rows])


def step_rows(
    run: dict[str, Any],
    *,
    epoch_s: Sequence[float],
    loading_factor: float = 1.0,
    steps: int = 3,
    arm: str | None = "without_loading",
    seed: int = 0,
    epoch: int = 1,
) -> Rows:
    """Return rows of `steps` so that repeat i takes epoch_s[i] seconds, times the loading factor.

    Rank r is r percent faster than rank 0; forward, backward, update and copy take 30, 55, 5 and
    5 percent of a step without its loading.
    """
    rows = []
    for repeat, seconds in enumerate(epoch_s):
        work_s = seconds * run["global_batch"] / run["train_samples"]
        for step in range(steps):
            for rank in range(run["workers"]):
                own_s = work_s * (1 - 0.01 * rank)
                rows.append(
                    dict(
                        run=run["run"],
                        seed=seed,
                        arm=arm,
                        repeat=repeat,
                        epoch=epoch,
                        step=step,
                        rank=rank,
                        samples=run["per_worker_batch"],
                        step_s=own_s * loading_factor,
                        load_s=own_s * (loading_factor - 1),
                        copy_s=0.05 * own_s,
                        forward_s=0.30 * own_s,
                        backward_s=0.55 * own_s,
                        update_s=0.05 * own_s,
                        loss=1.0 / (step + 1),
                    )
                )
    return rows


def steps_table(rows: Rows) -> pd.DataFrame:
    """Return `steps` of the rows that `step_rows` made."""
    return table("steps", rows)


def timed_cells(
    times: dict[tuple[int, int], Sequence[float]],
    *,
    arm: str = "with_loading",
    status: dict[tuple[int, int], str] | None = None,
    **of_every_run: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (epoch_times, runs) of scaling runs whose epochs took `times[workers, batch]`.

    A cell whose status is not "complete" has a run and no time.
    """
    from dpscale.derive.epoch_times import epoch_times

    runs = [
        run_row(
            f"n{n}-b{b}",
            workers=n,
            per_worker_batch=b,
            status=(status or {}).get((n, b), "complete"),
            **of_every_run,
        )
        for n, b in times
    ]
    steps = [
        row
        for run, seconds in zip(runs, times.values(), strict=True)
        if run["status"] == "complete"
        for row in step_rows(run, epoch_s=seconds, arm=arm)
    ]
    return epoch_times(steps_table(steps), table("runs", runs)), table("runs", runs)


def communication_of(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return `communication` of runs without spans."""
    from dpscale.studies.scaling.derive.arms import communication

    return communication(epoch_times, table("spans"), runs)


def bandwidth_of(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return `bandwidth` of runs whose link nobody measured."""
    from dpscale.studies.scaling.derive.link import bandwidth, link

    split = communication_of(epoch_times, runs)
    return bandwidth(split, link(table("messages"), runs), table("links"), runs)


def one_worker_epoch_s(per_worker_batch: int) -> float:
    """Return T_1 without loading: 10 ms a step and 0.2 ms a sample."""
    return TRAIN_SAMPLES / per_worker_batch * 0.010 + TRAIN_SAMPLES * 0.0002


def repeats_around(
    seconds: float, rng: np.random.Generator, *, noise: float = 0.02, count: int = 5
) -> list[float]:
    """Return `count` times spread evenly from -noise to +noise, median exact, order by `rng`."""
    return list(seconds * (1 + noise * rng.permutation(np.linspace(-1, 1, count))))


def _timed(factor: float, rng: np.random.Generator, noise: float) -> tuple[Rows, Rows]:
    sweep = [
        dict(
            run=f"sweep-b{b}",
            study="sweep",
            per_worker_batch=b,
            status=status,
            peak_memory_bytes=100_000_000 + b * 400_000 if status == "complete" else None,
        )
        for b, status in SWEEP.items()
    ]
    sweep += [dict(run="boundary", kind="boundary", study="boundary", per_worker_batch=1280)]
    scaling = [
        dict(run=f"scaling-n{n}-b{b}", workers=n, per_worker_batch=b, oversubscribed=n > 2)
        for n, b in WEAK_CELLS + STRONG_CELLS
    ]
    least = [
        dict(run=f"scaling-n1-b{b}", study="scaling_least", per_worker_batch=b) for b in (8, 16)
    ]
    runs = [run_row(**row) for row in sweep + scaling + least]
    steps = []
    for run in runs:
        if run["status"] != "complete" or run["study"] == "boundary":
            continue
        seconds = one_worker_epoch_s(run["per_worker_batch"]) * factor ** math.log2(run["workers"])
        arms = {"without_loading": 1.0, "with_loading": LOADING_FACTOR}
        for arm in ["without_loading"] if run["study"] == "sweep" else arms:
            times = repeats_around(seconds, rng, noise=noise)
            steps += step_rows(run, epoch_s=times, arm=arm, loading_factor=arms[arm])
    return runs, steps


def _epoch_rows(run: dict[str, Any], final_loss: float, final_accuracy: float) -> Rows:
    """Return an evaluation of each seed and epoch: straight lines, the seeds 1% apart."""
    rows = []
    for seed in range(run["seeds"]):
        for epoch in range(1, run["epochs"] + 1):
            done, shift = epoch / run["epochs"], 1 + 0.01 * (seed - run["seeds"] // 2)
            accuracy = 0.1 + done * (final_accuracy * shift - 0.1)
            rows.append(
                dict(
                    run=run["run"],
                    seed=seed,
                    epoch=epoch,
                    lr=run["lr"],
                    steps_s=4.0,
                    train_loss=2.0 + done * (final_loss * shift - 2.0),
                    train_accuracy_frac=accuracy,
                    validation_accuracy_frac=accuracy - 0.02,
                    test_loss=2.1 - done,
                    test_accuracy_frac=accuracy - 0.03,
                )
            )
    return rows


def training_rows(seen: Rows) -> dict[str, Rows]:
    """Return `trials` and `curves` of what was seen after epochs; a seed's number is its trial's.

    seen: rows with run, seed and epoch, and columns of `curves`.
    """
    trials: dict[tuple[str, int], dict[str, Any]] = {}
    curves = []
    for row in seen:
        row = row | {"trial": row["seed"], "step": 10 * row["epoch"], "epoch": float(row["epoch"])}
        key = {name: row[name] for name in ("run", "trial", "seed")}
        loss = row.get("train_loss", 0.0)
        finite = loss is not None and math.isfinite(loss)
        trials[row["run"], row.pop("seed")] = key | {
            "role": "arm",
            "status": "complete" if finite else "diverged",
            "steps": row["step"],
        }
        curves.append(row)
    return {"trials": list(trials.values()), "curves": curves}


def _training() -> tuple[Rows, Rows, Rows]:
    runs, epochs, steps = [], [], []
    for arm, (batch, lr, count, loss, accuracy) in LARGE_BATCH.items():
        run = run_row(
            f"large_batch-{arm}",
            kind="training",
            study="large_batch",
            arm=arm,
            lr=lr,
            workers=4,
            per_worker_batch=batch,
            epochs=count,
            seeds=3,
        )
        runs.append(run)
        epochs += _epoch_rows(run, loss, accuracy)
    for arm in ("baseline", "without_set_epoch", "no_broadcast"):
        run = run_row(
            f"replicas-{arm}",
            kind="training",
            study="replicas",
            arm=arm,
            workers=2,
            seeds=2,
            epochs=3,
        )
        runs.append(run)
        epochs += _epoch_rows(run, 0.3, 0.85 if arm == "without_set_epoch" else 0.9)
    for run in runs:
        steps += step_rows(run, epoch_s=[4.0], loading_factor=1.1, arm=None, steps=2)
    return runs, epochs, steps


def _replica_rows(run: dict[str, Any]) -> tuple[Rows, Rows]:
    drift = 0.01 if run["arm"] == "no_broadcast" else 0.0
    replicas, orders = [], []
    for seed, epoch, rank in np.ndindex(run["seeds"], run["epochs"], run["workers"]):
        key = dict(run=run["run"], seed=seed, epoch=epoch + 1, rank=rank)
        replicas.append(
            key
            | dict(
                parameter_digest=f"p{seed}{epoch}",
                parameter_difference_max=0.0,
                buffer_digest=f"b{rank if drift else 0}",
                buffer_difference_frac=drift * rank,
                test_accuracy_frac=0.85 - drift * rank,
            )
        )
        order = 0 if run["arm"] == "without_set_epoch" else epoch
        orders.append(
            key
            | dict(digest=f"o{seed}{order}{rank}", first_indices=f"{order} {rank} 7 9 11 13 15 17")
        )
    return replicas, orders


def _direct(runs: Rows, factor: float) -> dict[str, Rows]:
    """Return steps, buckets and spans of the direct arms of the weak cells, and of one worker."""
    made: dict[str, Rows] = {"steps": [], "buckets": [], "spans": []}
    for run in runs:
        cell = run["workers"], run["per_worker_batch"]
        if run["study"] != "scaling" or cell not in WEAK_CELLS or run["status"] != "complete":
            continue
        one_s = one_worker_epoch_s(run["per_worker_batch"])
        epoch_s = one_s * factor ** math.log2(run["workers"])
        if run["workers"] == 1:
            arms = {"ddp_of_one": one_s * direct_builders.DDP_OF_ONE}
        else:
            arms = direct_builders.arm_seconds(one_s, epoch_s, run["workers"])
            made["buckets"] += direct_builders.bucket_rows(run["run"])
            made["spans"] += direct_builders.span_rows(run, epoch_s, one_s)
        made["steps"] += direct_builders.arm_rows(run, arms, step_rows)
    return made


def _link_and_hooks(factor: float) -> dict[str, Rows]:
    """Return the link runs of N = 2 and 4 with their messages, and a run of compression hooks."""
    links = [run_row(f"link-n{n}", kind="link", study="link", workers=n) for n in (2, 4)]
    hooked = run_row("compression-n2", study="compression", workers=2)
    seconds = one_worker_epoch_s(32) * factor
    arms = {"without_loading": seconds} | {
        arm: seconds * slower for arm, (_, slower) in direct_builders.HOOKS.items()
    }
    collectives, wire = direct_builders.counted_rows(hooked)
    return {
        "runs": [*links, hooked],
        "messages": [
            row for run in links for row in direct_builders.message_rows(run["run"], run["workers"])
        ],
        "steps": direct_builders.arm_rows(hooked, arms, step_rows),
        "collectives": collectives,
        "wire": wire,
        "links": direct_builders.LINKS,
    }


def _ledger_rows(run: dict[str, Any]) -> tuple[Rows, Rows]:
    """Return `collectives` and `wire`: two steady iterations of two buckets and the buffers."""
    calls: list[tuple[str, int | None, str, str, int]] = [
        ("construction", None, "broadcast", "parameters at construction", PAYLOAD_BYTES),
        ("construction", None, "allgather", "shape check", 480),
        ("first", 0, "broadcast", "buffers", BUFFER_BYTES),
        ("first", 0, "allreduce", "gradient bucket", PAYLOAD_BYTES),
        ("rebuild", 1, "broadcast", "bucket rebuild", 248),
        ("rebuild", 1, "allreduce", "gradient bucket", PAYLOAD_BYTES),
    ]
    for iteration in (2, 3):
        calls += [
            ("steady", iteration, "broadcast", "buffers", BUFFER_BYTES),
            ("steady", iteration, "allreduce", "gradient bucket", 1_000_000),
            ("steady", iteration, "allreduce", "gradient bucket", 3_000_000),
        ]
    collectives = [
        dict(
            run=run["run"],
            phase=phase,
            iteration=iteration,
            index=index,
            calls=1,
            operation=operation,
            purpose=purpose,
            dtype="float32",
            bytes=size,
        )
        for index, (phase, iteration, operation, purpose, size) in enumerate(calls)
    ]
    a_step = (run["workers"] - 1) * (2 * PAYLOAD_BYTES + BUFFER_BYTES)
    return collectives, [
        dict(
            run=run["run"],
            phase="steady",
            iterations=10,
            interface="lo",
            sent_bytes=round(a_step * 10 * 1.0025),
        )
    ]


def _assignment(factor: float, two_nodes: bool, batch: int) -> dict[str, Rows]:
    """Return runs, trainings and steps of the cluster-training assignment."""
    own = assignment_builders
    asked: dict[str, Any] = {"two_nodes": two_nodes, "batch": batch}
    trained, split = (
        [run_row(**row) for row in rows(**asked)] for rows in (own.training_rows, own.split_rows)
    )
    larger = [*own.doubled_rows(**asked), *own.assigned_rows(batch=batch)]
    timed = [run_row(**row) for row in larger]
    seen: Rows = []
    made: dict[str, Rows] = {"runs": [*trained, *split, *timed], "steps": []}
    for run in trained:
        epochs, steps = own.trained_rows(run, factor)
        seen += epochs
        made["steps"] += steps
    made |= training_rows(seen)
    for run in split:
        made["steps"] += own.split_step_rows(run, factor, step_rows)
    for run in timed:
        made["steps"] += own.larger_step_rows(run, factor, step_rows)
    return made


def full_lab(
    *,
    two_worker_factor: float = 0.6,
    seed: int = 0,
    noise: float = 0.02,
    not_run: Sequence[str] = (),
    direct: bool = True,
    two_nodes: bool = False,
    assignment_batch: int = assignment_builders.BATCH,
) -> Tables:
    """Return every tidy table of a whole lab, keyed by table name.

    two_worker_factor is T_2/T_1 at one per-worker batch, for an epoch: below 1 two workers are
    faster, above 1 slower (T_4/T_1 is its square). noise is the half-width of the repeats' spread
    as a fraction. The runs named in `not_run` have that status and no measurement. direct: the
    arms that split a step, the link runs and the compression run too. two_nodes: the assignment
    ran on two nodes as well, with assignment_batch per worker.
    """
    tables = _full_lab(two_worker_factor, seed, noise, direct, two_nodes, assignment_batch)
    copies = {name: frame.copy() for name, frame in tables.items()}
    return without_runs(copies, not_run) if not_run else copies


def on_two_devices() -> Tables:
    """Return the whole lab on a machine of two devices, which four workers share."""
    lab = full_lab()
    return lab | {"runs": lab["runs"].assign(devices_per_machine=2)}


@functools.cache
def _full_lab(
    factor: float, seed: int, noise: float, direct: bool, two_nodes: bool, assignment_batch: int
) -> Tables:
    runs, steps = _timed(factor, np.random.default_rng(seed), noise)
    training, epochs, training_steps = _training()
    ledger = [run_row(f"ledger-n{n}", kind="ledger", study="ledger", workers=n) for n in (2, 4)]
    missing = run_row(
        "data_parallel-n2",
        study="data_parallel",
        workers=2,
        arm="data_parallel",
        status="unavailable",
        message="2 devices asked, 1 found",
    )
    made: dict[str, Rows] = {name: [] for name in schemas()}
    made |= {"runs": runs + training + ledger + [missing], **training_rows(epochs)}
    made["steps"] = steps + training_steps
    made["probes"] = [dict(run="boundary", per_worker_batch=b, status=s) for b, s in BOUNDARY]
    averaging, searched = model_averaging_builders.study_rows(), steps_to_goal_builders.rows()
    for rows in (averaging, searched):
        rows["runs"] = [run_row(**row) for row in rows["runs"]]
    for rows in (
        *((_direct(runs, factor), _link_and_hooks(factor)) if direct else ()),
        _assignment(factor, two_nodes, assignment_batch),
        averaging,
        lr_scaling_builders.rows(run_row),
        local_sgd_builders.rows(run_row),
        strategies_builders.rows(run_row, step_rows),
        choose_builders.rows(run_row),
        searched,
    ):
        for name, added in rows.items():
            made[name] += added
    for run in training:
        if run["study"] == "replicas":
            replicas, orders = _replica_rows(run)
            made["replicas"] += replicas
            made["orders"] += orders
    for run in ledger:
        collectives, wire = _ledger_rows(run)
        made["collectives"] += collectives
        made["wire"] += wire
    return {name: table(name, rows) for name, rows in made.items()}


def without_runs(tables: Tables, names: Sequence[str]) -> Tables:
    """Return the tables with the named runs planned and not run: null, and no measured row."""
    unknown = set(names) - set(tables["runs"]["run"])
    if unknown:
        raise KeyError(f"no run {sorted(unknown)}")
    kept = {
        name: frame[~frame["run"].isin(names)] if "run" in frame else frame
        for name, frame in tables.items()
    }
    runs = tables["runs"].copy()
    gone = runs["run"].isin(names)
    for column in [*MEASURED, *OF_RECORD, "message"]:
        runs[column] = runs[column].mask(gone)
    return kept | {"runs": runs.assign(status=runs["status"].mask(gone, "not run yet"))}


@functools.cache
def _derived_lab(options: tuple[tuple[str, Any], ...]) -> Derived:
    return derived_of(full_lab(**dict(options)))


def derived_lab(**options: Any) -> Derived:
    """Return the derived tables of `full_lab(**options)`, each made when a test reads it."""
    options["not_run"] = tuple(options.get("not_run", ()))
    return _derived_lab(tuple(sorted(options.items())))
