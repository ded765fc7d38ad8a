"""Section of the configuration that describes the cluster-training assignment."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dpscale.config.sections import ModelName, PositiveFloat, PositiveInt, Section
from dpscale.config.studies import Counts, Seeds, Workers, distinct

Rule = Literal["sqrt", "fixed", "fixed_batch"]


class AssignmentConfig(Section):
    """H1 to H6: one training on N workers, its accuracy, its time and where the time goes."""

    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N; 1 is the base of every speed-up."
    )
    two_node_workers: Annotated[tuple[Workers, ...], AfterValidator(distinct)] = Field(
        (2, 6, 8),
        description="Numbers of workers that two nodes share evenly; planned where "
        "hardware.workers_per_node is set.",
    )
    per_worker_batch: PositiveInt = Field(128, description="Batch per worker b.")
    larger_batches: Annotated[tuple[PositiveInt, ...], AfterValidator(distinct)] = Field(
        (512, 1024), description="H1: further batches of one worker, to see its utilisation."
    )
    batch_epochs: Annotated[int, Field(ge=2)] = Field(
        3, description="H1: epochs with each of them; the first one warms up."
    )
    epochs: PositiveInt = Field(40, description="Epochs of a training.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    model: ModelName | None = Field("mnist_cnn", description="Network; null: that of the lab.")
    optimizer: Literal["sgd", "adam"] = Field("adam", description="Optimiser.")
    base_lr: PositiveFloat = Field(
        0.001, description="Learning rate of one worker; N workers train with N times this rate."
    )
    other_rules: Annotated[tuple[Rule, ...], AfterValidator(distinct)] = Field(
        ("sqrt", "fixed", "fixed_batch"),
        description="H5: further rules to try at the most workers. sqrt: the rate times the root "
        "of N; fixed: the rate of one worker; fixed_batch: its rate and its global batch, b/N a "
        "worker.",
    )
    repeats: Annotated[int, Field(ge=5)] = Field(
        5, description="H4: repeats of each timed arm at least."
    )
    steps: PositiveInt = Field(20, description="H4: steps of an arm in one repeat.")
    interval_frac: PositiveFloat = Field(
        0.05,
        description="H4: repeat until 95% intervals of differences between arms are this share "
        "of the step.",
    )
    budget_s: PositiveFloat = Field(
        20.0, description="H4: seconds after which a timed run starts no further repeat."
    )
