"""What stood in for the lab, and what formulas and measured ratios say of the lab as asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import (
    added_step_seconds,
    affordable_epoch_seconds,
    affordable_hidden_seconds,
    bounded_speedup,
    level_latency_seconds,
    loader_steps,
    ring_allreduce_bytes,
    ring_allreduce_seconds,
)
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    estimate_of,
    exactly,
    interval_columns,
    inverse,
    product,
)
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import side
from dpscale.records.columns import TableRow, columns, intervals, reals
from dpscale.studies.cluster.lab import Lab, lab
from dpscale.vocabulary import words

# Links to look up in a data sheet: 1, 10 and 100 Gb/s; the last is about PCIe 3.0 x16 too.
GIVEN_BYTES_PER_S = (0.125e9, 1.25e9, 12.5e9)
# Efficiency that a link should leave, even where no communication is hidden.
EFFICIENCY = 0.9
Subject = Literal["network", "data", "batches", "devices", "link"]
Payload = Literal["lab", "here"]
Rule = Literal["kept", "lost", "undecided", "unknown"]
Way = Literal["loopback", "machine", "network"]
Checked = Literal["measured", "to be measured"]
Timed = Literal["Q2", "H3", "E2"]  # questions that time several workers beside one

STAND_INS = words("subject", Subject) | columns("asked here same runs")
TRANSFERS = words("payload", Payload) | columns(
    "payload_bytes workers link_bytes_per_s moved_bytes transfer_s level_latency_s runs"
)
CELLS = (
    columns("workers per_worker_batch global_batch")
    | reals("iterations sent_bytes")
    | columns("link_bytes_per_s transfer_s affordable_base_s affordable_step_s")
    | columns("hidden_step_s reached_frac reached_step_s batch_ratio lr")
    | words("rule_holds", Rule)
    | intervals("speedup_ratio exposed_s")
    | words("checked", Checked)
    | columns("runs")
)
GAINS = (
    words("question", Timed)
    | columns("model workers per_worker_batch largest step_s")
    | intervals("speedup_ratio growth_ratio")
    | reals("added_step_s bound_ratio latency_bound_ratio")
    | side("pace", "speedup_ratio", 1.0)
    | side("to_bound", "speedup_ratio", "bound_ratio")
    | side("growth", "growth_ratio", 1.0)
    | columns("runs")
)


def stand_ins(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return what the lab asks for and what was there in its place, a row a subject."""
    own = _timed(scaling, runs)
    if own.empty:
        return as_table([], STAND_INS)
    asked, alone = lab(), own[own["workers"] == own["workers"].min()]  # more also divide a batch
    sizes = sorted({int(one) for one in alone["per_worker_batch"]})
    pairs: dict[Subject, tuple[str, str]] = {
        "network": (asked.model, _names(own, "model")),
        "data": (asked.dataset, _names(own, "dataset")),
        "batches": (_listed(asked.per_worker_batches), _listed(sizes)),
        "devices": (f"{asked.devices} GPUs", _devices(own)),
        "link": ("machine", _link(own)),
    }
    named = " ".join(own["run"])
    rows = [
        {"subject": subject, "asked": wanted, "here": here, "same": wanted == here, "runs": named}
        for subject, (wanted, here) in pairs.items()
    ]
    return as_table(rows, STAND_INS)


def _timed(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs behind the speed-ups."""
    named = {run for text in scaling["runs"].dropna() for run in text.split()}
    return runs[runs["run"].isin(named) & (runs["status"] == "complete")]


def _names(runs: pd.DataFrame, column: str) -> str:
    return ", ".join(sorted(runs[column].dropna().unique()))


def _listed(sizes: Any) -> str:
    return ", ".join(map(str, sizes))


def on_gpus(devices: Iterable[str | None]) -> bool:
    """Whether devices, by their models, are no cores of a CPU; unknown ones are left out."""
    return not any("cpu" in device.lower() for device in devices if isinstance(device, str))


def _devices(runs: pd.DataFrame) -> str:
    """How many devices the workers of a machine see, and of which kind."""
    count = runs["devices_per_machine"].max()
    kind = "GPUs" if on_gpus(runs["device"]) else "CPU cores"
    return kind if pd.isna(count) else f"{int(count)} {kind}"


def _link(runs: pd.DataFrame) -> Way:
    """What the workers' bytes went over: loopback, the bus of a machine, or a network."""
    if runs["nodes"].max() > 1:
        return "network"
    return "machine" if on_gpus(runs["device"]) else "loopback"


def transfers(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of one all-reduce of the lab's gradients and of these, on given links.

    What the latency of a given link is nobody knows here; at which one it counts follows.
    """
    sizes = _timed(scaling, runs)["payload_bytes"].dropna()
    payloads: dict[Payload, float | None] = {
        "lab": lab().payload_bytes,
        "here": float(sizes.max()) if len(sizes) else None,
    }
    rows = [row for payload, size in payloads.items() if size for row in _on_links(payload, size)]
    return as_table(rows, TRANSFERS)


def _on_links(payload: Payload, size: float) -> Iterator[TableRow]:
    """One all-reduce of so many bytes on each link, for the largest number of workers."""
    workers, own = max(lab().workers), lab().link_bytes_per_s
    moved = ring_allreduce_bytes(size, workers)
    for rate in [*GIVEN_BYTES_PER_S, *([own] if own and own not in GIVEN_BYTES_PER_S else [])]:
        yield {
            "payload": payload,
            "payload_bytes": size,
            "workers": workers,
            "link_bytes_per_s": rate,
            "moved_bytes": moved,
            "transfer_s": moved / rate,
            "level_latency_s": level_latency_seconds(size, workers, rate),
        }


def cells(
    scaling: pd.DataFrame,
    runs: pd.DataFrame,
    communication: pd.DataFrame,
    lr_scaling_elbow: pd.DataFrame,
    message_times: pd.DataFrame,
) -> pd.DataFrame:
    """Return the lab's cells: what formulas say of each, and what was measured where it was run.

    reached_frac: the rate of the largest all-reduces here of as many workers over that of plain
    TCP; the least of several placements, null where they went another way than TCP.
    reached_step_s: affordable_step_s on a link of which they reach that share.
    """
    asked, own = lab(), _timed(scaling, runs)
    if asked.payload_bytes is None or asked.train_samples is None:
        return as_table([], CELLS)
    same = not own.empty and set(zip(own["model"], own["dataset"], strict=True)) == {
        (asked.model, asked.dataset)
    }
    several = [n for n in asked.workers if n > 1]
    rows = [
        _predicted(asked, workers, batch, _reached(workers, message_times))
        | _rate(asked, workers * batch, lr_scaling_elbow)
        | (_measured(workers, batch, scaling, communication) if same else _UNMEASURED)
        for workers in several
        for batch in asked.per_worker_batches
    ]
    return as_table(rows, CELLS)


def _reached(workers: int, messages: pd.DataFrame) -> float | None:
    """The share of plain TCP's rate that the largest all-reduces reach."""
    own = messages[messages["workers"] == workers].sort_values("bytes")
    tcp, reduced = (
        own[own["operation"] == name].groupby("runs")["rate_bytes_per_s"].last()
        for name in ("tcp", "allreduce")
    )
    shares = (reduced / tcp).dropna()
    return float(shares.min()) if len(shares) and shares.max() <= 1 else None


def _predicted(asked: Lab, workers: int, batch: int, reached: float | None) -> TableRow:
    """What follows for a cell from the lab's own numbers, a link's rate and a share of it."""
    size, samples = float(asked.payload_bytes or 0), float(asked.train_samples or 0)
    rate = asked.link_bytes_per_s or GIVEN_BYTES_PER_S[-1]
    iterations = loader_steps(samples, workers * batch)
    sent = ring_allreduce_bytes(size, workers) * iterations
    exchange_s = ring_allreduce_bytes(size, workers) / rate
    # Of N steps of one worker, in place of which N workers make one.
    step_s = affordable_epoch_seconds(exchange_s, workers, EFFICIENCY) / workers
    return {
        "workers": workers,
        "per_worker_batch": batch,
        "global_batch": workers * batch,
        "iterations": iterations,
        "sent_bytes": sent,
        "link_bytes_per_s": rate,
        "transfer_s": sent / rate,
        "affordable_base_s": affordable_epoch_seconds(sent / rate, workers, EFFICIENCY),
        "affordable_step_s": step_s,
        "hidden_step_s": affordable_hidden_seconds(exchange_s, workers, EFFICIENCY) / workers,
        "reached_frac": reached,
        "reached_step_s": step_s / reached if reached else None,
    }


def _rate(asked: Lab, global_batch: int, elbows: pd.DataFrame) -> TableRow:
    """The linear rule's learning rate of a batch, and whether it held here at such a ratio.

    Beyond the ratio at which it lost the reference's error the rate is the reference's, if that
    kept it there, else there is none. Below the reference, and beyond the largest ratio that was
    tried, nothing was measured.
    """
    ratio = global_batch / asked.reference_batch
    complete = elbows[elbows["status"] == "complete"]
    found = complete[complete["rule"] == "linear"]
    if found.empty:
        return {"batch_ratio": ratio, "lr": None, "rule_holds": "unknown"}
    elbow = {name: known(value) for name, value in found.iloc[0].items()}
    kept, lost, largest = (
        elbow[name] / elbow["reference_batch"] if elbow[name] else None
        for name in ("elbow_batch", "lost_batch", "largest_batch")
    )
    unscaled = complete.loc[complete["rule"] == "fixed", "elbow_ratio"].max()  # NaN: nowhere
    holds: Rule = "undecided"
    if lost and ratio >= lost:
        holds = "lost"
    elif ratio < 1 or ratio > max(largest or 1, 1):
        holds = "unknown"
    elif ratio <= max(kept or 1, 1):
        holds = "kept"
    return {
        "batch_ratio": ratio,
        "lr": asked.lr * ratio if holds != "lost" else asked.lr if unscaled >= ratio else None,
        "rule_holds": holds,
    }


_UNMEASURED: TableRow = {"checked": "to be measured"}


def _measured(
    workers: int, batch: int, scaling: pd.DataFrame, communication: pd.DataFrame
) -> TableRow:
    """What a run of the lab itself measured in a cell."""
    ends = ("", "_low", "_high")
    found: TableRow = {}
    weak = scaling[scaling["kind"] == "weak"]
    for table, column in ((weak, "speedup_ratio"), (communication, "exposed_s")):
        cell = table[(table["workers"] == workers) & (table["per_worker_batch"] == batch)]
        for row in cell.head(1).to_dict("records"):
            found |= {f"{column}{end}": row[f"{column}{end}"] for end in ends}
            found["runs"] = row["runs"]
    seen = any(pd.notna(value) for name, value in found.items() if name != "runs")
    return found | {"checked": "measured"} if seen else _UNMEASURED


def worker_gains(
    scaling: pd.DataFrame,
    scaling_least: pd.DataFrame,
    assignment: pd.DataFrame,
    assignment_assigned: pd.DataFrame,
    step_grid: pd.DataFrame,
    link: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return what the same number of workers gains wherever they are timed beside one.

    That number is the largest of which no two share a device, else the largest, of those that all
    questions have. A row a question and batch per worker, ascending, with the step of one worker,
    step_s: in a question the network is one, and its batch alone makes steps longer. H3's steps and
    gains leave its evaluations out; with the assignment's own batch, where another is trained with,
    they are those of its epochs. growth_ratio: the speed-up over that with the question's least
    batch. largest: of the batches of a question, which communicates least for its samples; the best
    of several would owe something to luck. added_step_s: by how much a step of the several is
    longer. bound_ratio: the speed-up that the bytes of the
    gradients leave, at the measured rate of the link; latency_bound_ratio: with its latency too.
    """
    weak = pd.concat([scaling[scaling["kind"] == "weak"], scaling_least], ignore_index=True)
    # T_1 of the launches that a speed-up is of is D/b steps.
    steps = runs.loc[runs["study"] == "scaling", "train_samples"].max() / weak["per_worker_batch"]
    weak = weak.assign(base_step_s=weak["base_epoch_s"] / steps)
    sources: dict[Timed, pd.DataFrame] = {
        "Q2": weak.assign(alone_s=weak["base_step_s"]),
        "H3": _of_h3(assignment, assignment_assigned),
        "E2": step_grid.assign(alone_s=step_grid["step_s"]),
    }
    found = {name: _cells(rows) for name, rows in sources.items()}
    timed = {question: own for question, own in found.items() if own}
    workers = _compared(list(timed.values()))
    fits = link[link["workers"] == workers].dropna(subset="beta_bytes_per_s").to_dict("records")
    described = runs.set_index("run")[["workers", "payload_bytes", "model"]].to_dict("index")
    rows = [
        row | _bound(row, fits, described)
        for question, own in timed.items()
        if workers
        for row in _gains(question, own, workers, described)
    ]
    return as_table(rows, GAINS)


def _of_h3(assignment: pd.DataFrame, assigned: pd.DataFrame) -> pd.DataFrame:
    """The trainings with the linear rule and the epochs with the assignment's batch, by steps."""
    linear = assignment[assignment["rule"] == "linear"]
    # Evaluations, which every worker makes whole, are no steps.
    steps_s = (linear["train_s"] - linear["evaluation_s"].fillna(0.0)) / linear["steps"]
    gained = {
        f"speedup_ratio{end}": linear["workers"] * linear[f"epochs_efficiency_frac{end}"]
        for end in ("", "_low", "_high")
    }
    epochs_s = assigned["epoch_s"] * assigned["per_worker_batch"] / assigned["train_samples"]
    steps = linear.assign(alone_s=steps_s, **gained), assigned.assign(alone_s=epochs_s)
    return pd.concat(steps, ignore_index=True)


Described = Mapping[str, TableRow]  # workers, payload_bytes and model of runs


def _values(described: Described, runs: Iterable[str], column: str) -> set[Any]:
    """What is known of some runs in a column."""
    return {described[run][column] for run in runs if pd.notna(described[run][column])}


def _bound(gain: TableRow, fits: list[TableRow], described: Described) -> TableRow:
    """The speed-ups that bytes leave, alone and with latency; none of an unknown size or link."""
    workers = gain["workers"]
    several = [run for run in gain["runs"].split() if described[run]["workers"] == workers]
    sizes = _values(described, several, "payload_bytes")
    if len(sizes) != 1 or not fits:
        return {}
    (size,), rate = sizes, fits[0]["beta_bytes_per_s"]
    latencies = {"bound_ratio": 0.0, "latency_bound_ratio": fits[0]["alpha_s"]}
    return {
        name: bounded_speedup(
            gain["step_s"], ring_allreduce_seconds(size, workers, alpha_s, rate), workers
        )
        for name, alpha_s in latencies.items()
    }


def _compared(timed: Sequence[Mapping[tuple[int, int], TableRow]]) -> int | None:
    """The largest number of several workers with cells everywhere, of those that share no device.

    Where each number shares some, the largest; None without one.
    """
    counts = [{n for n, _ in cells if n > 1} for cells in timed]
    common = set.intersection(*counts) if counts else set()
    sharing = {n for cells in timed for (n, _), row in cells.items() if row["oversubscribed"]}
    return max(common - sharing or common, default=None)


def _cells(rows: pd.DataFrame) -> dict[tuple[int, int], TableRow]:
    """Complete rows on one node by number of workers and batch per worker."""
    complete = rows[(rows["status"] == "complete") & (rows["nodes"] == 1) & rows["alone_s"].notna()]
    return {(row["workers"], row["per_worker_batch"]): row for row in complete.to_dict("records")}


def _gains(
    question: Timed, cells: dict[tuple[int, int], TableRow], workers: int, described: Described
) -> Iterator[TableRow]:
    """What so many workers gain with each batch per worker that one worker has too."""
    batches = sorted(batch for n, batch in cells if n == workers and (1, batch) in cells)
    gained = [_gain(cells[1, batch], cells[workers, batch], workers) for batch in batches]
    for batch, ratio in zip(batches, gained, strict=True):
        alone, several = cells[1, batch], cells[workers, batch]
        names = " ".join([alone["runs"], several["runs"]])
        models = _values(described, names.split(), "model")
        row: TableRow = {
            "question": question,
            "model": models.pop() if len(models) == 1 else None,
            "workers": workers,
            "per_worker_batch": batch,
            "largest": batch == max(batches),
            "step_s": several.get("base_step_s", alone["alone_s"]),
            "runs": names,
        }
        if ratio.value:
            row["added_step_s"] = added_step_seconds(row["step_s"], ratio.value, workers)
        if batch != min(batches):
            by_launch = [_to_least(cell) for cell in (alone, several)]
            sides = by_launch if all(one.value for one in by_launch) else [ratio, gained[0]]
            row |= interval_columns("growth_ratio", product(sides[0], inverse(sides[1])))
        yield row | interval_columns("speedup_ratio", ratio)


def _gain(alone: TableRow, several: TableRow, workers: int) -> Estimate:
    """The speed-up of a cell; where it has none, the samples a second over those of one worker."""
    if "speedup_ratio" in several:
        return estimate_of(several, "speedup_ratio")._replace(repeats=several.get("launches") or 0)
    return _throughputs(alone, several, workers)


def _to_least(cell: TableRow) -> Estimate:
    """The step over that of the least batch by launch, where a launch times every batch."""
    return estimate_of(cell, "to_least_step_ratio") if "to_least_step_ratio" in cell else UNKNOWN


def _throughputs(alone: TableRow, several: TableRow, workers: int) -> Estimate:
    """The samples a second of several workers over those of one, each with the same batch."""
    base, step = (
        Estimate(row["step_s"], row["step_s_low"], row["step_s_high"], row["launches"])
        for row in (alone, several)
    )
    return product(exactly(workers), base, inverse(step))


TABLES = {
    "worker_gains": Table(
        worker_gains,
        [
            *("scaling", "scaling_least", "assignment", "assignment_assigned"),
            *("step_grid", "link", "runs"),
        ],
        GAINS,
    ),
    "stand_ins": Table(stand_ins, ["scaling", "runs"], STAND_INS),
    "lab_transfers": Table(transfers, ["scaling", "runs"], TRANSFERS),
    "lab_cells": Table(
        cells, ["scaling", "runs", "communication", "lr_scaling_elbow", "message_times"], CELLS
    ),
}
