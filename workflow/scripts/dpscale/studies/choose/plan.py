"""E2: seconds of a step over a grid of N and b, and trainings of what that advises."""

from collections.abc import Iterator
from typing import Any

from dpscale.config.goal import Goal
from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig
from dpscale.plan.spec import Spec, build_spec, launches, network_of
from dpscale.studies.choose import GOAL, GRID
from dpscale.studies.choose.config import ChooseConfig, GoalProtocol, GridProtocol

TRAINED = {1: "goal", 2: "runner_up"}  # cells of each number of workers, by rank
BY_ADVICE = "dpscale.studies.choose.advice:BY_ADVICE"
# The grid's steps take as long with any; the search says which the trainings have.
ANY_MOMENTUM = 0.5


def runs(config: Config, asked: ChooseConfig) -> Iterator[Spec]:
    """For each N the launches that time the grid, and those that train its two best cells."""
    goal = asked.goal(config)
    assert goal is not None  # the configuration was checked
    shared = _shared(config, asked, goal)
    grid = GridProtocol(
        per_worker_batches=tuple(sorted(asked.per_worker_batches)),
        repeats=asked.repeats,
        repeat_s=asked.repeat_s,
    )
    for workers in sorted(asked.workers):
        timed = build_spec(
            config,
            GRID,
            run=f"choose-n{workers}",
            workers=workers,
            protocol=grid,
            per_worker_batch=max(asked.per_worker_batches),
            **shared,
        )
        yield from launches(config, timed)
        for rank, name in TRAINED.items():
            trained = build_spec(
                config,
                GOAL,
                run=f"choose-{name}-n{workers}",
                workers=workers,
                protocol=_to_goal(asked, goal, rank),
                per_worker_batch=None,
                completed_by=BY_ADVICE,
                seeds=asked.seeds,
                **shared,
            )
            yield from launches(config, trained)


def _to_goal(asked: ChooseConfig, goal: Goal, rank: int) -> GoalProtocol:
    """The training of the cell of a rank among those of its number of workers."""
    return GoalProtocol(
        goal_error_frac=goal.error_frac,
        evaluation_samples=goal.budget.evaluation_samples,
        max_steps=goal.budget.max_steps,
        max_epochs=goal.budget.max_epochs,
        rank_of_workers=rank,
        deadline_s=asked.limits.deadline_s,
        worker_hours=asked.limits.worker_hours,
        memory_bytes=asked.limits.memory,
    )


def _shared(config: Config, asked: ChooseConfig, goal: Goal) -> dict[str, Any]:
    """What all specs have: they train as the search did, but for the rate and momentum it found."""
    loading = {} if config.own else {"loader": "resident", "loader_workers": 0}
    return {
        "study": "choose",
        "arm": asked.optimizer,
        "model": network_of(config, goal.model),
        "data": goal.data.model_copy(update=loading),
        "training": TrainingConfig(
            optimizer="sgd",
            momentum=0.0 if asked.optimizer == "sgd" else ANY_MOMENTUM,
            nesterov=asked.optimizer == "nesterov",
            weight_decay=goal.weight_decay,
            precision=config.training.precision,
            cudnn_benchmark=config.training.cudnn_benchmark,
        ),
    }


def limits(asked: ChooseConfig) -> list[dict[str, Any]]:
    """What the choice has to keep to, what it makes least, and what it calls a good prediction."""
    given = asked.limits.model_dump()
    by_cost = asked.limits.deadline_s is not None and asked.limits.worker_hours is None
    predicted = sorted(set(asked.predicted_workers) - set(asked.workers))
    row = {
        "memory_bytes": given.pop("memory"),
        "aim": asked.aim or ("cost" if by_cost else "time"),
        "predicted_workers": " ".join(map(str, predicted)),
        "prediction_factor": asked.prediction_factor,
    }
    return [given | row]


PLANS = {"choose": runs}
CONFIGURED = {"limits": ("choose", limits)}
