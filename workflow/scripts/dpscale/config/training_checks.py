"""Which settings of `training` go together, and with the rest of the configuration."""

from collections.abc import Iterator

from dpscale.config.finding import Finding
from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig
from dpscale.config.unfollowed import unfollowed_settings


def training_findings(config: Config) -> Iterator[Finding]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    if config.training.epochs != TrainingConfig.model_fields["epochs"].default:
        yield (
            "training.epochs",
            "each study has its own; set assignment.epochs, large_batch.epochs or replicas.epochs",
        )
    yield from _nesterov(config)
    yield from _compiled(config)
    yield from unfollowed_settings(config)


def _nesterov(config: Config) -> Iterator[Finding]:
    if config.training.nesterov and config.training.optimizer == "adam":
        yield "training.nesterov", "adam has no Nesterov's form; set it to false"
    for key, section in (("training", config.training), ("local_sgd", config.local_sgd)):
        if section and section.nesterov and not section.momentum:
            yield (
                f"{key}.nesterov",
                f"is a form of momentum, and {key}.momentum is 0; set one or the other",
            )


def _compiled(config: Config) -> Iterator[Finding]:
    training = config.training
    if training.compile_mode != "default":
        if config.hardware.device == "cpu":
            yield (
                "training.compile_mode",
                f"{training.compile_mode} is for CUDA graphs, which hardware.device: cpu does not "
                "have; the nearest valid is default",
            )
        elif not training.compile:
            yield (
                "training.compile_mode",
                "concerns compiled networks alone; set training.compile: true, or this to default",
            )
    if training.compile and config.data_parallel and config.hardware.device == "cuda":
        yield (
            "data_parallel",
            "DataParallel copies the network to its threads in each step, where torch.compile does "
            "not follow; set it to null, or training.compile to false",
        )
