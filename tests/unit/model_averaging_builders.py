"""Rows of the study S3 for the labs of `builders`, whose times to the target are chosen by hand.

Every seed reaches the target one epoch after the one before it; accuracy is LOW until then and
HIGH from then on. An epoch of an arm takes EPOCH_S seconds, of which throughputs know nothing.
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Mapping
from typing import Any

from dpscale.studies.model_averaging.config import AveragingArm, ModelAveragingConfig
from dpscale.studies.model_averaging.plan import arms, rate_arms

Rows = list[dict[str, Any]]

STUDY = "model_averaging"
CONFIG = ModelAveragingConfig(rates=(0.01, 0.02, 0.05), averaging_rates=(0.1, 0.2, 0.5), epochs=12)
SEEDS, TARGET, LOW, HIGH = (0, 1, 2), 0.95, 0.60, 0.97
REACHED: dict[str, int | None] = {  # epoch of the first seed; None: never
    "sgd_small": 2,
    "sgd_large": 7,
    "sgd_large_linear": 4,
    "sma α = 1/k": None,
    "sma α = 0.1": None,
    "sma_tuned α = 1/k": 5,
    "sma_tuned α = 0.1": 6,
}
EPOCH_S = {"sgd_small": 3.0, "sgd_large": 1.0, "sgd_large_linear": 1.0}
AVERAGED_EPOCH_S = 1.75
RATE_ACCURACIES = {0.01: 0.90, 0.02: 0.94, 0.05: 0.92, 0.1: 0.80, 0.2: 0.90, 0.5: 0.85}
SPEEDS = {1: 1000.0, 2: 1500.0, 3: 1800.0, 4: 1850.0, 5: 2200.0}  # 3 is chosen, 5 is best
PLAIN = 1200.0
NOISE = (0.0, -0.01, 0.01, -0.005, 0.005)
CELLS = (("mlp", 16), ("mlp", 128), ("resnet_8x8", 16))
EXPECTED = "Averaging loses to SGD with a scaled rate."


def study_rows(
    reached: Mapping[str, int | None] = REACHED,
    *,
    averaged_epoch_s: float = AVERAGED_EPOCH_S,
    speeds: Mapping[int, float] = SPEEDS,
    seeds: tuple[int, ...] = SEEDS,
) -> dict[str, Rows]:
    """Return the study's rows of `runs` (partial), `trials`, `curves` and `throughputs`."""
    made: dict[str, Rows] = {"runs": [], "trials": [], "curves": [], "throughputs": []}
    for seed in seeds:
        run = f"{STUDY}-seed{seed}"
        made["runs"].append(_run(run, "averaging"))
        for number, arm in enumerate(arms(CONFIG)):
            first = reached[arm.name]
            epoch = None if first is None else first + seed
            epoch_s = EPOCH_S.get(arm.name, averaged_epoch_s)
            made["trials"].append(trial(run, number, arm, seed, CONFIG.epochs * epoch_s))
            made["curves"] += curve(run, number, epoch, epoch_s)
    run = f"{STUDY}-rates"
    made["runs"].append(_run(run, "averaging"))
    for number, arm in enumerate(rate_arms(CONFIG)):
        made["trials"].append(trial(run, number, arm, 100, 10.0))
        made["curves"] += [
            row | {"validation_accuracy_frac": RATE_ACCURACIES[arm.lr]}
            for row in curve(run, number, None, 1.0)
        ]
    for model, batch in CELLS:
        run = f"{STUDY}-learners-{model}-b{batch}"
        made["runs"].append(_run(run, "learners") | dict(model=model, per_worker_batch=batch))
        made["throughputs"] += throughputs(run, batch, speeds)
    return made


def _run(run: str, kind: str) -> dict[str, Any]:
    return dict(run=run, kind=kind, study=STUDY, per_worker_batch=16, expected=EXPECTED)


def trial(
    run: str, number: int, arm: AveragingArm, seed: int, wall_s: float, **given: Any
) -> dict[str, Any]:
    """Return a row of `trials`."""
    return (
        dict(
            run=run,
            trial=number,
            seed=seed,
            role=arm.role,
            arm=arm.name,
            model="mlp",
            optimizer=arm.algorithm,
            status="complete",
            learners=arm.learners,
            per_learner_batch=arm.batch,
            global_batch=arm.learners * arm.batch,
            local_steps=arm.tau,
            lr=arm.lr,
            momentum=0.9,
            steps=120,
            rounds=120,
            sent_bytes=0,
            wall_s=wall_s,
            alpha=arm.alpha,
            target_accuracy_frac=TARGET,
            median_of=1,
        )
        | given
    )


def curve(run: str, number: int, reached: int | None, epoch_s: float) -> Rows:
    """Return the evaluations of one trial, one an epoch."""
    return [
        dict(
            run=run,
            trial=number,
            step=10 * epoch,
            epoch=float(epoch),
            lr=0.1,
            train_loss=0.5,
            validation_accuracy_frac=0.9,
            wall_s=epoch_s,
            test_accuracy_frac=HIGH if reached and epoch >= reached else LOW,
        )
        for epoch in range(1, CONFIG.epochs + 1)
    ]


def throughputs(run: str, batch: int, speeds: Mapping[int, float]) -> Rows:
    """Return `throughputs` of one model and batch."""
    timed = [(1, False, PLAIN), *((count, True, rate) for count, rate in speeds.items())]
    return [
        dict(
            run=run,
            learners=count,
            per_learner_batch=batch,
            repeat=repeat,
            samples=1000,
            seconds=1000 / (rate * (1 + off)),
            threshold_frac=0.05,
            stacked=stacked,
        )
        for repeat, off in enumerate(NOISE)
        for count, stacked, rate in timed
    ]
