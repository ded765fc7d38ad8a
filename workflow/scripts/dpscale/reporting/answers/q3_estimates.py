"""Q3.1's four estimates of communication side by side, and how far they disagree."""

from typing import NamedTuple

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_cells import (
    ESTIMATES,
    Finding,
    finding,
    grouped,
    places,
    seconds,
    share,
    spread,
)

FORMULA = [
    r"T_{\text{exposed}} = T_N - T_{\text{no-op}}, \qquad "
    r"T_{\text{overhead}} = T_{\text{no-op}} - T_{\text{copies}}, \qquad "
    r"T_{\text{contention}} = T_{\text{copies}} - \frac{T_1}{N}",
    r"T_N - \frac{T_1}{N} = T_{\text{exposed}} + T_{\text{overhead}} + T_{\text{contention}}",
]
TITLES = {
    "subtraction_s": "Subtraction",
    "exposed_s": "Exposed",
    "span_s": "Span",
    "buckets_s": "All-reduce alone",
}
NAMES = {
    "subtraction_s": "the subtraction",
    "exposed_s": "the exposed time",
    "span_s": "the span",
    "buckets_s": "the all-reduce alone",
}


class Contrast(NamedTuple):
    """Two estimates, and why the first is the longer or the shorter one where it is."""

    one: str
    other: str
    longer: str
    shorter: str


CONTRASTS = (
    Contrast(
        "subtraction_s",
        "exposed_s",
        "it also holds overhead and contention, which are measured beside it",
        "overhead and contention, measured beside it, come out below zero in sum",
    ),
    Contrast(
        "exposed_s",
        "buckets_s",
        "beside the computation it waits for busy cores and slower workers, and it holds the "
        "broadcast of the buffers",
        "part of it runs behind the backward pass, and training waits only for the rest",
    ),
    Contrast(
        "exposed_s",
        "span_s",
        "training also waits outside the span, as for the broadcast of the buffers",
        "the span counts what runs behind the backward pass too",
    ),
    Contrast(
        "span_s",
        "buckets_s",
        "while the backward pass runs, computation and transfer compete for the same machine",
        "the pass with DDP's log has shorter transfers than the one without computation",
    ),
)


def definitions() -> str:
    """Return what each of the four estimates is."""
    return (
        "Four estimates of communication stand side by side. The subtraction is the lab's. The "
        "exposed time is what training waits for: $T_N$ less the epoch in which the same wrapper "
        "(DDP) sends nothing, neither gradients nor buffers, $T_{\\text{no-op}}$. DDP collects the "
        "gradients in buckets and reduces each as soon as the backward pass has filled it (Li et "
        "al., 2020); the span is DDP's own log of the time from the start of the first bucket to "
        "the end of the last. The all-reduce alone repeats the same buckets with no computation "
        "beside them."
    )


def disagreement(inputs: Inputs, rows: list[Row]) -> str:
    """Return how far the estimates disagree, pair by pair, and why."""
    texts = [_contrast(inputs, rows, contrast) for contrast in CONTRASTS]
    return " ".join(text for text in texts if text)


def _contrast(inputs: Inputs, rows: list[Row], contrast: Contrast) -> str:
    both = [row for row in rows if None not in (row.get(contrast.one), row.get(contrast.other))]

    def verdict(row: Row) -> Verdict:
        """Whether the one estimate is longer or shorter than the other."""
        return prose.compare(*(seconds(inputs, row, name) for name in contrast[:2]))

    words = {
        "above": ("is longer than", contrast.longer),
        "below": ("is shorter than", contrast.shorter),
        "indistinct": ("agrees within the intervals with", ""),
        "unknown": ("has too few repeats to be compared with", ""),
    }
    parts: list[str] = []
    for found, group in grouped(both, verdict).items():
        relation, reason = words[found]
        factor = _factor(inputs, group, contrast) if reason else ""
        because = f": {reason}" if reason else ""
        subject = "it" if parts else NAMES[contrast.one]
        parts.append(
            f"{subject} {relation} {NAMES[contrast.other]} {places(group, both)}{factor}{because}"
        )
    return f"{prose.capitalised('; '.join(parts))}." if parts else ""


def _factor(inputs: Inputs, rows: list[Row], contrast: Contrast) -> str:
    """By how much one estimate is a multiple of the other, where both are above zero."""
    ratios = []
    for row in rows:
        pair = [seconds(inputs, row, name) for name in contrast[:2]]
        if {finding(value) for value in pair} == {"communication"}:
            sizes = sorted(float(value.value or 0) for value in pair)
            ratios.append(Value(value=sizes[1] / sizes[0], unit="number"))
    return f", by a factor of {spread(ratios)}" if ratios else ""


def exposure(inputs: Inputs, rows: list[Row]) -> str:
    """Return the share of the epoch in which training waits, for each number of workers."""
    parts = []
    for workers, own in grouped(rows, lambda row: row["workers"]).items():
        kinds = grouped(own, lambda row: finding(seconds(inputs, row, "exposed_s")))
        waits = prose.join([_wait(inputs, kind, group) for kind, group in kinds.items()])
        parts.append(f"for {waits} with {prose.counted(workers, 'worker')}")
    return f"measured directly, training waits for communication {'; '.join(parts)}"


def _wait(inputs: Inputs, kind: Finding, rows: list[Row]) -> str:
    sizes = prose.batches([row["per_worker_batch"] for row in rows])
    if kind == "communication":
        shares = spread([share(inputs, row, "exposed_s") for row in rows])
        return f"{shares} of the epoch at {sizes}"
    return {
        "below noise": f"a time below the noise at {sizes}",
        "negative": f"a time that comes out negative at {sizes}",
        "undecided": f"a time that too few repeats leave undecided at {sizes}",
    }[kind]


def estimates_table(inputs: Inputs, rows: list[Row]) -> Table:
    """Return the table of the four estimates for each cell."""
    return measured_table(
        inputs,
        "Communication in one epoch without loading: four estimates.",
        [
            WORKERS,
            BATCH,
            Column(key="epoch_s", title="Epoch of N workers", unit="s"),
            *(Column(key=name, title=TITLES[name], unit="s") for name in ESTIMATES),
        ],
        rows,
    )
