"""S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

from collections.abc import Iterator
from typing import Any

from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig
from dpscale.plan.spec import Spec, build_spec, network_of
from dpscale.studies.steps_to_goal import SEARCH
from dpscale.studies.steps_to_goal.config import Search, StepsToGoalConfig

STUDY = "steps_to_goal"


def runs(config: Config, study: StepsToGoalConfig) -> Iterator[Spec]:
    """One run for each network and optimiser: the searches at all its batch sizes."""
    noise = study.noise
    for model in study.models:
        sizes = tuple(sorted(model.batch_sizes or study.batch_sizes))
        # The noise scale belongs to a batch in the middle, where the study's own has none.
        middle = min(sizes, key=lambda size: abs(size.bit_length() - noise.batch.bit_length()))
        for optimizer in model.optimizers:
            search = Search(
                optimizer=optimizer,
                batch_sizes=sizes,
                goal_error_frac=model.goal_error_frac,
                trials=study.trials,
                space=study.space,
                budget=study.budget,
                finalists=study.finalists,
                selection_seeds=study.selection_seeds,
                stacked_samples=study.stacked_samples,
                noise=noise.model_copy(update={"batch": middle}),
                expected=study.expected,
            )
            yield build_spec(
                config,
                SEARCH,
                run=f"{STUDY}-{model.network(config)}-{optimizer}",
                study=STUDY,
                arm=optimizer,
                workers=1,
                per_worker_batch=max(sizes),
                seeds=study.seeds,
                data=study.data(config),
                model=network_of(config, model.name),
                # Precision is the configuration's; the rest is searched, or the study's.
                training=TrainingConfig(
                    optimizer="sgd",
                    nesterov=optimizer == "nesterov",
                    weight_decay=study.weight_decay,
                    precision=config.training.precision,
                    cudnn_benchmark=config.training.cudnn_benchmark,
                ),
                protocol=search,
            )


def margins(study: StepsToGoalConfig) -> list[dict[str, Any]]:
    """What counts as the same, in one row: no run is measured otherwise for it."""
    return [{"equivalent_factor": study.equivalent_factor}]


PLANS = {STUDY: runs}
CONFIGURED = {"goal_margins": (STUDY, margins)}
