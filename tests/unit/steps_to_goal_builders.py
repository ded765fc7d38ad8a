"""Rows of searches (S1) for the labs of `builders`, made from a planted fit.

The median repeat at batch B needs S_MIN(1 + B_crit/B) steps, the others a few percent more and
less, so that the fit finds B_CRIT[model, optimizer]. Gradients have the noise scale NOISE_SCALE.
"""

# ruff: noqa: C408 (rows read better as keywords)
from typing import Any

Rows = list[dict[str, Any]]

BATCHES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
S_MIN, NOISE_SCALE = 30.0, 50.0
B_CRIT = {("mlp", "sgd"): 40.0, ("mlp", "nesterov"): 120.0, ("softmax", "sgd"): 45.0}
SPREAD = (0.0, -0.06, 0.06, -0.03, 0.03)  # of the repeats' steps, median exact
WOBBLE = (0.02, -0.02)  # of the medians, from batch size to batch size
GOAL_ERROR_FRAC = 0.04
SMALL_BATCH, BIG_BATCH = 8, 1024
EQUIVALENT_FACTOR = 1.5
SPACE = dict(effective_lr_low=0.01, effective_lr_high=30.0, momentum_rest_low=0.01)


def median_steps(b_crit: float, batch: int, *, slope: float = 1.0) -> float:
    """Return the planted steps; slope: the power by which they fall at small batches."""
    wobble = 1 + WOBBLE[batch.bit_length() % 2]
    return S_MIN * (1 + (b_crit / batch) ** slope) * wobble


def run_name(model: str, optimizer: str) -> str:
    """Return the name of a search's run."""
    return f"steps_to_goal-{model}-{optimizer}"


def search_row(model: str, optimizer: str) -> dict[str, Any]:
    """Return a row of `searches`."""
    return dict(
        run=run_name(model, optimizer),
        model=model,
        optimizer=optimizer,
        goal_error_frac=GOAL_ERROR_FRAC,
        **SPACE,
        max_steps=4000,
        max_epochs=400,
        patience=3.0,
        evaluation_samples=32,
        planned_trials=3,
        finalists=2,
        stacked_samples=4096,
        noise_batch=32,
        batch_sizes=" ".join(map(str, BATCHES)),
        expected="That steps fall as 1/B at first.",
    )


def trial_rows(
    model: str, optimizer: str, b_crit: float, *, lr: float = 0.1, slope: float = 1.0
) -> tuple[Rows, Rows]:
    """Return `trials` and `curves` of a search: three trials and five repeats a batch size."""
    trials: Rows = []
    curves: Rows = []
    shared = dict(
        run=run_name(model, optimizer),
        arm=optimizer,
        model=model,
        optimizer=optimizer,
        lr=lr,
        momentum=0.0 if optimizer == "sgd" else 0.9,
    )
    for batch in BATCHES:
        steps = median_steps(b_crit, batch, slope=slope)
        own = shared | dict(global_batch=batch, per_learner_batch=batch, learners=1)
        for status, made in (("complete", steps), ("incomplete", 3 * steps), ("diverged", 5)):
            number = len(trials)
            trials.append(
                own
                | dict(
                    trial=number,
                    seed=100,
                    role="search",
                    status=status,
                    steps=round(made),
                    steps_to_goal=round(made) if status == "complete" else None,
                )
            )
            if status != "diverged":
                curves += _curve(shared["run"], number, round(made), batch, status == "complete")
        for seed, off in enumerate(SPREAD):
            number, made = len(trials), round(steps * (1 + off))
            trials.append(
                own
                | dict(
                    trial=number,
                    seed=seed,
                    role="repeat",
                    status="complete",
                    steps=made,
                    steps_to_goal=made,
                )
            )
            curves.append(
                dict(
                    run=shared["run"],
                    trial=number,
                    step=made,
                    epoch=made * batch / 10_000,
                    validation_accuracy_frac=1 - GOAL_ERROR_FRAC,
                    test_accuracy_frac=0.95 + off / 10,
                )
            )
    return trials, curves


def _curve(run: str, trial: int, steps: int, batch: int, reaches: bool) -> Rows:
    """Errors after steps 1, 2, 4 ...: 80% less what training took off, the goal at the end."""
    noted = [1 << power for power in range(12) if 1 << power < steps]
    errors = {step: 0.8 - 0.7 * step / steps for step in noted}
    errors[steps] = GOAL_ERROR_FRAC if reaches else 0.1
    return [
        dict(
            run=run,
            trial=trial,
            step=step,
            epoch=step * batch / 10_000,
            validation_accuracy_frac=1 - error,
        )
        for step, error in errors.items()
    ]


def _noise(run: str, trial: int, steps: int) -> Rows:
    """Norms of a gradient of square 1 and a variance of NOISE_SCALE, at the start and the goal."""
    return [
        dict(
            run=run,
            trial=trial,
            step=step,
            small_batch=SMALL_BATCH,
            big_batch=BIG_BATCH,
            small_gradient_square=1 + NOISE_SCALE / SMALL_BATCH,
            big_gradient_square=1 + NOISE_SCALE / BIG_BATCH,
        )
        for step in (0, steps)
    ]


def rows(
    b_crit: dict[tuple[str, str], float] = B_CRIT, *, lr: float = 0.1, slope: float = 1.0
) -> dict[str, Rows]:
    """Return the tidy rows of searches; those of `runs` hold what builders' `run_row` does not."""
    made: dict[str, Rows] = {
        name: [] for name in ("runs", "trials", "curves", "searches", "gradient_squares")
    }
    made["goal_margins"] = [dict(equivalent_factor=EQUIVALENT_FACTOR)]
    for (model, optimizer), planted in b_crit.items():
        made["runs"].append(
            dict(
                run=run_name(model, optimizer),
                kind="search",
                study="steps_to_goal",
                arm=optimizer,
                model=model,
                per_worker_batch=BATCHES[-1],
                seeds=len(SPREAD),
            )
        )
        made["searches"].append(search_row(model, optimizer))
        trials, curves = trial_rows(model, optimizer, planted, lr=lr, slope=slope)
        made["gradient_squares"] += [
            row
            for one in trials
            if one["role"] == "repeat" and one["global_batch"] == 32
            for row in _noise(one["run"], one["trial"], one["steps_to_goal"])
        ]
        made["trials"] += trials
        made["curves"] += curves
    return made
