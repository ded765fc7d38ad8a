"""What the cluster-training assignment cannot be combined with, found before the graph is built."""

from collections.abc import Iterator

from dpscale.config.finding import Finding
from dpscale.config.root import Config


def assignment_findings(config: Config) -> Iterator[Finding]:
    """Yield (dotted key, reason with the nearest valid value) for each impossible combination."""
    study = config.assignment
    if study is None:
        return
    if 1 not in study.workers:
        yield "assignment.workers", "leaves out 1, the base of every speed-up; add it"
    if study.per_worker_batch in study.larger_batches:
        yield (
            "assignment.larger_batches",
            f"holds assignment.per_worker_batch, {study.per_worker_batch}, which is measured "
            "anyway; leave it out",
        )
    share = config.hardware.workers_per_node
    for workers in study.two_node_workers if share else ():
        if workers % 2:
            yield (
                "assignment.two_node_workers",
                f"{workers} workers cannot be shared by two nodes evenly; the nearest valid is "
                f"{workers - 1 or 2}",
            )
        elif share and workers > 2 * share:
            yield (
                "assignment.two_node_workers",
                f"{workers} workers need more than hardware.workers_per_node = {share} on each of "
                f"two nodes; the largest valid is {2 * share}",
            )
