"""E1: the time, the bytes and the memory of each way of sharing a training."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, first_known, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import allreduce_wire_bytes, sharded_wire_bytes, zero1_wire_bytes
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import DDP
from dpscale.derive.statistics import interval_columns, median, verdict
from dpscale.derive.tables import Table
from dpscale.derive.wire import cost_of, interface_bytes, ledger_bytes
from dpscale.plan import ways
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.strategies import AGAIN, WAYS
from dpscale.studies.strategies.blocks import Blocks
from dpscale.studies.strategies.search import boundary
from dpscale.vocabulary import words

# The arm that times each way.
ARMS = {way: DDP if way == "ddp" else way for way in WAYS}
SHARDED = {name for name, way in ways.WAYS.items() if way.gathers or way.shards_state}
AGREES_FRAC = 0.02  # of bytes: frames of 64 KiB have few headers
# Frames of 1,514 bytes carry 1,448 of them, and an acknowledgement of 66 answers each second one.
FRAMING_FRAC = (1514 + 66 / 2) / 1448 - 1
# Rounding in another order leaves losses as near as ROUNDINGS times the relative rounding error;
# what is farther off than APART times it computes something else.
ROUNDING = {"bf16": 2**-8, "tf32": 2**-11}
ROUNDING_FP32 = 2**-24
ROUNDINGS, APART = 32, 2**14
# Adam divides each gradient by its own size, so that the rounding of one near 0 moves a parameter
# as far as that of a large one: parameters are so many times as far apart. Five steps of a network
# of four hidden layers in micro-batches: 60 times as far as with SGD, and nothing in float64.
ENLARGED = {"adam": 64.0}
APART_MOST_FRAC = 0.1
# Two runs of DDP differ where kernels add in no fixed order; a way that does the same may by chance
# be this many times as far from one of them.
TIMES_OF_ITSELF = 3.0

GAPS = ("ledger_gap_frac", "interface_gap_frac", "excess", "apart")
COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch")
    | words("way", WAYS)
    | intervals("step_s to_ddp_ratio to_fastest_ratio")
    | words("to_ddp to_fastest")
    | columns(
        "advised repeats launches launch_spread_frac payload_bytes predicted_bytes backend_bytes"
    )
    | columns("ledger_bytes interface_bytes ledger_gap_frac interface_gap_frac")
    | words("excess", ("none", "backend", "padding", "other"))
    | words("apart", ("agree", "framing", "above", "below"))
    | columns("oversubscribed status runs")
)


def strategies(
    epoch_times: pd.DataFrame, collectives: pd.DataFrame, wire: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return, for each N and way, the seconds of a step and the bytes that all workers send in it.

    step_s: the median over launches; to_ddp_ratio and to_fastest_ratio: over that of DDP, and of
    the way with the least median, with the verdicts of their intervals against 1 (for the way
    itself 1, and no verdict), which hold for all ways of an N together (`Blocks`). advised: the way
    to take where memory is no matter: DDP, unless another is faster. predicted_bytes: by the
    formula of the way, of a ring, and backend_bytes of the backend's own operations; ledger_bytes:
    of the collectives that were seen, as the backend sends them; interface_bytes: as counted. The
    gaps: see `gaps`. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "strategies")
    planned = planned[planned["kind"] == "timed"]
    require_same_machine(planned)
    times = Launches(epoch_times)
    rows = []
    for cell in cells(planned):
        backend = first_known(planned[planned["run"].isin(cell.runs)]["backend"])
        steps = {way: times.epoch_s(cell, arm) / cell.iterations for way, arm in ARMS.items()}
        for way, arm in ARMS.items():
            first = [table[table["run"] == cell.runs[0]] for table in (collectives, wire)]
            calls, counted = (table[table["timed_arm"] == arm] for table in first)
            rows.append(
                cell.columns()
                | {"way": way}
                | _times(way, steps, cell, times)
                | _bytes(way, cell, calls, counted, backend)
            )
    return as_table(rows, COLUMNS)


def _times(way: str, steps: dict[str, pd.Series], cell: Cell, times: Launches) -> dict[str, Any]:
    """The seconds of a step, and how many times those of DDP and of the fastest way they are."""
    medians = {name: median(own) for name, own in steps.items()}
    timed = [name for name, found in medians.items() if found.value is not None]
    fastest = min(timed, key=lambda name: medians[name].value or 0.0, default=way)
    blocks = Blocks(pd.DataFrame({name: steps[name] for name in timed}))
    row: dict[str, Any] = {"repeats": medians[way].repeats, **times.columns(cell, ARMS[way])}
    row |= interval_columns("step_s", medians[way])
    for name, other in (("to_ddp", "ddp"), ("to_fastest", fastest)):
        if way == other:
            row[f"{name}_ratio"] = None if medians[way].value is None else 1.0
        elif {way, other} <= set(timed):
            ratio = blocks.ratio(way, other)
            row |= interval_columns(f"{name}_ratio", ratio)
            row[name] = verdict(ratio.low, ratio.high, 1.0)
        else:
            row[name] = "unknown"
    return row


def judge_ways(rows: list[dict[str, Any]]) -> None:
    """Notes for each N which way to take where memory is no matter."""
    for row in rows:
        slower = any(
            one["way"] == "ddp" and one["to_fastest"] == "above"
            for one in rows
            if one["runs"] == row["runs"]
        )
        fastest = row["to_fastest"] is None and row["step_s"] is not None
        row["advised"] = fastest if slower else row["way"] == "ddp"


def _bytes(
    way: str, cell: Cell, calls: pd.DataFrame, counted: pd.DataFrame, backend: str | None
) -> dict[str, Any]:
    """The bytes of a step of all workers: by formula, by the ledger and by the interfaces."""
    predicted = sent = None
    if cell.payload_bytes is not None:
        predicted, sent = (
            formula_bytes(way, cell.payload_bytes, cell.workers, cost)
            for cost in (cost_of(None), cost_of(backend))
        )
    row = {
        "predicted_bytes": predicted,
        "backend_bytes": sent,
        "ledger_bytes": ledger_bytes(calls, cell.workers, backend)[0],
        "interface_bytes": interface_bytes(counted)["interface_bytes"],
    }
    return row | gaps(way, row)


def gaps(way: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far the bytes of a step are from those that they are set beside, and why.

    ledger_gap_frac: of the ledger, above the formula; excess: `backend` where the backend's own
    operations explain it, `padding` where more is sent by a way that shards. interface_gap_frac: of
    the interfaces, above the ledger where there is one, else above the backend's operations; apart:
    on which side, `framing` where headers of small frames explain it.
    """
    names = ("predicted_bytes", "backend_bytes", "ledger_bytes", "interface_bytes")
    formula, backend, ledger, interfaces = (known(row[name]) for name in names)
    found: dict[str, Any] = dict.fromkeys(GAPS)
    if ledger and formula:
        near = backend is not None and abs(ledger - backend) <= AGREES_FRAC * backend
        gap = found["ledger_gap_frac"] = ledger / formula - 1
        padded = "padding" if way in SHARDED and gap > 0 else "other"
        found["excess"] = "none" if abs(gap) <= AGREES_FRAC else "backend" if near else padded
    if interfaces and (beside := ledger or backend):
        gap = found["interface_gap_frac"] = interfaces / beside - 1
        above = "framing" if gap <= FRAMING_FRAC else "above"
        found["apart"] = "agree" if abs(gap) <= AGREES_FRAC else above if gap > 0 else "below"
    return found


def formula_bytes(
    way: str, payload_bytes: float, workers: int, cost: Mapping[str, Callable[..., float]]
) -> float:
    """Return the bytes that all workers send in a step of a way, by what the operations cost."""
    known = ways.WAYS.get(way)
    if known and known.gathers:
        return sharded_wire_bytes(payload_bytes, workers, known.gathers, cost["reducescatter"])
    whole = zero1_wire_bytes if known and known.shards_state else allreduce_wire_bytes
    return whole(payload_bytes, workers)


NEEDS_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch")
    | words("way", WAYS)
    | columns("peak_bytes parameter_bytes gradient_bytes state_bytes activation_bytes fits_batch")
    | columns("fails_batch budget_bytes first_steps loss_gap_frac parameter_gap_frac")
    | columns("rounding_frac parameter_rounding_frac peak_noise_frac")
    | words("peak_rank", ("least", "near", "more"))
    | words("peak_to_ddp", ("below", "indistinct", "above"))
    | words("batch_rank", ("most", "may be", "less"))
    | words("computes", ("the same", "nearly", "something else"))
    | columns("status message runs")
)
PARTS = ("parameter_bytes", "gradient_bytes", "state_bytes", "activation_bytes")


def strategy_needs(
    sharing_memory: pd.DataFrame,
    sharing_batches: pd.DataFrame,
    sharing_losses: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return, for each N and way, the memory of a worker, and whether it computes what DDP does.

    peak_bytes and its parts: of the worker with the most. fits_batch: the largest batch of a worker
    tried that stays within budget_bytes and below all that do not, of which fails_batch is the
    least. loss_gap_frac: the largest difference of a loss to that of DDP, over it;
    parameter_gap_frac: of a parameter after the steps, over the largest; of DDP both are to a
    second run of it; rounding_frac: what rounding in another order does to a loss,
    parameter_rounding_frac: to a parameter, with the optimiser of the run. peak_noise_frac: how far
    apart peaks of a way with the same batch are, in the look at memory and in the search.
    For ranks and verdict see `compared`. A
    way is out_of_memory whose search ran out of it, which ended the run: ways after it have no
    batch. A run without a record, or out of memory before the search, is a row with its status and
    nulls. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "strategies")
    planned = planned[planned["kind"] == "sharing"]
    require_same_machine(planned)
    rows: list[dict[str, Any]] = []
    for _, run in planned.sort_values("workers").iterrows():
        whole = {name: run[name] for name in ("workers", "nodes", "per_worker_batch")}
        whole |= {name: run[name] for name in ("status", "message")} | {"runs": run["run"]}
        rounding = ROUNDINGS * ROUNDING.get(run["precision"], ROUNDING_FP32)
        enlarged = rounding * ENLARGED.get(run["optimizer"], 1.0)
        whole |= {"rounding_frac": rounding, "parameter_rounding_frac": enlarged}
        memory, batches, losses = (
            table[table["run"] == run["run"]]
            for table in (sharing_memory, sharing_batches, sharing_losses)
        )
        if memory.empty:
            rows.append(whole)
            continue
        ddp = losses[losses["way"] == "ddp"].set_index("step")["loss"]
        for way in ARMS:
            own, probes = (table[table["way"] == way] for table in (memory, batches))
            trained = losses[losses["way"] == (AGAIN if way == "ddp" else way)]
            held = _memory(own)
            rows.append(
                whole
                | {"way": way, "peak_noise_frac": _peaks_apart(held, probes, run)}
                | held
                | _batches(probes)
                | _agreement(trained, ddp)
            )
    return compared(as_table(rows, NEEDS_COLUMNS))


def compared(needs: pd.DataFrame) -> pd.DataFrame:
    """Return the memory of the ways, each beside the best of its N and beside DDP.

    peak_rank: `near` the least, within what the peaks of any way scatter, `more` than that, and
    null where DDP's is not known; peak_to_ddp alike beside DDP's. batch_rank: `may be` where the
    largest batch, between what fits and what fails, may be the most; null where the search did not
    come to all ways. computes: `the same` as DDP as nearly as rounding, or a second run of DDP,
    does; `nearly` where its gaps are larger, but smaller than another computation would leave;
    losses or parameters that are no numbers agree with nothing.
    """
    rows = [{name: known(value) for name, value in row.items()} for row in needs.to_dict("records")]
    for run in {row["runs"] for row in rows if row["way"]}:
        _compare({row["way"]: row for row in rows if row["runs"] == run})
    return as_table(rows, NEEDS_COLUMNS)


def _compare(ways: dict[str, dict[str, Any]]) -> None:
    """Set the ways of one N beside each other."""
    ddp = ways.get("ddp", {})
    peaks = {way: row["peak_bytes"] for way, row in ways.items() if row["peak_bytes"]}
    noise = max((row["peak_noise_frac"] or 0.0 for row in ways.values()), default=0.0)
    fits = {way: row["fits_batch"] or 0 for way, row in ways.items() if row["budget_bytes"]}
    least = min(peaks, key=lambda way: peaks[way], default=None)
    most = max(fits, key=lambda way: fits[way], default=None)
    for way, row in ways.items():
        row |= dict.fromkeys(("peak_rank", "peak_to_ddp", "batch_rank", "computes"))
        if least and way in peaks and "ddp" in peaks:
            near = peaks[way] <= (1 + noise) * peaks[least]
            row["peak_rank"] = "least" if way == least else "near" if near else "more"
            if way != "ddp":
                ratio = peaks[way] / peaks["ddp"]
                less, more = ratio * (1 + noise) < 1, ratio > 1 + noise
                row["peak_to_ddp"] = "below" if less else "above" if more else "indistinct"
        if most and len(fits) == len(ways) and fits[most]:
            less = row["fails_batch"] is not None and row["fails_batch"] <= fits[most]
            row["batch_rank"] = "most" if way == most else "less" if less else "may be"
        if way != "ddp":
            row["computes"] = _computes(row, ddp)


def _computes(row: Mapping[str, Any], ddp: Mapping[str, Any]) -> str:
    """Whether a way computes what DDP does; the gaps of DDP are to a second run of it."""
    gaps = [row["loss_gap_frac"], row["parameter_gap_frac"]]
    if None in gaps:
        return "something else"
    itself = [ddp.get("loss_gap_frac") or 0.0, ddp.get("parameter_gap_frac") or 0.0]
    roundings = [row["rounding_frac"], row["parameter_rounding_frac"]]
    least = [max(one, TIMES_OF_ITSELF * own) for one, own in zip(roundings, itself, strict=True)]
    if all(gap <= limit for gap, limit in zip(gaps, least, strict=True)):
        return "the same"
    most = min(APART_MOST_FRAC, row["rounding_frac"] * APART / ROUNDINGS)
    nearly = all(gap <= max(most, limit) for gap, limit in zip(gaps, least, strict=True))
    return "nearly" if nearly else "something else"


def _peaks_apart(held: Mapping[str, Any], probes: pd.DataFrame, run: pd.Series) -> float | None:
    """How far two looks at the peak of the same batch lie apart; None where there was one."""
    again = first_known(
        probes.loc[probes["per_worker_batch"] == run["per_worker_batch"], "peak_bytes"]
    )
    peak = known(held.get("peak_bytes"))
    return None if again is None or not peak else abs(again / peak - 1)


def _memory(ranks: pd.DataFrame) -> dict[str, Any]:
    """The memory of the worker with the highest peak."""
    if ranks.empty:
        return {}
    return dict(ranks.sort_values("peak_bytes").iloc[-1][["peak_bytes", *PARTS]])


def _batches(probes: pd.DataFrame) -> dict[str, Any]:
    """Between which batches the budget ends, see `search.boundary`, and how the search ended."""
    sizes = probes["peak_bytes"].astype(float).fillna(float("inf"))  # out of memory
    peaks = dict(zip(probes["per_worker_batch"], sizes, strict=True))
    budget = first_known(probes["budget_bytes"])
    fits, fails = boundary(peaks, budget) if peaks else (None, None)
    status = "out_of_memory" if "out_of_memory" in set(probes["status"]) else "complete"
    return {"fits_batch": fits, "fails_batch": fails, "budget_bytes": budget, "status": status}


def _agreement(own: pd.DataFrame, ddp: pd.Series) -> dict[str, Any]:
    """The largest gap to DDP of a loss, and of a parameter after the last step."""
    losses = own.set_index("step")["loss"]
    return {
        "first_steps": len(losses),
        # What is not finite agrees with nothing: no gap is known.
        "loss_gap_frac": ((losses - ddp).abs() / ddp.abs()).max(skipna=False),
        "parameter_gap_frac": own["parameter_gap_frac"].iloc[-1] if len(own) else None,
    }


TABLES = {
    "strategies": Table(
        strategies, ["epoch_times", "collectives", "wire", "runs"], COLUMNS, judge_ways
    ),
    "strategy_needs": Table(
        strategy_needs,
        ["sharing_memory", "sharing_batches", "sharing_losses", "runs"],
        NEEDS_COLUMNS,
    ),
}
