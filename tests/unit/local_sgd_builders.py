"""Trials and evaluations of S4 for the labs of `builders`, made by hand.

Every seed's accuracy is that of its arm plus SHIFT, the same for all arms, so that a difference of
two arms is exact. ACCURACIES: test accuracy by (share of wrong labels, arm).
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Callable, Mapping
from typing import Any

Rows = list[dict[str, Any]]

SEEDS, EPOCHS, STEPS_PER_EPOCH, SWITCH = (0, 1, 2), 4, 10, 2
SHIFT = {0: 0.0, 1: -0.01, 2: 0.01}
# arm: (learners, batch of each, local steps, first local epoch, rounds, steps an epoch)
ARMS: dict[str, tuple[int, int, int, int | None, int, int]] = {
    "A1": (2, 8, 1, None, 320, 80),
    "A2": (16, 8, 1, None, 40, 10),
    "A5 H=16": (16, 8, 16, SWITCH, 22, 10),
    "A5 H=32": (16, 8, 32, SWITCH, 21, 10),
    "A3": (16, 32, 1, None, 8, 2),
    "A4 H=4": (16, 8, 4, 0, 10, 10),
}
ACCURACIES = {
    0.0: {"A1": 0.97, "A2": 0.97, "A5 H=16": 0.97, "A5 H=32": 0.97, "A3": 0.9, "A4 H=4": 0.96},
    0.2: {"A1": 0.89, "A2": 0.90, "A5 H=16": 0.92, "A5 H=32": 0.94, "A3": 0.95, "A4 H=4": 0.95},
}
RUNS = {"a1": ["A1"], "a2-a5": ["A2", "A5 H=16", "A5 H=32"], "a3": ["A3"], "a4": ["A4 H=4"]}
EXPECTED = "post-local SGD is more accurate with wrong labels"


def rows(
    run_row: Callable[..., dict[str, Any]],
    accuracies: Mapping[float, Mapping[str, float]] = ACCURACIES,
) -> dict[str, Rows]:
    """Return `runs`, `trials` and `curves` of the study."""
    made: dict[str, Rows] = {"runs": [], "trials": [], "curves": []}
    for noise, of_regime in accuracies.items():
        for name, arms in RUNS.items():
            run = f"local_sgd-noise{round(100 * noise)}-{name}"
            learners, batch = ARMS[arms[0]][:2]
            made["runs"].append(
                run_row(
                    run,
                    kind="local",
                    study="local_sgd",
                    arm="+".join(arms),
                    seeds=len(SEEDS),
                    per_worker_batch=learners * batch,
                    epochs=EPOCHS,
                    expected=EXPECTED,
                )
            )
            _add_trials(made, run, noise, {arm: of_regime[arm] for arm in arms})
    return made


def _add_trials(made: dict[str, Rows], run: str, noise: float, of_arms: dict[str, float]) -> None:
    """One trial that chose a rate, which is no result, then the seeds of each arm."""
    first = next(iter(of_arms))
    _add_trial(made, run, noise, first, 100, 0.5, role="tuning")
    for arm, accuracy in of_arms.items():
        for seed in SEEDS:
            _add_trial(made, run, noise, arm, seed, accuracy + SHIFT[seed], role="result")


def _add_trial(
    made: dict[str, Rows],
    run: str,
    noise: float,
    arm: str,
    seed: int,
    accuracy: float,
    *,
    role: str,
) -> None:
    learners, batch, local_steps, local_from, rounds, per_epoch = ARMS[arm]
    number = sum(row["run"] == run for row in made["trials"])
    made["trials"].append(
        dict(
            run=run,
            trial=number,
            seed=seed,
            role=role,
            arm=arm,
            model="mlp",
            optimizer="nesterov",
            status="complete",
            learners=learners,
            per_learner_batch=batch,
            global_batch=learners * batch,
            local_steps=local_steps,
            lr=0.1,
            momentum=0.9,
            steps=EPOCHS * per_epoch,
            rounds=rounds,
            wall_s=1.0,
            label_noise_frac=noise,
            rate_factor=1.0,
            local_from_step=None if local_from is None else local_from * per_epoch,
        )
    )
    for epoch in range(1, EPOCHS + 1):
        made["curves"].append(
            dict(
                run=run,
                trial=number,
                step=epoch * per_epoch,
                epoch=epoch,
                lr=0.1,
                wall_s=0.25,
                train_loss=2.0 - epoch * accuracy / EPOCHS,
                train_accuracy_frac=epoch / EPOCHS,
                validation_accuracy_frac=accuracy * epoch / EPOCHS,
                validation_loss=1.0,
                test_accuracy_frac=accuracy * epoch / EPOCHS,
            )
        )
