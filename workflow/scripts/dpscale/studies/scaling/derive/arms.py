"""Arms of timed runs: an epoch's split, its phases, DDP around one worker, compressed gradients."""

import math
from itertools import groupby
from operator import itemgetter
from typing import Any

import pandas as pd

from dpscale.derive.cells import CELL, Cell, Launches, cells, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.factors import Weights, cause_of, weighted_sums
from dpscale.derive.formulas import epoch_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import COLUMNS, DDP, SUMMANDS, split_of
from dpscale.derive.statistics import CONFIDENCE, interval_columns, median, paired_median_ratio
from dpscale.derive.verdicts import Trend, beside, of_row, side, trend
from dpscale.plan.looks import CONFIDENCE_OF_EACH
from dpscale.records.columns import Columns, columns, intervals, reals
from dpscale.studies.scaling import AGAIN, LOOKED, PLANNED
from dpscale.studies.scaling.config import Hook
from dpscale.vocabulary import words

PARTS = ("subtraction", "compute", "contention", "straggler", "overhead", "exposed")
# Why seconds are no time that a share or a rate follows from, by where they lie of zero.
NO_TIME = {
    "below": "negative",
    "indistinct": "possibly zero",
    "unknown": "possibly zero, for want of repeats",
}
NOTED: Columns = (
    columns(" ".join(f"{part}_share_frac" for part in PARTS))
    | words("no_time", NO_TIME.values())
    | words("subtraction_trend", Trend)
    | words("cause", SUMMANDS)
)
SPLIT_COLUMNS: Columns = COLUMNS | NOTED
CAUSE_COLUMNS: Columns = columns("workers cells oversubscribed runs") | words("cause", SUMMANDS)
ONE_WORKER_COLUMNS: Columns = (
    columns("per_worker_batch workers")
    | words("place", ("base", "every", "waiting", "sweep"))
    | intervals("epoch_s")
    | words("to_base")
    | columns("runs")
)
DDP_AT_ONE_COLUMNS: Columns = (
    columns("per_worker_batch status bare_epoch_s ddp_epoch_s")
    | intervals("overhead_frac")
    | columns("repeats runs")
    | side("overhead_side", "overhead_frac")
)
COMPRESSION_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch")
    | words("hook", Hook)
    | columns("status")
    | intervals("step_s")
    | columns("base_step_s")
    | intervals("step_ratio")
    | columns("payload_bytes base_payload_bytes bytes_ratio interface_bytes base_interface_bytes")
    | columns("interface_ratio runs")
    | side("step_side", "step_ratio", 1.0)
    | reals("payload_bytes")
)
PHASE_COLUMNS: Columns = columns(
    "run study arm workers per_worker_batch phase epoch_s share_frac nodes repeats kind"
) | columns("status")
PHASES = ["load", "copy", "forward", "backward", "update"]
WAITING_PHASES = ("forward", "backward")  # buffers are broadcast before one, gradients sent in one
WAITING: Weights = {DDP: 1, "noop_hook": -1}
WAITING_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch")
    | intervals(" ".join(f"{phase}_wait_s" for phase in WAITING_PHASES))
    | side("forward_wait_side", "forward_wait_s")
    | columns("buffer_bytes runs")
)
OF_RUN = ["run", "kind", "study", "arm", "workers", "nodes", "per_worker_batch"]


def communication(
    epoch_times: pd.DataFrame, spans: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the split of an epoch of each (workers, nodes, b) whose b one worker ran too.

    Seconds of an epoch of D samples without loading, medians over launches, those that looks added
    too, with their intervals. base_epoch_s is T_1, of one-worker runs of the same b, and compute_s
    is T_1/N; subtraction_s = T_N - T_1/N. exposed_s = T_N - T_noop,
    overhead_s = T_noop - T_reference, contention_s = T_reference - T_1/N: they add up to the
    subtraction; exposed_lead_s, overhead_lead_s and contention_lead_s: each less the other two.
    straggler_s, a part of contention, is the slowest copy against the mean copy; span_s is DDP's
    own log; buckets_s the all-reduce alone; broadcast_s = T_N - T_no_broadcast, null where there
    are no buffers, and unisolated_s the waiting less it and buckets_s; solo_epoch_s of rank 0 alone
    in the run of N. Arms of N workers are paired by launch; null where an arm was not measured.
    launch_spread_frac: of T_N. below_noise and exposed_below_noise: the interval covers 0; null
    without one. loaded_epoch_s: of the same cell with loading. One worker's row is zero but for its
    computation. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, PLANNED, AGAIN)
    # Of a network of the user's own it is planned before it is known that it has no buffers.
    without = planned.loc[planned["buffer_bytes"] == 0, "run"]
    idle = (epoch_times["arm"] == "no_broadcast") & epoch_times["run"].isin(without)
    return split_of(planned, epoch_times[~idle], spans, confidence_of(runs))


def confidence_of(runs: pd.DataFrame) -> float:
    """Return the confidence of an interval: that of one of several looks where there are looks."""
    return CONFIDENCE if in_study(runs, LOOKED).empty else CONFIDENCE_OF_EACH


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes what the parts of an epoch are of it, and how the subtraction goes over the batches.

    A share is null where the interval does not put the part above zero, for the subtraction with
    the reason in no_time. cause: the part that is at least half of the subtraction.
    """
    for row in rows:
        row |= dict.fromkeys(NOTED)
        row["cause"] = cause_of(row, list(SUMMANDS), "subtraction")
        for part in PARTS:
            if row["epoch_s"] and of_row(row, f"{part}_s") == "above":
                row[f"{part}_share_frac"] = row[f"{part}_s"] / row["epoch_s"]
        if row["subtraction_s"] is not None:
            row["no_time"] = NO_TIME.get(of_row(row, "subtraction_s"))
    timed = [row for row in rows if row["subtraction_s"] is not None]
    over_batches(timed, "subtraction_s", "subtraction_trend")


def over_batches(rows: list[dict[str, Any]], column: str, name: str) -> None:
    """Notes in the rows of each N of several how a column goes from the least b to the largest."""
    several = [row for row in rows if row["workers"] > 1]
    several.sort(key=itemgetter("workers", "per_worker_batch"))
    for _, of_workers in groupby(several, itemgetter("workers")):
        if (own := list(of_workers))[1:]:
            moves = trend(own, column)
            for row in own:
                row[name] = moves


def split_causes(communication: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number of several workers: the cause that all its cells have.

    Of cells that were measured arm by arm; null where they have none, or different ones. That all
    of several verdicts hold needs no correction for their number.
    """
    measured = communication[communication["workers"] > 1].dropna(subset="contention_s")
    rows = [
        {
            "workers": workers,
            "cells": len(own),
            "cause": own["cause"].iloc[0] if own["cause"].nunique(dropna=False) == 1 else None,
            "oversubscribed": own["oversubscribed"].all(),
            "runs": " ".join(own["runs"]),
        }
        for workers, own in measured.groupby("workers")
    ]
    return as_table(rows, CAUSE_COLUMNS)


def one_worker(
    communication: pd.DataFrame, sweep: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one worker's epoch without loading wherever it was measured, a row for each place.

    place: `base` for T_1 as the most workers have it, `every` for all of its launches where these
    are more, `waiting` for rank 0 alone in a run of several workers, `sweep` for Q1, scaled to the
    D samples of the others. to_base: beside T_1 of the same b.
    """
    rows: list[dict[str, Any]] = []
    samples = known(in_study(runs, PLANNED)["train_samples"].max())
    swept = {row["per_worker_batch"]: row for row in sweep.to_dict("records")}
    of_cells = sorted(communication.to_dict("records"), key=itemgetter("per_worker_batch"))
    for batch, own in groupby(of_cells, itemgetter("per_worker_batch")):
        whole = list(own)
        alone = [row for row in whole if row["workers"] == 1]
        several = [row for row in whole if row["workers"] > 1]
        base = whole[-1] | {"workers": 1, "runs": whole[-1]["base_runs"]}
        places = [("base", base, "base_epoch_s", 1.0)]
        places += [
            ("every", row, "epoch_s", 1.0)
            for row in alone
            if several and (row["launches"] or 0) > (several[-1]["launches"] or 0)
        ]
        places += [("waiting", row, "solo_epoch_s", 1.0) for row in several]
        if (row := swept.get(batch)) and samples and row["train_samples"]:
            places.append(
                ("sweep", row | {"workers": 1}, "epoch_s", samples / row["train_samples"])
            )
        found = [
            {"per_worker_batch": batch, "place": place, "workers": row["workers"]}
            | {f"epoch_s{end}": row[f"{column}{end}"] * scale for end in ("", "_low", "_high")}
            | {"runs": row["runs"]}
            for place, row, column, scale in places
            if known(row[column]) is not None
        ]
        rows += [
            row | {"to_base": None if row is found[0] else beside(row, found[0], "epoch_s")}
            for row in found
            if found[0]["place"] == "base"
        ]
    return as_table(rows, ONE_WORKER_COLUMNS)


def with_cells(
    communication: pd.DataFrame, runs: pd.DataFrame
) -> list[tuple[dict[str, Any], Cell]]:
    """Return the rows of several workers of `communication`, each with its cell of the runs."""
    by_key = {cell[:3]: cell for cell in cells(in_study(runs, "scaling"))}
    rows = communication[communication["workers"] > 1].to_dict("records")
    return [(row, by_key[tuple(known(row[name]) for name in CELL)]) for row in rows]


def ddp_at_one(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one worker's epoch with and without DDP; overhead_frac = with / without - 1.

    Seconds of an epoch of D samples without loading, medians of interleaved repeats; null where
    DDP at one worker was not measured. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    times = Launches(epoch_times)
    rows = []
    for cell in cells(planned[planned["workers"] == 1]):
        bare, wrapped = (times.epoch_s(cell, arm) for arm in (DDP, "ddp_of_one"))
        ratio = interval_columns("overhead_frac", paired_median_ratio(wrapped, bare))
        over = {name: None if bound is None else bound - 1 for name, bound in ratio.items()}
        epochs = {"bare_epoch_s": median(bare).value, "ddp_epoch_s": median(wrapped).value}
        rows.append(cell.columns() | epochs | over | {"repeats": len(wrapped) or None})
    return as_table(rows, DDP_AT_ONE_COLUMNS)


def _iteration_bytes(
    cell: Cell, arm: str, collectives: pd.DataFrame, wire: pd.DataFrame
) -> tuple[float, float]:
    """Return the gradients' bytes of a counted iteration of an arm, and those of all interfaces.

    NaN where they were not counted.
    """
    reduced, sent = (
        table[table["run"].isin(cell.runs) & (table["timed_arm"] == arm)]
        for table in (collectives, wire)
    )
    gradients = reduced[reduced["purpose"] == "gradient bucket"].groupby(["run", "iteration"])
    by_run = sent.groupby("run").agg({"sent_bytes": "sum", "iterations": "first"}).astype(float)
    interfaces = by_run["sent_bytes"].sum(min_count=1) / by_run["iterations"].sum(min_count=1)
    return gradients["bytes"].sum().astype(float).mean(), interfaces


def _hook_row(
    cell: Cell, hook: str, times: Launches, collectives: pd.DataFrame, wire: pd.DataFrame
) -> dict[str, Any]:
    own, base = (times.epoch_s(cell, arm) for arm in (hook, DDP))
    payload, sent = _iteration_bytes(cell, hook, collectives, wire)
    base_payload, base_sent = _iteration_bytes(cell, DDP, collectives, wire)
    return {
        **cell.columns(),
        **interval_columns("step_s", median(own / cell.iterations)),
        **interval_columns("step_ratio", paired_median_ratio(own, base)),
        "hook": hook,
        "base_step_s": median(base / cell.iterations).value,
        "payload_bytes": payload,
        "base_payload_bytes": base_payload,
        "bytes_ratio": payload / base_payload if base_payload else None,
        "interface_bytes": sent,
        "base_interface_bytes": base_sent,
        "interface_ratio": sent / base_sent if base_sent else None,
    }


def compression(
    epoch_times: pd.DataFrame, collectives: pd.DataFrame, wire: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return step time and bytes of each compression hook beside those of plain DDP.

    Step seconds are medians, step_ratio = hook / plain of the same rounds; payload_bytes are those
    of the gradients of one worker in one counted step, interface_bytes those of all workers
    together. A run without a record is one row with its status. Null where unknown.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "compression")
    require_same_machine(planned)
    times = Launches(epoch_times)
    rows = []
    for cell in cells(planned):
        arms = epoch_times.loc[epoch_times["run"].isin(cell.runs), "arm"].dropna()
        hooks = sorted(set(arms) - {DDP}) if cell.status == "complete" else []
        rows += [_hook_row(cell, hook, times, collectives, wire) for hook in hooks]
        if not hooks:
            rows.append(cell.columns() | {"payload_bytes": None})
    return as_table(rows, COMPRESSION_COLUMNS)


def _phases_of_repeats(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return seconds per epoch of D samples of each phase, a row for each repeat of a run's arm.

    The mean over ranks; a repeat of a training run is one epoch of one seed.
    """
    full = steps_of_full_batches(steps, runs)
    full = full[full["forward_s"].notna()]  # an arm that does not train has no phases
    keys = [*OF_RUN, "train_samples", "seed", "repeat", "epoch"]
    by_repeat = full.groupby(keys, dropna=False, sort=False)
    sums = by_repeat[["samples", "step_s", *(f"{phase}_s" for phase in PHASES)]].sum()
    sums = sums.rename(columns=lambda name: name.removesuffix("_s"))
    sums["other"] = sums["step"] - sums[PHASES].sum(axis=1)
    train_samples = sums.index.get_level_values("train_samples").astype(float)
    mean_s = sums[[*PHASES, "other"]].div(by_repeat["rank"].nunique(), axis=0)
    return mean_s.apply(epoch_seconds, args=(sums["samples"], train_samples)).astype(float)


def phases(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each phase of an epoch of D samples, and its share of all phases.

    One row for each (run, arm, phase): the mean over ranks, the median over repeats. "other" is
    what of a step no phase covers. A run without a record is one row with its status and nulls;
    probes of the memory boundary are left out.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = runs[runs["kind"].isin(["timed", "training"]) & (runs["study"] != "boundary")]
    require_same_machine(planned)
    by_run = _phases_of_repeats(steps, planned).groupby(OF_RUN, dropna=False, sort=False)
    medians = by_run.median()
    rows = planned.loc[planned["status"] != "complete", [*OF_RUN, "status"]].to_dict("records")
    found = []
    for key, seconds, count in zip(medians.index, medians.to_numpy(), by_run.size(), strict=True):
        whole = dict(zip(OF_RUN, key, strict=True)) | {"status": "complete", "repeats": count}
        shares = seconds / (seconds.sum() or math.nan)
        for phase, phase_s, share in zip(medians, seconds, shares, strict=True):
            found.append(whole | {"phase": phase, "epoch_s": phase_s, "share_frac": share})
    return as_table([*found, *rows], PHASE_COLUMNS)


def waiting_phases(phases: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return how much longer DDP's passes are than those of DDP that sends nothing.

    Seconds of an epoch of D samples without loading, means over ranks, of each (workers, nodes, b)
    that timed both, paired by launch. Before the forward pass DDP broadcasts buffer_bytes from rank
    0; in either pass workers wait for each other, too. Raises MixedMachinesError for runs of
    different machines.
    """
    planned = in_study(runs, PLANNED, AGAIN)
    require_same_machine(planned)
    timed = phases["phase"].isin(WAITING_PHASES) & phases["arm"].isin(WAITING)
    several = in_study(phases[timed & (phases["workers"] > 1)], PLANNED, AGAIN)
    wide = several.pivot(index=[*CELL, "run"], columns=["phase", "arm"], values="epoch_s").dropna()
    places = wide.groupby(level=CELL, dropna=False).indices
    names, buffers = wide.index.get_level_values("run"), planned.set_index("run")["buffer_bytes"]
    rows = [
        dict(zip(CELL, key, strict=True))
        | {"runs": " ".join(names[own]), "buffer_bytes": buffers[names[own[0]]]}
        for key, own in places.items()
    ]
    for phase in WAITING_PHASES if rows else ():
        of_phase = wide[phase]
        sides = [[of_phase.iloc[own]] for own in places.values()]
        waits = weighted_sums(sides, WAITING, confidence_of(runs))
        for row, wait in zip(rows, waits, strict=True):
            row |= interval_columns(f"{phase}_wait_s", wait)
    return as_table(rows, WAITING_COLUMNS)
