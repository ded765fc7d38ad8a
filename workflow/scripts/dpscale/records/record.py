"""What one run leaves behind: its outcome, its provenance and what it counted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator, with_config
from typing_extensions import TypedDict

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Status = Literal["complete", "out_of_memory", "diverged", "exceeds_dataset", "unavailable"]
# Statuses of planned runs that left no record are added by `tidy`.
MEASURED = ("complete", "diverged")


@with_config(ConfigDict(extra="allow"))
class Provenance(TypedDict):
    """What `dpscale.provenance` says, as far as tables are made of it."""

    fingerprint: str
    host: str
    device: str
    python: str
    versions: dict[str, str | None]
    commit: str | None


@with_config(ConfigDict(extra="allow"))
class RankDevice(TypedDict):
    """What a rank says of its device, as far as tables are made of it."""

    model: str
    num_ooms: NotRequired[Count]
    num_alloc_retries: NotRequired[Count]


class Record(BaseModel):
    """record.json. Times in seconds, sizes in bytes; null where unknown.

    Rows are checked where they are read, by the schemas of the tidy tables (`row_checks`).
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    run: str
    status: Status
    message: str | None = Field(None, description="Why the run is not complete, in one line.")
    spec: dict[str, Any] = Field(description="The run's spec.json.")
    provenance: Provenance
    started_at: str
    finished_at: str
    wall_s: Seconds
    nodes: Count | None = None
    rank_nodes: list[str] = Field([], description="The node of each rank.")
    rank_cores: list[list[int]] = Field([], description="The cores that each rank may use.")
    rank_devices: list[RankDevice] = Field(
        [], description="Of each rank: model, and of a GPU what NVML and its allocator tell."
    )
    oversubscribed: bool | None = None
    workers_per_machine: Count | None = Field(
        None, description="Workers on the machine where a device has most of them."
    )
    devices_per_machine: Count | None = Field(
        None, description="Devices of that machine that its workers see together."
    )
    train_samples: Count | None = None
    test_samples: Count | None = None
    task: dict[str, str] = Field(
        {}, description="Of a user's own file: model, dataset, optimizer and sample, by name."
    )
    parameters: Count | None = Field(None, description="Trainable parameters X.")
    payload_bytes: Count | None = Field(None, description="Bytes of one gradient S.")
    buffer_bytes: Count | None = Field(None, description="Bytes of the buffers that DDP sends.")
    peak_memory_bytes: Count | None = None
    utilisation_frac: Annotated[Seconds, Field(le=1)] | None = None
    startup_s: Seconds | None = Field(
        None, description="From the start of the processes to the first step of a training."
    )
    repeats: list[dict[str, Any]] = []
    replicas: list[dict[str, Any]] = []
    orders: list[dict[str, Any]] = []
    collectives: list[dict[str, Any]] = []
    wire: list[dict[str, Any]] = []
    buckets: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    trials: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    # Rows of tables of a study's own.
    __pydantic_extra__: dict[str, list[dict[str, Any]]]

    @model_validator(mode="after")
    def _ends_after_it_began(self) -> Self:
        if datetime.fromisoformat(self.started_at) > datetime.fromisoformat(self.finished_at):
            raise ValueError(f"started_at is after finished_at, {self.started_at}")
        return self

    def is_of(self, spec: Mapping[str, Any]) -> bool:
        """Return whether this is of the planned spec, and not left from an earlier configuration.

        Of one that earlier runs complete, what it leaves open may differ, and its training.
        """
        if not spec["completed_by"]:
            return all(self.spec.get(key) == value for key, value in spec.items())
        rest = {key: spec[key] for key in spec if key not in ("completed_by", "training")}
        return _completes(self.spec, rest)


def _completes(spec: Any, planned: Any) -> bool:
    """Whether a spec, or a value of it, is the planned one but for what is null in that."""
    if isinstance(planned, dict) and isinstance(spec, dict):
        return all(_completes(spec.get(key), value) for key, value in planned.items())
    return planned is None or bool(spec == planned)
