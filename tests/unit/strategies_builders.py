"""Runs, steps, messages and memory of E1 for the labs of `builders`, made by hand.

STEP_S: seconds of a step with two workers; with four, twice as many. Launches lie SPREAD apart
around them, so that every ratio of two ways is exact. Memory in units of S.
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Callable, Mapping
from typing import Any

Rows = list[dict[str, Any]]

S = 4_000_000
ARMS = {"ddp": "without_loading"}  # the others are timed under their own names
STEP_S = {"ddp": 0.010, "accumulation": 0.014, "zero1": 0.012, "fsdp": 0.030, "fsdp_kept": 0.024}
SPREAD = (0.98, 1.0, 1.02)
# operation, and its payload in S with N workers
CALLS: dict[str, Callable[[int], list[tuple[str, float]]]] = {
    "ddp": lambda n: [("allreduce", 1)],
    "accumulation": lambda n: [("allreduce", 1)],
    "zero1": lambda n: [("allreduce", 1), ("broadcast", 1)],
    "fsdp": lambda n: [("allgather", 1 / n), ("allgather", 1 / n), ("reduce_scatter", 1)],
    "fsdp_kept": lambda n: [("allgather", 1 / n), ("reduce_scatter", 1)],
}
# What all N workers send through gloo, in (N - 1) S.
SENT = {"ddp": 2, "accumulation": 2, "zero1": 3, "fsdp": 4, "fsdp_kept": 3}
HEADERS = 1.004
# peak, parameters, gradients, state and activations in S; the largest batch within the budget
NEEDS = {
    "ddp": (6.0, 1.0, 1.0, 2.0, 0.1, 700),
    "accumulation": (6.0, 1.0, 1.0, 2.0, 0.05, 2_300),
    "zero1": (5.0, 1.0, 1.0, 1.0, 0.1, 1_000),
    "fsdp": (3.0, 0.5, 0.5, 1.0, 0.1, 1_500),
    "fsdp_kept": (3.2, 0.5, 0.5, 1.0, 0.1, 1_300),
}
BUDGET_BYTES = 8 * S
GAPS = {
    "ddp": 0.0,
    "accumulation": 1e-7,
    "zero1": 0.0,
    "fsdp": 2e-7,
    "fsdp_kept": 2e-7,
    "ddp_again": 0.0,
}


def rows(
    run_row: Callable[..., dict[str, Any]],
    step_rows: Callable[..., Rows],
    *,
    step_s: Mapping[str, float] = STEP_S,
    backend: str = "gloo",
    workers: tuple[int, ...] = (2, 4),
) -> dict[str, Rows]:
    """Return the rows of the study by tidy table."""
    names = ("runs", "steps", "collectives", "wire", "sharing_memory", "sharing_batches")
    made: dict[str, Rows] = {name: [] for name in (*names, "sharing_losses")}
    for n in workers:
        of_study = dict(
            study="strategies",
            workers=n,
            backend=backend,
            payload_bytes=S,
            optimizer="adam",
            oversubscribed=n > 2,
        )
        for launch, factor in enumerate(SPREAD, start=1):
            name = f"strategies-n{n}" + (f"-launch{launch}" if launch > 1 else "")
            run = run_row(name, **of_study)
            made["runs"].append(run)
            steps_of_epoch = run["train_samples"] / run["global_batch"]
            for way, seconds in step_s.items():
                epoch_s = seconds * n / 2 * factor * steps_of_epoch
                made["steps"] += step_rows(run, epoch_s=[epoch_s], steps=1, arm=ARMS.get(way, way))
            if launch == 1:
                _count(made, run["run"], n)
        memory = run_row(f"strategies-memory-n{n}", kind="sharing", micro_batches=4, **of_study)
        made["runs"].append(memory)
        _look(made, memory["run"], n)
    return made


def _count(made: dict[str, Rows], run: str, n: int) -> None:
    for way in STEP_S:
        of_arm = dict(run=run, phase="steady", timed_arm=ARMS.get(way, way))
        made["collectives"] += [
            of_arm
            | dict(
                iteration=0,
                index=index,
                operation=operation,
                purpose="any",
                dtype="float32",
                calls=1,
                bytes=round(size * S),
            )
            for index, (operation, size) in enumerate(CALLS[way](n))
        ]
        sent = round(3 * SENT[way] * (n - 1) * S * HEADERS)
        made["wire"].append(of_arm | dict(iterations=3, interface="lo", sent_bytes=sent))


def _look(made: dict[str, Rows], run: str, n: int) -> None:
    parts = ("peak", "parameter", "gradient", "state", "activation")
    for way, (*sizes, fits) in NEEDS.items():
        of_way = dict(run=run, way=way)
        for rank in range(n):  # the last worker has the most
            share = 1 if rank == n - 1 else 0.9
            held = {
                f"{part}_bytes": round(size * share * S)
                for part, size in zip(parts, sizes, strict=True)
            }
            made["sharing_memory"].append(of_way | held | dict(rank=rank))
        made["sharing_batches"] += [
            of_way
            | dict(
                per_worker_batch=batch,
                budget_bytes=BUDGET_BYTES,
                status="complete",
                # A second look at the first batch, which finds DDP's peak 5% higher.
                peak_bytes=round(sizes[0] * S * (1.05 if way == "ddp" else 1))
                if batch == 32
                else BUDGET_BYTES + (1 if batch > fits else -1),
            )
            for batch in (32, fits, fits + 50, 3 * fits)
        ]
    for way, gap in GAPS.items():
        made["sharing_losses"] += [
            dict(run=run, way=way, step=step, loss=2.0 * (1 + gap * step) - 0.1 * step)
            for step in range(3)
        ]
        made["sharing_losses"][-1]["parameter_gap_frac"] = gap
