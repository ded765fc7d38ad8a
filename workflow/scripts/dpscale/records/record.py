"""What one run leaves behind: its outcome, its provenance and what it counted."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["complete", "out_of_memory", "diverged", "exceeds_dataset", "unavailable"]
# Statuses of planned runs that left no record are added by `tidy`.
MEASURED = ("complete", "diverged")


class Record(BaseModel):
    """record.json. Times in seconds, sizes in bytes; null where unknown."""

    model_config = ConfigDict(frozen=True, extra="allow")

    run: str
    status: Status
    message: str | None = Field(None, description="Why the run is not complete, in one line.")
    spec: dict[str, Any] = Field(description="The run's spec.json.")
    provenance: dict[str, Any]
    started_at: str
    finished_at: str
    wall_s: float
    nodes: int | None = None
    rank_nodes: list[str] = Field([], description="The node of each rank.")
    oversubscribed: bool | None = None
    workers_per_machine: int | None = Field(
        None, description="Workers on the machine where a device has most of them."
    )
    devices_per_machine: int | None = Field(
        None, description="Devices of that machine that its workers see together."
    )
    train_samples: int | None = None
    test_samples: int | None = None
    task: dict[str, str] = Field(
        {}, description="Of a user's own file: model, dataset, optimizer and sample, by name."
    )
    parameters: int | None = Field(None, description="Trainable parameters X.")
    payload_bytes: int | None = Field(None, description="Bytes of one gradient S.")
    buffer_bytes: int | None = Field(None, description="Bytes of the buffers that DDP sends.")
    peak_memory_bytes: int | None = None
    utilisation_frac: float | None = None
    startup_s: float | None = Field(
        None, description="From the start of the processes to the first step of a training."
    )
    epochs: list[dict[str, Any]] = []
    replicas: list[dict[str, Any]] = []
    orders: list[dict[str, Any]] = []
    collectives: list[dict[str, Any]] = []
    wire: list[dict[str, Any]] = []
    buckets: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    trials: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []
    # Rows of tables of a study's own.
    __pydantic_extra__: dict[str, list[dict[str, Any]]]

    def is_of(self, spec: Mapping[str, Any]) -> bool:
        """Return whether this is of the planned spec, and not left from an earlier configuration.

        A spec planned without a batch is completed before its run: those fields may differ.
        """
        completed = {"per_worker_batch", "training", "lr_reference_batch", "withheld"}
        unsettled = spec["per_worker_batch"] is None or spec["lr_reference_batch"] is not None
        ignored = completed if unsettled else set()
        return all(self.spec.get(key) == value for key, value in spec.items() if key not in ignored)
