"""Section of the configuration that describes the cluster-training assignment."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT
from dpscale.config.checks import one_network
from dpscale.config.root import ArmsSection, Config, Problem, Unfollowed
from dpscale.config.sections import (
    MOST_EPOCHS,
    Batch,
    Counts,
    Epochs,
    ModelName,
    Processes,
    Rate,
    Seeds,
    Workers,
)

Rule = Literal["sqrt", "fixed", "fixed_batch"]
Placement = tuple[int, int]  # workers, nodes
ASSIGNED_BATCH = 128  # per worker, of the assignment


class AssignmentConfig(ArmsSection):
    """H1 to H6: one training on N workers, its accuracy, its time and where the time goes."""

    of_accuracy: ClassVar[bool] = True
    follows_schedule: ClassVar[bool] = True

    workers: Counts = Field(
        (1, 2, 4),
        description="Numbers of workers N; 1 is the base of every speed-up. Without it those of "
        "these that have devices.",
    )
    two_node_workers: Annotated[tuple[Workers, ...], Field(max_length=100), DISTINCT] = Field(
        (2, 6, 8),
        description="Numbers of workers that two nodes share evenly; planned where "
        "hardware.workers_per_node is set. Without it those of these that two nodes have.",
    )
    per_worker_batch: Batch = Field(
        ASSIGNED_BATCH,
        description="Batch per worker b; without it at most what the data fill. Where it is not "
        "128, H3 times epochs and trains with 128 too.",
    )
    larger_batches: Annotated[tuple[Batch, ...], Field(max_length=100), DISTINCT] = Field(
        (512, 1024),
        description="H1: further batches of one worker, to see its utilisation. Without it those "
        "of these that the data fill.",
    )
    batch_epochs: Annotated[int, Field(ge=2), MOST_EPOCHS] = Field(
        3, description="H1: epochs with each of them; the first one warms up."
    )
    more_loader_workers: Processes | None = Field(
        None,
        description="H1: processes of the DataLoader with which one worker trains once more with "
        "the assignment's batch of 128, or else with b. null: twice data.loader_workers, at least "
        "one; 0: none, as for resident data.",
    )
    epochs: Epochs = Field(40, description="Epochs of a training.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    model: ModelName | None = Field(
        "mnist_cnn", description="Network; null: that of the lab, as for your own without this key."
    )
    optimizer: Literal["sgd", "adam"] = Field("adam", description="Optimiser.")
    base_lr: Rate = Field(
        0.001, description="Learning rate of one worker; N workers train with N times this rate."
    )
    other_rules: Annotated[tuple[Rule, ...], DISTINCT] = Field(
        ("sqrt", "fixed", "fixed_batch"),
        description="H5: further rules to try at the most workers. sqrt: the rate times the root "
        "of N; fixed: the rate of one worker; fixed_batch: its rate and its global batch, b/N a "
        "worker, and without this key tried where N divides b.",
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return what nodes, a user's own network and the batch leave of the defaults."""
        share, batch = self._each_of_two(config), self.per_worker_batch
        shared = all(batch % workers == 0 for workers, _ in self.widest(config))
        return {
            "two_node_workers": tuple(
                n for n in self.two_node_workers if share is None or n <= 2 * share
            ),
            "model": None if config.own else self.model,
            "larger_batches": tuple(one for one in self.larger_batches if one > batch),
            "other_rules": tuple(r for r in self.other_rules if shared or r != "fixed_batch"),
        }

    def placements(self, config: Config) -> list[Placement]:
        """Return those of `workers`, then those on two nodes."""
        share = config.hardware.workers_per_node
        one = [(workers, -(-workers // (share or workers))) for workers in sorted(self.workers)]
        two = [(workers, 2) for workers in sorted(self.two_node_workers)] if share else []
        return list(dict.fromkeys([*one, *two]))

    def _each_of_two(self, config: Config) -> int | None:
        """The most workers on each of two nodes; None where there is no second node."""
        hardware = config.hardware
        share, devices = hardware.workers_per_node, hardware.devices
        if share and devices and not hardware.allow_oversubscription:
            return min(share, devices // 2)
        return share

    def widest(self, config: Config) -> list[Placement]:
        """Return those of the most workers on one node and on two, where other rules are tried."""
        found = [place for place in self.placements(config) if place[0] > 1]
        return [max(some) for nodes in (1, 2) if (some := [p for p in found if p[1] == nodes])]

    def more_loading(self, config: Config) -> tuple[int, int] | None:
        """Return the batch that is tried with more loading processes, and how many; else None."""
        few, asked = config.data.loader_workers, self.more_loader_workers
        if config.data.loader == "resident" or asked == 0:
            return None
        tried = ASSIGNED_BATCH in (self.per_worker_batch, *self.larger_batches)
        return ASSIGNED_BATCH if tried else self.per_worker_batch, asked or max(1, 2 * few)

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what its optimiser does not have."""
        adam = Unfollowed("nesterov", True, "trains with adam, which has no Nesterov's form")
        return [adam] if self.optimizer == "adam" else []

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch on the most workers, and those of one."""
        yield "per_worker_batch", max(self.placements(config))[0], self.per_worker_batch
        for batch in self.larger_batches:
            yield "larger_batches", 1, batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """No base, batches that are not larger, and workers that cannot share nodes or a batch."""
        yield from one_network(config, "assignment.model", self.model)
        if 1 not in self.workers:
            yield "assignment.workers", "leaves out 1, the base of every speed-up; add it"
        if not self.widest(config):
            yield "assignment.workers", "has nothing to set against 1; add a number"
        if min(self.larger_batches, default=self.per_worker_batch + 1) <= self.per_worker_batch:
            yield (
                "assignment.larger_batches",
                f"{min(self.larger_batches)} is not larger than assignment.per_worker_batch = "
                f"{self.per_worker_batch}, which is measured anyway; leave it out",
            )
        if 0 < (self.more_loader_workers or 0) <= config.data.loader_workers:
            yield (
                "assignment.more_loader_workers",
                f"{self.more_loader_workers} is not more than data.loader_workers = "
                f"{config.data.loader_workers}, which is measured anyway; raise it, or set it to 0",
            )
        for workers, _ in self.widest(config) if "fixed_batch" in self.other_rules else ():
            if self.per_worker_batch % workers:
                yield (
                    "assignment.other_rules",
                    f"fixed_batch shares assignment.per_worker_batch = {self.per_worker_batch} "
                    f"among {workers} workers, which do not divide it; leave it out",
                )
        share = self._each_of_two(config)
        for workers in self.two_node_workers:
            if share is None:
                continue
            if workers % 2:
                yield (
                    "assignment.two_node_workers",
                    f"{workers} workers cannot be shared by two nodes evenly; the nearest valid is "
                    f"{workers - 1 or 2}",
                )
            elif workers > 2 * share:
                yield (
                    "assignment.two_node_workers",
                    f"{workers} workers need more than {share} on each of two nodes, the most by "
                    f"hardware.workers_per_node and devices; the largest valid is {2 * share}",
                )


SECTIONS = {
    "assignment": (
        AssignmentConfig | None,
        Field(None, description="H1 to H6: the cluster-training assignment."),
    )
}
