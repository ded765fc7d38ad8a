"""The parts of the report, in its order."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A part of the report; report/part_<name>.html.j2 opens it.

    name: in the configuration's report.parts; letter: what the ids of its questions begin with.
    """

    name: str
    title: str
    letter: str
    questions: tuple[str, ...] = ()


PARTS = (
    Part("lab", "The data-parallel lab", "Q"),
    Part("assignment", "The cluster-training assignment", "H"),
    Part("studies", "Studies of large batches", "S"),
    Part("engineering", "An engineer's questions", "E"),
    Part("audit", "Audit of hand-collected tables", "T"),
)
