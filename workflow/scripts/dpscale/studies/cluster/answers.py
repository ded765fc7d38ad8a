"""The closing page: what carries over to a cluster, what does not, and what formulas say of it."""

from typing import Any, Literal

from dpscale.derive.formulas import full_steps
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.words import by
from dpscale.studies.cluster.derive import Way, on_gpus
from dpscale.studies.cluster.lab import lab
from dpscale.vocabulary import words

GainsBy = Literal["longer", "all", "none", "mixed", "unknown"]
RANK = {"below": 0, "indistinct": 1, "above": 2}  # of verdicts on a speed-up

# Shapes of Q1 that show up to which b the epoch gets shorter.
TURNS = ("falls", "falls then flat", "falls then undecided", "falls then rises", "rises")
KEPT = ("kept", "kept or lowered")


def facts_closing(inputs: Inputs) -> Facts:
    """Return what stood in for the lab, the transfers and cells by formula, and what was shown.

    What a study would show that was not run is none.
    """
    stand_ins = {row["subject"]: row for row in inputs.rows("stand_ins")}
    cells, transfers = rated_cells(inputs), inputs.rows("lab_transfers")
    large = [
        row
        for row in inputs.rows("lr_scaling", large=True, rule="linear", zero_gamma=True)
        if row["kept"] in ("lost", *KEPT)
    ]
    said: dict[str, Any] = {
        "stand_ins": stand_ins,
        "others": [row for row in stand_ins.values() if not row["same"]],
        "cells": cells,
        "unrated": any(row["rule_holds"] == "lost" and row["lr"] is None for row in cells),
        "batches": batches_named(inputs),
        "speedups": any(row["speedup_ratio"] is not None for row in cells),
        "links": _links(transfers),
        "here": next((row for row in transfers if row["payload"] == "here"), None),
        "measured": [row for row in transfers if row["origin"] == "measured"],
        "on_gpus": _timed_on_gpus(inputs),
        "sharing": any(row["oversubscribed"] for row in inputs.rows("scaling")),
        "swept": next((row for row in inputs.rows("sweep_trend") if row["shape"] in TURNS), None),
        "elbow": (elbow := next(iter(_elbows(inputs)), None)),
        "lost_updates": _lost_updates(inputs, elbow) if elbow else None,
        "warmups": {row["warmup"]: row for row in large},
        "unscaled": any(row["kept"] in KEPT for row in _unscaled(inputs, "lost_batch")),
        "as_good": next(
            (row for row in _unscaled(inputs, "elbow_batch") if row["to_linear"] == "indistinct"),
            None,
        ),
        "scaled_q4": bool(
            inputs.rows(
                "large_batch", arm="linear_scaling", base="large", test_accuracy_side="above"
            )
        ),
        "more_epochs": next(map(_epochs, _as_good_as_scaling(inputs)), None),
        "ledger": _agrees(inputs.rows("wire")),
        "orders": any(row["repeating"] == "every" for row in inputs.rows("order_repeats")),
        "drift": any(row["parameters_identical"] for row in inputs.rows("replicas")),
    }
    every = [row for row in inputs.rows("worker_gains") if row["pace"] in RANK]
    gains = sorted((row for row in every if row["largest"]), key=lambda row: -row["step_s"])
    lines = [rows for _, rows in by(every, "question") if rows[1:]]
    return Facts(
        said=said
        | {
            "gains": gains,
            "lines": lines,
            "ends": _ends(gains, lines),
            "gains_by": gains_by(gains, lines),
        }
    )


def _timed_on_gpus(inputs: Inputs) -> bool:
    """Whether all that was timed ran on GPUs; False where nothing was."""
    runs = inputs.tidy_rows("runs", kind="timed", status="complete")
    return bool(runs) and on_gpus(run["device"] for run in runs)


def _elbows(inputs: Inputs) -> list[Row]:
    return inputs.rows("lr_scaling_elbow", rule="linear", status="complete")


def _lost_updates(inputs: Inputs, elbow: Row) -> int | None:
    """Return the updates of an epoch at the batch with which the rule loses the error."""
    runs = inputs.tidy_rows("runs", run=elbow.runs[0]) if elbow["lost_batch"] else []
    samples = runs[0]["train_samples"] if runs else None
    return full_steps(samples, elbow["lost_batch"]) if samples else None


def _unscaled(inputs: Inputs, at: str) -> list[Row]:
    """Return what the rate of the reference batch does at a batch of the elbow.

    at: `elbow_batch`, the largest beyond the reference that the rule keeps, or `lost_batch`.
    """
    return [
        row
        for elbow in _elbows(inputs)
        if elbow[at] and elbow[at] != elbow["reference_batch"]
        for row in inputs.rows("lr_scaling", rule="fixed", optimizer="sgd", global_batch=elbow[at])
    ]


def rated_cells(inputs: Inputs) -> list[Row]:
    """Return the lab's cells, each with the rate to take, as far as S2 shows one.

    of_reference: whether that is the reference's, which keeps an error that the linear rule loses.
    """
    kept = [
        row["elbow_ratio"]
        for row in inputs.rows("lr_scaling_elbow", rule="fixed", status="complete")
    ]

    def unscaled(row: Row) -> bool:
        """Whether the rule loses the error at such a ratio and the reference's rate keeps it."""
        return row["rule_holds"] == "lost" and any(row["batch_ratio"] <= one for one in kept)

    return [
        row | {"of_reference": unscaled(row), "lr": lab().lr if unscaled(row) else row["lr"]}
        for row in inputs.rows("lab_cells")
    ]


def batches_named(inputs: Inputs) -> dict[str, int | None]:
    """Return the batches of a worker that answers of the assignment name, and none of others.

    advised: by H1, where it is not the first; halving: twice the batch, where that is
    measurably faster and costs no accuracy (H4); trained: that of H2 to H6, where they have one.
    """
    one = inputs.rows("assignment_utilisation", status="complete")
    advised = [row["per_worker_batch"] for row in one[1:] if row["advised"]]
    crowded = any(row["crowded"] for row in one)
    doubled = [
        row
        for row in inputs.rows("assignment_doubled", pace="above")
        if row["accuracy_to_base"] != "below"
    ]
    trained = {
        row["per_worker_batch"]
        for row in inputs.rows("assignment", rule="linear", status="complete")
    }
    return {
        "advised": advised[0] if advised and not crowded else None,
        "halving": doubled[-1]["per_worker_batch"] if doubled else None,
        "trained": trained.pop() if len(trained) == 1 else None,
    }


def _as_good_as_scaling(inputs: Inputs) -> list[Row]:
    """Return longer training at the unscaled rate, where it reaches what linear scaling does."""
    return inputs.rows(
        "large_batch", arm="more_epochs", base="linear_scaling", test_accuracy_side="indistinct"
    )


def _epochs(row: Row) -> float:
    """How many times as many epochs longer training has."""
    return float(row["epoch"] / row["base_epoch"])


def _ends(gains: list[Row], lines: list[list[Row]]) -> list[Row]:
    """Return the longest step, and the shortest, of a least batch too unless that gains more."""
    if not gains:
        return []
    least = [rows[0] for rows in lines if RANK[rows[0]["pace"]] <= RANK[gains[-1]["pace"]]]
    return gains[:1] + sorted([*gains[1:], *least], key=lambda row: row["step_s"])[:1]


def gains_by(gains: list[Row], lines: list[list[Row]]) -> GainsBy:
    """Return how what several workers gain goes with the step of one, the longest first.

    lines: of one network each, the longest step last. longer: the gain is nowhere larger where the
    step is shorter, within no network either, and not everywhere the same; all, none: measurably
    above 1 with each step, with no step.
    """
    ranks = [RANK[row["pace"]] for row in gains]
    if len(ranks) < 2:
        return "unknown"
    if set(ranks) == {2}:
        return "all"
    if 2 not in ranks:
        return "none"
    ordered = ranks == sorted(ranks, reverse=True)
    less = any(rows[-1]["growth"] == "below" for rows in lines)
    return "longer" if ordered and not less else "mixed"


def _links(transfers: list[Row]) -> list[Row]:
    """Return a row a given link, with the lab's all-reduce and that of the network here."""
    given = [row for row in transfers if row["origin"] == "given"]
    found = []
    for _, own in by(given, "link_bytes_per_s"):
        sides = {row["payload"]: row for row in own}
        if "lab" in sides:
            here = sides.get("here")
            found.append(
                sides["lab"]
                | {
                    "here_s": here.transfer_s if here else None,
                    "here_level_s": here.level_latency_s if here else None,
                }
            )
    return found


def _agrees(wires: list[Row]) -> bool:
    """Whether the gradients that were handed to all-reduces have the bytes of one model's."""
    known = [row for row in wires if None not in (row["bucket_bytes"], row["payload_bytes"])]
    return bool(known) and all(row["bucket_bytes"] == row["payload_bytes"] for row in known)


QUESTIONS = [
    Question(
        "cluster",
        facts_closing,
        formula=[
            r"t = \frac{2(N-1)}{N} \cdot \frac{S}{\beta}, \qquad "
            r"\alpha < \frac{S}{N \beta} \text{ where bandwidth decides}, \qquad "
            r"T_1 \ge \frac{N E}{1 - E} \, t"
        ],
        vocabulary=words("here asked", Way) | words("gains_by", GainsBy),
    )
]
