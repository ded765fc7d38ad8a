"""Q3.1's split of an epoch: computation, contention with its stragglers, overhead, exposed."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_cells import PARTS, at, grouped, places, seconds, share, spread

TITLES = {
    "compute_s": "Computation",
    "contention_s": "Contention",
    "straggler_s": "of which stragglers",
    "overhead_s": "Overhead",
    "exposed_s": "Exposed",
}


def sum_of_parts(inputs: Inputs, rows: list[Row]) -> str:
    """Return what lies between subtraction and exposed time, with the largest cell's numbers."""
    row = max(rows, key=lambda row: (row["workers"], row["per_worker_batch"]))
    exposed, overhead, contention, whole = (
        prose.bare(seconds(inputs, row, name))
        for name in ("exposed_s", "overhead_s", "contention_s", "subtraction_s")
    )
    return (
        "What the subtraction holds besides the exposed time is measured too. Overhead is what "
        "DDP costs although it sends nothing; contention is what N copies that never talk to each "
        "other, $T_{\\text{copies}}$, take beyond $T_1/N$. The three add up to the subtraction: "
        f"at {at(row)}, {exposed} exposed, {overhead} of overhead and {contention} of contention "
        f"make {whole}."
    )


def stragglers(inputs: Inputs, rows: list[Row]) -> str:
    """Return the share of waiting for the slowest worker, apart from the time on the wire."""
    shares = [share(inputs, row, "straggler_s") for row in rows]
    shares = [value for value in shares if value.value is not None]
    if not shares:
        return ""
    return (
        "Part of the contention is waiting for the slowest worker (stragglers): the slowest of "
        f"the copies less their mean, {spread(shares)} of the epoch. These copies send nothing, so "
        "it is kept apart from time on the wire, and a faster link would not shorten it."
    )


def shared_devices(inputs: Inputs, rows: list[Row]) -> str:
    """Return whether contention or exposed time is larger where workers share devices."""
    shared = [row for row in rows if row.get("oversubscribed")]
    if not shared:
        return ""

    def verdict(row: Row) -> Verdict:
        """Whether contention is longer or shorter than the exposed time."""
        return prose.compare(*(seconds(inputs, row, f"{n}_s") for n in ("contention", "exposed")))

    words: dict[Verdict, str] = {
        "above": "is longer than the exposed time",
        "below": "is shorter than the exposed time",
        "indistinct": "is not told from the exposed time",
        "unknown": "has too few repeats to be set against the exposed time",
    }
    numbers = prose.join([str(n) for n in sorted({row["workers"] for row in shared})])
    parts = [
        f"{words[found]} {places(group, shared)}"
        for found, group in grouped(shared, verdict).items()
    ]
    return (
        f"At N = {numbers} the workers share cores or devices (oversubscribed), while $T_1/N$ "
        f"assumes a device for each. There, contention {'; '.join(parts)}."
    )


def ddp_at_one(inputs: Inputs) -> str:
    """Return what DDP costs one worker, who has nobody to talk to; empty where not measured."""
    rows = [row for row in inputs.rows("ddp_at_one") if row.get("overhead_frac") is not None]

    def cost(row: Row) -> Value:
        """The share that DDP adds to the epoch of one worker."""
        return measured(row, "overhead_frac", "fraction", inputs.runs_of(row), row["repeats"])

    words: dict[Verdict, str] = {
        "above": "lengthens the epoch, by {}",
        "below": "comes with a shorter epoch, by {}",
        "indistinct": "costs nothing that shows above the noise",
        "unknown": "has too few repeats to be judged",
    }
    parts = []
    for verdict, group in grouped(rows, lambda row: prose.against(cost(row), 0.0)).items():
        sizes = spread([cost(row).model_copy(update={"value": abs(row["overhead_frac"])})
                        for row in group])  # fmt: skip
        batches = prose.batches([row["per_worker_batch"] for row in group])
        parts.append(f"{words[verdict].format(sizes)} at {batches}")
    if not parts:
        return ""
    return (
        "One worker has nobody to talk to, so what DDP adds to its epoch is the wrapper alone: it "
        f"{'; it '.join(parts)}. $T_1$ is the epoch without the wrapper."
    )


def split_tables(inputs: Inputs, rows: list[Row]) -> list[Table]:
    """Return the split of an epoch in seconds, and in shares of the epoch."""
    seconds_of = [Column(key=name, title=TITLES[name], unit="s") for name in PARTS]
    shares_of = [Column(key=name, title=TITLES[name], unit="fraction") for name in PARTS]
    return [
        measured_table(
            inputs, "Where an epoch without loading goes.", [WORKERS, BATCH, *seconds_of], rows
        ),
        measured_table(
            inputs,
            "The same as shares of the epoch, where the interval lies above zero.",
            [WORKERS, BATCH, *shares_of],
            rows,
            lambda row: {name: share(inputs, row, name) for name in PARTS},
        ),
    ]
