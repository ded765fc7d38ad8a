"""Sections of the configuration for Q5 and Q7: what the workers agree on."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import MOST_EPOCHS, Batch, Repeats, Seeds, Workers


class ReplicasConfig(StudySection):
    """Q5 and Q7: the sampler's epoch number, and the broadcast of buffers."""

    of_accuracy: ClassVar[bool] = True
    follows_schedule: ClassVar[bool] = True

    workers: Workers = Field(2, description="Number of workers N.")
    per_worker_batch: Batch = Field(32, description="Batch per worker.")
    epochs: Annotated[int, Field(ge=2), MOST_EPOCHS] = Field(5, description="Epochs of training.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch."""
        yield "per_worker_batch", self.workers, self.per_worker_batch


class DataParallelConfig(StudySection):
    """Q5: torch's DataParallel timed against DistributedDataParallel; needs several GPUs."""

    devices: Workers = Field(2, description="GPUs that take part.")
    per_worker_batch: Batch = Field(32, description="Batch per GPU.")
    repeats: Repeats = Field(1, description="Timed repeats in each launch.")

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch."""
        yield "per_worker_batch", self.devices, self.per_worker_batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """A compiled network, which the threads of DataParallel cannot have, and too few GPUs."""
        hardware = config.hardware
        if hardware.device == "cuda" and hardware.devices and self.devices > hardware.devices:
            offered = f"hardware.devices offers {hardware.devices}"
            yield "data_parallel.devices", f"{offered}; use at most those, or set it to null"
        share = hardware.workers_per_node
        if hardware.device == "cuda" and share and self.devices > share:
            yield "data_parallel.devices", f"one node has {share}; use at most those"
        if config.training.compile and config.hardware.device == "cuda":
            yield (
                "data_parallel",
                "DataParallel copies the network to its threads in each step, where torch.compile "
                "does not follow; set it to null, or training.compile to false",
            )


SECTIONS = {
    "replicas": (
        ReplicasConfig | None,
        Field(ReplicasConfig(), description="Q5, Q7: sampler epoch and buffer broadcast."),
    ),
    "data_parallel": (
        DataParallelConfig | None,
        Field(DataParallelConfig(), description="Q5: DataParallel against DDP, several GPUs."),
    ),
}
