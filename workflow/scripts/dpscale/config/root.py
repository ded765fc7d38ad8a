"""The whole configuration: one field a section, and the checks across sections."""

from typing import Annotated

from pydantic import Field

from dpscale.config.assignment import AssignmentConfig
from dpscale.config.audit import AuditConfig
from dpscale.config.local_sgd import LocalSgdConfig
from dpscale.config.lr_scaling import LrScalingConfig
from dpscale.config.model_averaging import ModelAveragingConfig
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    ModelConfig,
    Section,
    TrainingConfig,
)
from dpscale.config.steps_to_goal import StepsToGoalConfig
from dpscale.config.studies import (
    CommunicationConfig,
    DataParallelConfig,
    LargeBatchConfig,
    LedgerConfig,
    ReplicasConfig,
    ReportConfig,
    ScalingConfig,
    SweepConfig,
)


class Config(Section):
    """Everything that a workflow run needs to know; a study set to null is left out."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")] = Field(
        description="Folder under results/; letters, digits, - and _."
    )
    report: ReportConfig = Field(ReportConfig(), description="Title block of the report.")
    hardware: HardwareConfig = Field(HardwareConfig(), description="Devices of the workers.")
    data: DataConfig = Field(DataConfig(), description="Dataset and loading.")
    model: ModelConfig = Field(ModelConfig(), description="Network.")
    training: TrainingConfig = Field(TrainingConfig(), description="Optimiser and precision.")
    sweep: SweepConfig | None = Field(SweepConfig(), description="Q1: batch sweep.")
    scaling: ScalingConfig | None = Field(ScalingConfig(), description="Q2, Q3: N workers.")
    communication: CommunicationConfig | None = Field(
        CommunicationConfig(), description="Q3: communication measured directly; needs scaling."
    )
    large_batch: LargeBatchConfig | None = Field(
        LargeBatchConfig(), description="Q4: large batches and remedies."
    )
    replicas: ReplicasConfig | None = Field(
        ReplicasConfig(), description="Q5, Q7: sampler epoch and buffer broadcast."
    )
    ledger: LedgerConfig | None = Field(LedgerConfig(), description="Q6: ledger of collectives.")
    data_parallel: DataParallelConfig | None = Field(
        DataParallelConfig(), description="Q5: DataParallel against DDP, several GPUs."
    )
    assignment: AssignmentConfig | None = Field(
        None, description="H1 to H6: the cluster-training assignment."
    )
    steps_to_goal: StepsToGoalConfig | None = Field(
        None,
        description="S1: steps to a goal error against the batch size.",
    )
    lr_scaling: LrScalingConfig | None = Field(
        None, description="S2: rules that scale the learning rate with the batch, and its warm-up."
    )
    model_averaging: ModelAveragingConfig | None = Field(
        None, description="S3: synchronous model averaging with several learners a device."
    )
    local_sgd: LocalSgdConfig | None = Field(None, description="S4: local and post-local SGD.")
    audit: AuditConfig | None = Field(
        AuditConfig(), description="Tables of timings collected by hand, to check."
    )
