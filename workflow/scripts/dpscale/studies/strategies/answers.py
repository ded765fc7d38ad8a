"""E1: which way of sharing is fastest, which fits the most, what each costs and sends."""

from itertools import chain
from typing import Any

from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK, RAJBHANDARI
from dpscale.reporting.words import by
from dpscale.vocabulary import words

# Pages are resident a moment sooner or later: peaks this near to each other are not ranked.
PEAK_NOISE_FRAC = 0.05
# Rounding in another order, by precision; what computes something else is farther off.
SAME_FRAC = {"bf16": 0.1, "tf32": 0.02}
SAME_FRAC_FP32 = 1e-3
# Two runs of DDP differ where kernels add in no fixed order; a way that does the same may by chance
# be this many times as far from one of them.
TIMES_OF_ITSELF = 3.0
AGREES_FRAC = 0.02  # of bytes: the rest is headers
TIMES = {"step_s": "s", "to_ddp_ratio": "ratio", "ledger_bytes": "bytes_exact",
         "interface_bytes": "bytes_exact"}  # fmt: skip
NEEDS = {
    "peak_bytes": "bytes",
    "fits_batch": "count",
    "fails_batch": "count",
    "loss_gap_frac": "fraction",
    "parameter_gap_frac": "fraction",
}


def facts(inputs: Inputs) -> Facts:
    """Return the times, bytes and memory of the ways, and which is best at what for each N."""
    rows, needs = inputs.rows("strategies"), inputs.rows("strategy_needs")
    missing = lacking(rows, {"workers": "N"}, "strategies")
    missing += lacking(needs, {"workers": "N"}, "strategies, memory")
    measured = [row for row in needs if row["way"]]
    timed = {workers: own for workers, own in by(rows, "workers") if _whole(own)}
    if not missing and not timed:
        missing = ["strategies: no number of workers has the times of all ways"]
    values = {f"{column}_{row['way']}_n{row['workers']}": row.value(column, unit)
              for found, units in ((rows, TIMES), (measured, NEEDS))
              for row in found for column, unit in units.items()}  # fmt: skip
    said: dict[str, Any] = {"rows": rows, "needs": measured}
    if not missing:
        cells = [standing(own, [row for row in measured if row["workers"] == workers])
                 for workers, own in timed.items()]  # fmt: skip
        trained = inputs.tidy_rows("runs", run=cells[-1]["fastest"].runs[0])[0]
        said |= {
            "trained": trained | {"runs": trained["run"]},
            "cells": cells,
            "last": cells[-1],
            "untimed": [own[0] for workers, own in by(rows, "workers") if workers not in timed],
            "unknown": [row for row in needs if not row["way"]],
            "bytes": sent(rows, trained["backend"]),
            "same": agreement(measured, trained["precision"]),
        }
    return Facts(missing, values or {"step_s": intervals.nothing("s")}, said)


def _whole(times: list[Row]) -> bool:
    """Whether the time of every way is known, DDP's first."""
    return times[0]["way"] == "ddp" and all(row["step_s"] is not None for row in times)


def standing(times: list[Row], needs: list[Row]) -> Row:
    """Return which ways are best at one N: in time, in memory, and in the batch that fits.

    Each with those that it is not told from; None where DDP's own need is not known.
    """
    fastest = min(times, key=lambda row: float(row["step_s"]))
    found = Row(
        workers=fastest["workers"],
        per_worker_batch=fastest["per_worker_batch"],
        fastest=fastest,
        as_fast=[row for row in times if row["to_fastest"] in ("indistinct", "unknown")],
        compared=[row for row in times if row["to_ddp"]],
        ways=[row | _held(row["way"], needs) for row in times],
        least=None,
        as_little=[],
        fitting=None,
        # The way whose search ran out of memory, and those that were not searched after it.
        ended=next((row for row in needs if row["status"] == "out_of_memory"), None),
        unsearched=[],
    )
    step = {row["way"]: row for row in times}
    peaks = {row["way"]: row for row in needs if row["peak_bytes"] and row["way"] in step}
    if "ddp" in peaks:
        least = min(peaks.values(), key=lambda row: int(row["peak_bytes"]))
        near = (1 + PEAK_NOISE_FRAC) * least["peak_bytes"]
        found |= {
            "least": least,
            "as_little": [
                row for row in peaks.values() if row is not least and row["peak_bytes"] <= near
            ],
            "ddp_needs": peaks["ddp"],
            "saves": least["way"] != "ddp" and peaks["ddp"]["peak_bytes"] > near,
            "cost": step[least["way"]],
        }
    tried = {row["way"]: row for row in needs if row["budget_bytes"]}
    if tried:
        found["unsearched"] = [row for row in times if row["way"] not in tried]
    if not found["unsearched"] and any(row["fits_batch"] for row in tried.values()):
        most = max(tried.values(), key=lambda row: int(row["fits_batch"] or 0))
        # Between what fits and what does not, any batch may be the largest.
        others = [row for row in tried.values() if row is not most and not _fits_less(row, most)]
        found |= {
            "fitting": most,
            "as_much": others,
            "ddp_fits": tried["ddp"],
            "budget": most.value("budget_bytes", "bytes_binary"),
        }
    return found


def _held(way: str, needs: list[Row]) -> dict[str, Value]:
    """Return what a worker holds at its peak, and the largest batch that it holds."""
    own = next((row for row in needs if row["way"] == way), Row(status="not measured"))
    return {"peak": own.value("peak_bytes", "bytes"), "fits": own.value("fits_batch", "count")}


def _fits_less(row: Row, other: Row) -> bool:
    """Whether all that may be the largest batch of one way fits another with room."""
    return row["fails_batch"] is not None and row["fails_batch"] <= (other["fits_batch"] or 0)


def sent(rows: list[Row], backend: str | None) -> Row:
    """Return where the bytes of a step differ from the ring's formula, and what interfaces say.

    more, otherwise: what the backend's own operations explain, and what they do not. Interfaces are
    set beside the ledger where there is one, else beside the formula; widest: their widest gap, and
    apart: on which side it lies.
    """
    seen = [row for row in rows if row["ledger_bytes"] and row["predicted_bytes"]]
    gaps = [row | {"above_frac": row["ledger_bytes"] / row["predicted_bytes"] - 1} for row in seen]
    more = [row for row in gaps if abs(row["above_frac"]) > AGREES_FRAC]
    explained = [row for row in more if _near(row["ledger_bytes"], row["backend_bytes"])]
    counted = [
        row["interface_bytes"] / beside - 1
        for row in rows
        if row["interface_bytes"] and (beside := row["ledger_bytes"] or row["backend_bytes"])
    ]
    widest = max(counted, key=abs, default=None)
    side = None
    if widest is not None:
        side = "agree" if abs(widest) <= AGREES_FRAC else "above" if widest > 0 else "below"
    return Row(
        seen=seen,
        unseen=[row for row in rows if row not in seen],
        more=explained,
        otherwise=[row for row in more if row not in explained],
        backend=backend,
        widest=None if widest is None else _part(abs(widest), "fraction", rows),
        apart=side,
    )


def _near(size: float, other: float | None) -> bool:
    return other is not None and abs(size - other) <= AGREES_FRAC * other


def agreement(needs: list[Row], precision: str | None) -> Row | None:
    """Return the ways that compute something else than DDP, and the largest gaps of the others.

    again: of the losses of DDP when it is run twice, None where it does the same bit by bit. None
    where nothing was compared.
    """
    others = [row for row in needs if row["way"] != "ddp"]
    if not others:
        return None
    most = SAME_FRAC.get(precision or "", SAME_FRAC_FP32)
    itself = {row["workers"]: row for row in needs if row["way"] == "ddp"}

    def near(row: Row, column: str) -> bool:
        """Whether a way is as near to DDP as rounding, or a second run of DDP, is."""
        again = itself.get(row["workers"], Row()).get(column) or 0.0
        return (row[column] or 0.0) <= max(most, TIMES_OF_ITSELF * again)

    # Losses that are no numbers have no gap: a training that diverged agrees with nothing.
    alike = [
        row
        for row in others
        if row["loss_gap_frac"] is not None
        and near(row, "loss_gap_frac")
        and near(row, "parameter_gap_frac")
    ]
    again = max((row["loss_gap_frac"] or 0.0 for row in itself.values()), default=0.0)
    gaps = [gap for row in alike if (gap := row["parameter_gap_frac"]) is not None]
    apart = [row for row in others if row not in alike]
    return Row(
        apart=[_apart(way, own) for way, own in by(apart, "way")],
        alike=alike,
        steps=needs[0]["first_steps"],
        loss=_part(max((row["loss_gap_frac"] for row in alike), default=0.0), "number", alike),
        parameters=[_part(max(gaps), "number", alike)] if gaps else [],
        again=_part(again, "number", list(itself.values())) if again else None,
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
        facts,
        formula=[
            r"\text{sent in a step of DDP, or of FSDP2 without resharding} = 2 (N - 1) \, S",
            r"\text{of ZeRO-1 and of FSDP2} = 3 (N - 1) \, S",
        ],
        references=[RAJBHANDARI, LI, PATARASUK],
        vocabulary=words("apart", ("agree", "above", "below")),
    )
]
