"""E1: which way of sharing is fastest, which fits the most, what each costs and sends."""

from itertools import chain
from typing import Any

from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK, RAJBHANDARI
from dpscale.reporting.words import by

TIMES = {
    "step_s": "s",
    "to_ddp_ratio": "ratio",
    "ledger_bytes": "bytes_exact",
    "interface_bytes": "bytes_exact",
}
NEEDS = {
    "peak_bytes": "bytes_binary",
    "fits_batch": "count",
    "fails_batch": "count",
    "loss_gap_frac": "fraction",
    "parameter_gap_frac": "fraction",
}

SPARED = ("state_bytes", "peak_bytes")
# A worker's part of the optimiser's state beyond its N-th that numbers beside the state, such as
# Adam's count of steps for each tensor, do not make.
UNEVEN_FRAC = 0.05
LEAST_SAVING_FRAC = 0.1  # of DDP's peak: less is not worth advising a longer step for


def facts_e1(inputs: Inputs) -> Facts:
    """Return the times, bytes and memory of the ways, and which is best at what for each N."""
    rows, needs = inputs.rows("strategies"), inputs.rows("strategy_needs")
    missing = lacking(rows, {"workers": "N"}, "strategies")
    missing += lacking(needs, {"workers": "N"}, "strategies, memory")
    measured = [row for row in needs if row["way"]]
    timed = {workers: own for workers, own in by(rows, "workers") if _whole(own)}
    if not missing and not timed:
        missing = ["strategies: no number of workers has the times of all ways"]
    values = named_values(rows, "{column}_{way}_n{workers}", TIMES)
    values |= named_values(measured, "{column}_{way}_n{workers}", NEEDS)
    said: dict[str, Any] = {"rows": rows, "needs": measured}
    if not missing:
        cells = [
            standing(own, [row for row in measured if row["workers"] == workers])
            for workers, own in timed.items()
        ]
        lead = leading(cells)
        lead |= {"beside": (other := beside(cells, lead)), "ways": with_other(lead["ways"], other)}
        lead["elsewhere"] = elsewhere(lead, other, measured)
        lead["outdone"] = outdone(lead, other, measured)
        trained = inputs.tidy_rows("runs", run=lead["fastest"].runs[0])[0]
        looked = inputs.tidy_rows("runs", study="strategies", kind="sharing")
        said |= {
            "trained": trained | {"runs": trained["run"]},
            "micro_batches": next(filter(None, (row["micro_batches"] for row in looked)), None),
            "cells": [cell | {"sides": sides(cell, lead)} for cell in cells],
            "last": lead,
            "untimed": [own[0] for workers, own in by(rows, "workers") if workers not in timed],
            "unknown": [row for row in needs if not row["way"]],
            "bytes": sent(rows, trained["backend"]),
            "same": agreement(measured),
            "whole_tensors": whole_tensors(measured),
            "spared": spared(measured),
            "bracket": max(map(_gap, measured), default=0.0),
        }
    return Facts(missing, values or {"step_s": nothing("s")}, said)


def leading(cells: list[Row]) -> Row:
    """Return the most workers that have a device each; where none have, the most workers."""
    alone = [cell for cell in cells if not cell["fastest"]["oversubscribed"]]
    return (alone or cells)[-1]


def beside(cells: list[Row], lead: Row) -> Row | None:
    """Return the cell of the most workers other than the leading ones with the same ways.

    None where there is none.
    """
    ways = [row["way"] for row in lead["ways"]]
    others = [cell for cell in cells if cell["workers"] != lead["workers"]]
    alike = [cell for cell in others if [row["way"] for row in cell["ways"]] == ways]
    return alike[-1] if alike else None


def with_other(ways: list[Row], other: Row | None) -> list[Row]:
    """Return the rows of a cell's table with each way's step and ratio in another cell.

    Without intervals, and the row's ratio too: with them each line of the table would be two.
    """
    found = {row["way"]: row for row in other["ways"]} if other else {}
    return [
        way
        | {
            "lead_ratio": way.to_ddp_ratio.without_interval(),
            "other_s": found[way["way"]].step_s.without_interval(),
            "other_ratio": found[way["way"]].to_ddp_ratio.without_interval(),
        }
        if found
        else way
        for way in ways
    ]


def elsewhere(lead: Row, other: Row | None, needs: list[Row]) -> Row | None:
    """Return what `sparing`, else `slight`, needs in another cell, if measurably more or less."""
    named = lead["sparing"] or lead["slight"]
    if not other or not other["least"] or not named:
        return None
    own = [row for row in needs if row["way"] == named["way"] and row["peak_to_ddp"]]
    peaks = {row["workers"]: row for row in own if row["peak_bytes"]}
    here, there = (peaks.get(cell["workers"]) for cell in (lead, other))
    if not here or not there:
        return None
    less, more = sorted((here["peak_bytes"], there["peak_bytes"]))
    return there if more > (1 + max(_looks(needs), default=0.0)) * less else None


def outdone(lead: Row, other: Row | None, needs: list[Row]) -> Row | None:
    """Return what `frugal` needs in another cell, where another way measurably needs less there."""
    if not other or not other["least"] or not lead["frugal"]:
        return None
    own = [
        row for row in needs if row["workers"] == other["workers"] and row["peak_rank"] == "more"
    ]
    return next((row for row in own if row["way"] == lead["frugal"]["way"]), None)


def sides(cell: Row, lead: Row) -> tuple[Any, ...]:
    """Return what the words on a cell's steps follow: those of cells in the table may be shared."""
    tabled = cell["workers"] in [one["workers"] for one in (lead, lead["beside"]) if one]
    ways = [(row["way"], row["to_ddp"]) for row in cell["compared"]]
    return ("tabled" if tabled else cell["workers"], *ways)


def zero1_beside_ddp(needs: list[Row]) -> list[tuple[Row, Row]]:
    """Return what a worker needs of ZeRO-1 and of DDP, by N, where both states are known."""
    ddp = {row["workers"]: row for row in needs if row["way"] == "ddp" and row["state_bytes"]}
    return [
        (row, ddp[row["workers"]])
        for row in needs
        if row["way"] == "zero1" and row["workers"] in ddp and row["state_bytes"]
    ]


def whole_tensors(needs: list[Row]) -> list[Row]:
    """Return ZeRO-1's workers that hold measurably more than an N-th of DDP's state.

    held: a worker's part of that state; whole: all of it.
    """
    return [
        row
        | {
            "held": row.value("state_bytes", "bytes_binary"),
            "whole": ddp.value("state_bytes", "bytes_binary"),
        }
        for row, ddp in zero1_beside_ddp(needs)
        if row["state_bytes"] * row["workers"] > (1 + UNEVEN_FRAC) * ddp["state_bytes"]
    ]


def spared(needs: list[Row]) -> list[Row]:
    """Return where ZeRO-1 lowers the peak of a worker by less than its state, and by how much.

    Beyond what two looks at a peak of that many workers differ by.
    state_bytes, peak_bytes: how far each is below DDP's; state_frac: what of DDP's peak is the
    optimiser's state.
    """
    rows = [
        Row(
            workers=row["workers"],
            **{
                name: Value(value=ddp[name] - row[name], unit="bytes_binary", runs=row.runs)
                for name in SPARED
            },
            state_frac=Value(
                value=ddp["state_bytes"] / ddp["peak_bytes"], unit="fraction", runs=ddp.runs
            ),
        )
        for row, ddp in zero1_beside_ddp(needs)
        if row["peak_bytes"] and ddp["peak_bytes"]
    ]
    noise = {
        n: max(_looks(own), default=0.0) * max(row["peak_bytes"] or 0 for row in own)
        for n, own in by(needs, "workers")
    }
    return [
        row
        for row in rows
        if 0 < row.peak_bytes.value < row.state_bytes.value - noise[row["workers"]]
    ]


def _gap(need: Row) -> float:
    """How much larger the next batch that failed is than the largest that fits; 0 where unknown."""
    both = need["fits_batch"] and need["fails_batch"]
    return need["fails_batch"] / need["fits_batch"] - 1 if both else 0.0


def _whole(times: list[Row]) -> bool:
    """Whether the time of every way is known, DDP's first."""
    return times[0]["way"] == "ddp" and all(row["step_s"] is not None for row in times)


def standing(times: list[Row], needs: list[Row]) -> Row:
    """Return which ways are best at one N: in time, in memory, and in the batch that fits.

    Each with those that it is not told from; None where DDP's own need is not known. frugal: of the
    way with the least peak and those with hardly more the quickest. sparing: the way with the
    shortest step of those whose peak is a tenth below DDP's or more; None where that is one of
    these or the one to take. slight: that of those that save less. between: see `between`.
    outgrown: see `outgrown`.
    """
    fastest = next((row for row in times if row["to_fastest"] is None), times[0])
    tried = {row["way"]: row for row in needs if row["budget_bytes"]}
    found = Row(
        take=next(row for row in times if row["advised"]),
        workers=fastest["workers"],
        per_worker_batch=fastest["per_worker_batch"],
        fastest=fastest,
        as_fast=[row for row in times if row["to_fastest"] in ("indistinct", "unknown")],
        compared=[row | {"times": row.to_ddp_ratio} for row in times if row["to_ddp"]],
        ways=[row | _held(row["way"], needs) for row in times],
        least=None,
        frugal=None,
        sparing=None,
        slight=None,
        between=None,
        as_little=[],
        fitting=None,
        outgrown=None,
        # The way whose search ran out of memory, and those that were not searched after it.
        ended=next((row for row in needs if row["status"] == "out_of_memory"), None),
        unsearched=[row for row in times if tried and row["way"] not in tried],
    )
    found |= _in_memory(times, needs, found["take"])
    most = next((row for row in tried.values() if row["batch_rank"] == "most"), None)
    if most and most["fits_batch"] and not found["unsearched"]:
        found |= {
            "fitting": most,
            "as_much": [row for row in tried.values() if row["batch_rank"] == "may be"],
            "ddp_fits": tried["ddp"],
            "budget": most.budget_bytes,
        }
        found["outgrown"] = outgrown(most, found["least"], found["as_much"])
    return found


def _in_memory(times: list[Row], needs: list[Row], take: Row) -> dict[str, Any]:
    """Return which ways of one N hold little; nothing where DDP's own need is not known."""
    step = {row["way"]: row for row in times}
    peaks = {row["way"]: row for row in needs if row["peak_bytes"] and row["way"] in step}
    least = next((row for row in peaks.values() if row["peak_rank"] == "least"), None)
    if least is None or "ddp" not in peaks:
        return {}
    as_little = [row for row in peaks.values() if row["peak_rank"] == "near"]
    others = [row for row in as_little if row["way"] != take["way"]]
    frugal = min((least, *others), key=lambda row: float(step[row["way"]]["step_s"]))
    spared = [step[way] for way, row in peaks.items() if row["peak_to_ddp"] == "below"]
    ddp_bytes, quickest = peaks["ddp"]["peak_bytes"], sorted(spared, key=lambda row: row["step_s"])
    saved = {way: 1 - row["peak_bytes"] / ddp_bytes for way, row in peaks.items()}
    sparing = next((row for row in quickest if saved[row["way"]] >= LEAST_SAVING_FRAC), None)
    slight = next((row for row in quickest if saved[row["way"]] < LEAST_SAVING_FRAC), None)
    if sparing and sparing["way"] in (least["way"], frugal["way"], take["way"]):
        sparing = None
    middle = between(sparing, least, spared, peaks) if sparing else None
    return {
        "least": least,
        "frugal": frugal,
        "sparing": sparing and sparing | _held(sparing["way"], needs),
        "slight": slight and slight | {"saved_frac": saved[slight["way"]]},
        "between": middle and middle | _held(middle["way"], needs),
        "as_little": as_little,
        "ddp_needs": peaks["ddp"],
        "take_peak": _held(take["way"], needs)["peak"] if take["way"] in peaks else None,
        "saves": peaks["ddp"]["peak_rank"] == "more",
        "cost": step[frugal["way"]],
        "looks": _looks(needs),
        "their_looks": _looks([least, *as_little]),
    }


def _looks(needs: list[Row]) -> list[float]:
    """By how much two looks at each of some peaks differ, where it was looked at twice."""
    return [gap for row in needs if (gap := row["peak_noise_frac"]) is not None]


def between(sparing: Row, least: Row, spared: list[Row], peaks: dict[str, Row]) -> Row | None:
    """Return the quickest way between two on the border of memory and time.

    It holds less than `sparing` and takes a shorter step than `least`, by what was measured; what
    may hold as little as `least` is named beside that. None where the step of `least` is not
    measurably longer than DDP's. spared: the ways that hold less than DDP.
    """
    slow = [row for row in spared if row["way"] == least["way"] and row["to_ddp"] == "above"]
    found = [
        row
        for row in spared
        if peaks[row["way"]]["peak_rank"] == "more"
        and peaks[row["way"]]["peak_bytes"] < peaks[sparing["way"]]["peak_bytes"]
        and any(row["step_s"] < one["step_s"] for one in slow)
    ]
    return min(found, key=lambda row: row["step_s"], default=None)


def outgrown(fitting: Row, least: Row | None, as_much: list[Row]) -> str | None:
    """Return why the way with the least peak at the batch that was measured fits a smaller one.

    `activations`: they are few at this batch, and the way that fits the largest holds fewer for a
    sample; `unknown`: what was measured does not say. None where that way has the least peak too,
    or may.
    """
    if least is None or fitting["peak_rank"] != "more":
        return None
    if least["way"] in [row["way"] for row in as_much]:
        return None
    held = [fitting[f"{part}_bytes"] for part in ("parameter", "gradient", "state")]
    own, other = fitting["activation_bytes"], least["activation_bytes"]
    known = None not in (*held, own, other)
    return "activations" if known and own < min(other, sum(held)) else "unknown"


def _held(way: str, needs: list[Row]) -> dict[str, Value]:
    """Return what a worker holds at its peak, and the largest batch that it holds."""
    own = next((row for row in needs if row["way"] == way), Row(status="not measured"))
    return {
        "peak": own.value("peak_bytes", "bytes_binary"),
        "fits": own.value("fits_batch", "count"),
    }


def sent(rows: list[Row], backend: str | None) -> Row:
    """Return where the bytes of a step differ from the ring's formula, and what interfaces say.

    gaps: the rows by what explains them. widest: the widest gap of the interfaces, and apart: on
    which side it lies.
    """
    seen = [row for row in rows if row["excess"]]
    counted = [row for row in rows if row["apart"]]
    widest = max(counted, key=lambda row: abs(row["interface_gap_frac"]), default=None)
    return Row(
        seen=seen,
        unseen=[row for row in rows if row not in seen],
        gaps=by([row for row in seen if row["excess"] != "none"], "excess"),
        backend=backend,
        widest=widest and _part(abs(widest["interface_gap_frac"]), "fraction", rows),
        apart=widest and widest["apart"],
    )


def agreement(needs: list[Row]) -> Row | None:
    """Return the ways that compute something else than DDP, and the largest gaps of the others.

    nearly: those of the others that are farther off than rounding explains; enlarged: those whose
    parameters are only as far as the optimiser makes of it. again: of the losses of
    DDP when it is run twice, None where it does the same bit by bit. None where nothing was
    compared.
    """
    alike = [row for row in needs if row["computes"] in ("the same", "nearly")]
    apart = [row for row in needs if row["computes"] == "something else"]
    if not alike and not apart:
        return None
    itself = [row for row in needs if row["way"] == "ddp"]
    again, most = (
        max((row["loss_gap_frac"] or 0.0 for row in own), default=0.0) for own in (itself, alike)
    )
    gaps = [gap for row in alike if (gap := row["parameter_gap_frac"]) is not None]
    return Row(
        apart=[_apart(way, own) for way, own in by(apart, "way")],
        alike=alike,
        nearly=[row for row in alike if row["computes"] == "nearly"],
        enlarged=[
            row
            for row in alike
            if row["rounding_frac"]
            < (row["parameter_gap_frac"] or 0.0)
            <= row["parameter_rounding_frac"]
        ],
        steps=needs[0]["first_steps"],
        loss=_part(most, "number", alike),
        parameters=[_part(max(gaps), "number", alike)] if gaps else [],
        again=_part(again, "number", itself) if again else None,
    )


def _apart(way: str, rows: list[Row]) -> Row:
    """Return with how many workers a way computes something else, and its largest gaps.

    loss: None where some losses are no numbers; parameters: None where none was compared.
    """
    losses = [row["loss_gap_frac"] for row in rows]
    gaps = [gap for row in rows if (gap := row["parameter_gap_frac"]) is not None]
    return Row(
        way=way,
        workers=[row["workers"] for row in rows],
        loss=None if None in losses else _part(max(losses), "fraction", rows),
        parameters=_part(max(gaps), "fraction", rows) if gaps else None,
    )


def _part(size: float, unit: str, rows: list[Row]) -> Value:
    """A share that is the largest of some rows."""
    return Value(
        value=size, unit=unit, runs=list(dict.fromkeys(chain(*(row.runs for row in rows))))
    )


QUESTIONS = [
    Question(
        "E1",
        facts_e1,
        formula=[
            r"\text{sent in a step of DDP, or of FSDP2 without resharding} = 2 (N - 1) \, S",
            r"\text{of ZeRO-1 and of FSDP2} = 3 (N - 1) \, S",
        ],
        references=[RAJBHANDARI, LI, PATARASUK],
    )
]
