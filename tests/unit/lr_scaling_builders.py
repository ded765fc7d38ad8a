"""Runs of the study of learning rates for the labs of `builders`, whose numbers are by hand.

The reference batch is kn = 32, of 2 groups of 16. ERRORS gives each way's test errors of three
seeds in percent; a validation error is one point lower, a null seed diverged.
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Callable
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]
Errors = tuple[float | None, ...]
EPOCHS, GROUP_BATCH, REFERENCE_GROUPS, BASE_LR, MARGIN_FRAC = 4, 16, 2, 0.5, 0.01
TEST_SAMPLES = 100_000  # so that the seeds decide
EXPECTED = "The linear rule keeps the error."


class Way(NamedTuple):
    """How an arm trains."""

    groups: int
    rule: str = "linear"
    warmup: str = "gradual"
    zero_gamma: bool = True
    optimizer: str = "sgd"
    searched_lr: float | None = None


REFERENCE, LARGE = Way(2, warmup="none"), Way(16)
ERRORS: dict[Way, Errors] = {
    REFERENCE: (2.0, 2.2, 2.1),
    REFERENCE._replace(zero_gamma=False): (2.3, 2.5, 2.4),
    Way(8): (2.1, 2.3, 2.2),
    Way(8, zero_gamma=False): (2.2, 2.4, 2.3),
    LARGE: (2.2, 2.4, 2.3),
    LARGE._replace(warmup="none"): (4.2, 4.4, 4.3),
    LARGE._replace(warmup="constant"): (8.2, 8.4, 8.3),
    LARGE._replace(zero_gamma=False): (2.9, 3.1, 3.0),
    LARGE._replace(warmup="none", zero_gamma=False): (12.0, 12.2, 12.1),
    LARGE._replace(warmup="constant", zero_gamma=False): (20.0, 20.2, None),
    Way(16, "sqrt"): (5.0, 5.2, 5.1),
    Way(16, "fixed"): (9.0, 9.2, 9.1),
    Way(64): (60.0, 62.0, 61.0),
    Way(64, "sqrt"): (30.0, 32.0, 31.0),
    Way(64, "fixed"): (40.0, 42.0, 41.0),
    REFERENCE._replace(searched_lr=0.25): (2.5, 2.7, 2.6),
    Way(64, "fixed", optimizer="lars", searched_lr=2.0): (6.0, 6.2, 6.1),
    Way(64, "fixed", optimizer="lars", searched_lr=4.0): (8.0, 8.2, 8.1),
}


def name_of(way: Way) -> str:
    """Return the run of a way."""
    gamma = "zero_gamma" if way.zero_gamma else "unit_gamma"
    rate = f"-lr{way.searched_lr:g}" if way.searched_lr else ""
    rule = "lars" if way.optimizer == "lars" else way.rule
    return f"lr_scaling-{rule}-{way.warmup}-{gamma}{rate}-kn{way.groups * GROUP_BATCH}"


def rows(run_row: Callable[..., dict[str, Any]], errors: dict[Way, Errors] | None = None) -> dict:
    """Return `runs`, `trials` and `curves` of the study."""
    made: dict[str, Rows] = {"runs": [], "trials": [], "curves": []}
    for way, percents in (errors or ERRORS).items():
        run = _run(way, run_row, len(percents))
        made["runs"].append(run)
        for seed, percent in enumerate(percents):
            made["trials"].append(_trial(run, seed, percent is None))
            made["curves"] += _curve(run, seed, percent)
    return made


def _run(way: Way, run_row: Callable[..., dict[str, Any]], seeds: int) -> dict[str, Any]:
    multiple = way.groups / REFERENCE_GROUPS
    factor = {"linear": multiple, "sqrt": multiple**0.5, "fixed": 1.0}[way.rule]
    name = name_of(way)
    return run_row(
        name,
        kind="scaled",
        study="lr_scaling",
        workers=1,
        seeds=seeds,
        epochs=EPOCHS,
        test_samples=TEST_SAMPLES,
        arm=name.removeprefix("lr_scaling-").rpartition("-")[0],
        per_worker_batch=way.groups * GROUP_BATCH,
        lr=way.searched_lr or BASE_LR * factor,
        role="search" if way.searched_lr else "arm",
        rule=way.rule,
        warmup=way.warmup,
        zero_gamma=way.zero_gamma,
        optimizer=way.optimizer,
        group_batch=GROUP_BATCH,
        groups=way.groups,
        reference_groups=REFERENCE_GROUPS,
        base_lr=BASE_LR,
        margin_frac=MARGIN_FRAC,
        expected=EXPECTED,
    )


def _trial(run: dict[str, Any], seed: int, diverged: bool) -> dict[str, Any]:
    return dict(
        run=run["run"],
        trial=seed,
        seed=seed,
        role=run["role"],
        arm=run["arm"],
        model=run["model"],
        optimizer=run["optimizer"],
        lr=run["lr"],
        momentum=0.9,
        status="diverged" if diverged else "complete",
        learners=run["groups"],
        per_learner_batch=GROUP_BATCH,
        global_batch=run["global_batch"],
        steps=EPOCHS * (run["train_samples"] // run["global_batch"]),
        wall_s=10.0,
    )


def _curve(run: dict[str, Any], seed: int, percent: float | None) -> Rows:
    """Errors that fall in a line from 90% to the last one; a diverged seed ends after epoch 2."""
    final = 0.5 if percent is None else percent / 100
    made: Rows = []
    for epoch in range(1, EPOCHS + 1 if percent is not None else 3):
        error = 0.9 + epoch / EPOCHS * (final - 0.9)
        broken = percent is None and epoch == 2
        made.append(
            dict(
                run=run["run"],
                trial=seed,
                epoch=epoch,
                lr=run["lr"],
                step=epoch * (run["train_samples"] // run["global_batch"]),
                train_loss=None if broken else 2 * error,
                train_accuracy_frac=None if broken else 1 - error,
                validation_loss=None if broken else 2 * error,
                validation_accuracy_frac=None if broken else 1.01 - error,
                test_accuracy_frac=1 - error if epoch == EPOCHS else None,
                wall_s=2.5 * epoch,
            )
        )
    return made
