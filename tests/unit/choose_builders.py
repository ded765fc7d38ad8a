"""Rows of E2 for the labs of `builders`, made from planted seconds of a step.

Steps to the goal are those of `steps_to_goal_builders` for mlp with Nesterov's momentum. Launches
lie SPREAD apart around what is planted, so that medians are exact.
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Callable
from typing import Any

import steps_to_goal_builders as search
from steps_to_goal_builders import B_CRIT, median_steps

Rows = list[dict[str, Any]]
Seconds = Callable[[int, int], float]

MODEL, OPTIMIZER = "mlp", "nesterov"
BATCHES = (16, 64, 256)
WORKERS = (1, 2, 4)
SPREAD = (0.99, 1.0, 1.01)
SEEDS = (0.97, 0.98, 1.0, 1.02, 1.03)
BUCKET = 400_000


def compute_s(n: int, b: int) -> float:
    """Seconds that a worker computes: a millisecond, and 20 us a sample."""
    return 1e-3 + 20e-6 * b


def with_network(n: int, b: int) -> float:
    """The same with 2 ms of communication where there are several workers."""
    return compute_s(n, b) + (2e-3 if n > 1 else 0.0)


def rows(
    run_row: Callable[..., dict[str, Any]],
    *,
    step_s: Seconds = with_network,
    silent_s: Seconds = compute_s,
    b_crit: float = B_CRIT[MODEL, OPTIMIZER],
    trained_ratio: Seconds = lambda n, b: 1.0,
    limits: dict[str, Any] | None = None,
) -> dict[str, Rows]:
    """Return the rows of the study by tidy table.

    trained_ratio: of the step of the trained cells, the two best of each n, over the grid's.
    """
    names = ("runs", "grid", "grid_memory", "grid_buckets", "trials")
    made: dict[str, Rows] = {name: [] for name in names}
    given = dict(
        aim="time",
        predicted_workers="8",
        deadline_s=None,
        worker_hours=None,
        price_per_worker_hour=None,
        memory_bytes=None,
        prediction_factor=2.0,
    )
    made["limits"] = [given | (limits or {})]
    for n in WORKERS:
        of_study = dict(
            study="choose",
            arm=OPTIMIZER,
            model=MODEL,
            workers=n,
            oversubscribed=n > 2,
            train_samples=10_000,
        )
        for launch, factor in enumerate(SPREAD, start=1):
            name = f"choose-n{n}" + (f"-launch{launch}" if launch > 1 else "")
            made["runs"].append(
                run_row(name, kind="grid", per_worker_batch=max(BATCHES), **of_study)
            )
            arms = {"ddp": step_s} | ({"noop_hook": silent_s} if n > 1 else {})
            for b in BATCHES:
                _cell(made, name, n, b, {arm: of(n, b) * factor for arm, of in arms.items()})
        times = {b: median_steps(b_crit, n * b) * step_s(n, b) for b in BATCHES}
        searched = sorted((b for b in BATCHES if n * b in search.BATCHES), key=times.__getitem__)
        for name, best in zip(("goal", "runner_up"), searched, strict=False):
            steps = median_steps(b_crit, n * best)
            step = step_s(n, best) * trained_ratio(n, best)
            for launch, factor in enumerate(SPREAD, start=1):
                run = f"choose-{name}-n{n}" + (f"-launch{launch}" if launch > 1 else "")
                made["runs"].append(run_row(run, kind="goal", per_worker_batch=best, **of_study))
                made["trials"] += _trials(run, n, best, steps, step * factor)
    return made


def _trials(run: str, n: int, b: int, steps: float, step_s: float) -> Rows:
    """Trainings to the goal of a launch, a seed each; which seed is fast differs between cells."""
    place = WORKERS.index(n) + BATCHES.index(b)
    offs = [SEEDS[(number + 2 * place) % len(SEEDS)] for number in range(len(SEEDS))]
    return [
        dict(
            run=run,
            trial=number,
            seed=200 + number,
            role="goal",
            arm=OPTIMIZER,
            model=MODEL,
            optimizer=OPTIMIZER,
            status="complete",
            learners=n,
            per_learner_batch=b,
            global_batch=n * b,
            lr=0.1,
            momentum=0.9,
            steps=round(steps * off),
            steps_to_goal=round(steps * off),
            wall_s=round(steps * off) * step_s,
        )
        for number, off in enumerate(offs)
    ]


def _cell(made: dict[str, Rows], run: str, n: int, b: int, seconds: dict[str, float]) -> None:
    for rank in range(n):
        slower = 1.0 if rank == n - 1 else 0.9  # the last worker is the slowest
        for arm, step_s in seconds.items():
            made["grid"].append(
                dict(
                    run=run,
                    timed_arm=arm,
                    per_worker_batch=b,
                    repeat=0,
                    rank=rank,
                    step_s=step_s * slower,
                    backward_s=step_s * slower / 2,
                )
            )
        made["grid_memory"].append(
            dict(run=run, per_worker_batch=b, rank=rank, peak_bytes=round(1e6 * slower) + 1000 * b)
        )
    if n > 1:
        made["grid_buckets"].append(
            dict(run=run, per_worker_batch=b, index=0, bytes=BUCKET, ready_frac=1.0)
        )


def with_search(
    run_row: Callable[..., dict[str, Any]],
    *,
    b_crit: float = B_CRIT[MODEL, OPTIMIZER],
    **options: Any,
) -> dict[str, Rows]:
    """Return the rows of the study and of the search that it takes its steps from."""
    searched = search.rows({(MODEL, OPTIMIZER): b_crit})
    searched["runs"] = [run_row(**row) for row in searched["runs"]]
    own = rows(run_row, b_crit=b_crit, **options)
    return {name: searched.get(name, []) + own.get(name, []) for name in {**searched, **own}}
