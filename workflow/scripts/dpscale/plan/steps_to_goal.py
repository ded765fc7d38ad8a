"""S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.config.sections import ModelConfig, TrainingConfig
from dpscale.config.steps_to_goal import SearchedModel, SearchOptimizer, StepsToGoalConfig
from dpscale.plan.spec import Search, Spec, build_spec

STUDY = "steps_to_goal"


def steps_to_goal(config: Config) -> Iterator[Spec]:
    """One run for each network and optimiser: the searches at all its batch sizes."""
    study = config.steps_to_goal
    if study is None:
        return
    for model in study.models:
        sizes = tuple(sorted(model.batch_sizes or study.batch_sizes))
        for optimizer in model.optimizers:
            yield build_spec(
                config,
                "search",
                run=f"{STUDY}-{model.name}-{optimizer}",
                study=STUDY,
                arm=optimizer,
                workers=1,
                per_worker_batch=max(sizes),
                seeds=study.seeds,
                data=config.data.model_copy(
                    update={"validation_frac": study.validation_frac, "augment": False}
                ),
                model=ModelConfig(name=model.name),
                training=_training(config.training, study, optimizer),
                search=_search(study, model, optimizer, sizes),
            )


def _training(
    training: TrainingConfig, study: StepsToGoalConfig, optimizer: SearchOptimizer
) -> TrainingConfig:
    """The configuration's precision; the rest is searched, or of the study."""
    return TrainingConfig(
        optimizer="sgd",
        nesterov=optimizer == "nesterov",
        weight_decay=study.weight_decay,
        precision=training.precision,
    )


def _search(
    study: StepsToGoalConfig,
    model: SearchedModel,
    optimizer: SearchOptimizer,
    sizes: tuple[int, ...],
) -> Search:
    # The noise scale belongs to a batch in the middle, where the study's own has none.
    middle = min(sizes, key=lambda size: abs(size.bit_length() - study.noise.batch.bit_length()))
    return Search(
        optimizer=optimizer,
        batch_sizes=sizes,
        goal_error_frac=model.goal_error_frac,
        trials=study.trials,
        space=study.space,
        budget=study.budget,
        finalists=study.finalists,
        selection_seeds=study.selection_seeds,
        stacked_samples=study.stacked_samples,
        noise=study.noise.model_copy(update={"batch": middle}),
        expected=study.expected,
    )
