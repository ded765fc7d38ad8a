"""The closing page: what carries over to a cluster, what does not, and what formulas say of it."""

import math
from itertools import product
from typing import Any, Literal

from dpscale.config.sections import TrainingConfig
from dpscale.derive import formulas
from dpscale.derive.verdicts import beside, ends, lies
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.words import by
from dpscale.studies.cluster.derive import EFFICIENCY, Way, on_gpus
from dpscale.studies.cluster.lab import lab
from dpscale.vocabulary import VERDICTS, words

GainsBy = Literal["longer", "all", "largest", "none", "mixed", "unknown"]
RANK = {"below": 0, "indistinct": 1, "above": 2}  # of verdicts on a speed-up
# Where an accuracy lies, by where its error lies, of those that differ measurably.
AS_ACCURACY = {"below": "above", "above": "below"}

ENDS = ("", "_low", "_high")  # of a number with its interval

# Shapes of Q1 that show up to which b the epoch gets shorter.
TURNS = ("falls", "falls then flat", "falls then undecided", "falls then rises", "rises")


def facts_closing(inputs: Inputs) -> Facts:
    """Return what stood in for the lab, the transfers and cells by formula, and what was shown.

    What a study would show that was not run is none.
    """
    stand_ins = {row["subject"]: row for row in inputs.rows("stand_ins")}
    cells, transfers = inputs.rows("lab_cells"), inputs.rows("lab_transfers")
    bound = global_batch_bound(inputs)
    said: dict[str, Any] = {
        "efficient": f"{EFFICIENCY:.0%}",
        "lost": f"{1 - EFFICIENCY:.0%}",
        "stand_ins": stand_ins,
        "others": [row for row in stand_ins.values() if not row["same"]],
        "cells": cells,
        "by_workers": [
            own[0] | {"exchange_s": own[0]["transfer_s"] / own[0]["iterations"]}
            for _, own in by(cells, "workers")
        ],
        "unrated": any(row["rule_holds"] == "lost" and row["lr"] is None for row in cells),
        "advised_batch": advised_batch(inputs),
        "speedups": any(row["speedup_ratio"] is not None for row in cells),
        "links": _links(transfers),
        "here": next((row for row in transfers if row["payload"] == "here"), None),
        "on_gpus": _timed_on_gpus(inputs),
        "sharing": any(
            row["oversubscribed"] and (row["contention_s_low"] or 0) > 0
            for row in inputs.rows("communication")
        ),
        "swept": next((row for row in inputs.rows("sweep_trend") if row["shape"] in TURNS), None),
        "bound": bound,
        "start": start(cells, bound),
        "worked": next(iter(cells), None),
        "missed": missed(inputs),
        "elbow": (elbow := next(iter(_elbows(inputs)), None)),
        "scalings": (scalings := rates_scaled(inputs)),
        "scaled_to": scaled_to(elbow, scalings),
        "aids": aids(inputs),
        "on_test_alone": _on_test_alone(inputs),
        "ledger": _agrees(inputs.rows("wire")),
        "orders": any(row["repeating"] == "every" for row in inputs.rows("order_repeats")),
        "drift": any(row["parameters_identical"] for row in inputs.rows("replicas")),
    }
    gained = _gained(inputs)
    said["reached"] = reached(said["start"], gained["gains"])
    gains = gained["gains"] if gained["gains_by"] == "longer" else []
    effects = [row.value("speedup_ratio", "ratio") for row in gains]
    return Facts(said=said | gained, effects=effects)


def _gained(inputs: Inputs) -> dict[str, Any]:
    """Return what several workers gain and add beside the step of one, the longest step first."""
    every = [row for row in inputs.rows("worker_gains") if row["pace"] in RANK]
    largest = [row | {"efficiency": efficiency(row)} for row in every if row["largest"]]
    gains = sorted(largest, key=lambda row: -row["step_s"])
    lines = [rows for _, rows in by(every, "question") if rows[1:]]
    return {
        "gains": gains,
        "every_gain": every,
        "networks": [grown(rows) for _, rows in by(every, "question")],
        "lines": lines,
        "gains_by": gains_by(gains, lines, every),
        "exception": exception(every),
        "foreseen": foreseen(gains, inputs),
    }


def grown(rows: list[Row]) -> Row:
    """Return the row of a network's largest batch, with what grew from its least.

    rows: by batch. step_growth: the ratio of one worker's steps, None where there is one batch,
    speedup_growth: that of the speed-ups, growth as they are paired; least_added: what several add
    to the step with the least.
    """
    least, most = rows[0], rows[-1]
    runs = list(dict.fromkeys([*least.runs, *most.runs]))
    growth = Value(value=most["step_s"] / least["step_s"], unit="ratio", runs=runs)
    named = {"least_batch": least["per_worker_batch"], "least_added": least.added_step_s}
    gained = most["speedup_ratio"] / least["speedup_ratio"]
    grown_too = Value(value=gained, unit="ratio", runs=runs)
    return most | named | {"step_growth": growth if rows[1:] else None, "speedup_growth": grown_too}


def efficiency(row: Row) -> Value:
    """Return the share of N times one worker's pace that N workers come to."""
    speedup = row.value("speedup_ratio", "ratio")
    shares = {
        name: None if end is None else formulas.efficiency(end, row["workers"])
        for name, end in (("value", speedup.value), ("low", speedup.low), ("high", speedup.high))
    }
    return speedup.model_copy(update={"unit": "fraction"} | shares)


def reached(start: Row | None, gains: list[Row]) -> Row | None:
    """Return Q2's row of as many workers as a start, and where its efficiency lies of the least
    that a sooner goal takes (`enough`); None without one."""
    own = [row for row in gains if row["question"] == "Q2"]
    row = next((row for row in own if start and row["workers"] == start["workers"]), None)
    if start is None or row is None:
        return None
    low, high = row["efficiency"].low, row["efficiency"].high
    interval = None if low is None or high is None else (low, high)
    return row | {"enough": lies(interval, ends(start, "break_even_frac"))}


def foreseen(gains: list[Row], inputs: Inputs) -> Row | None:
    """Return what H3's workers would gain with the batch that H1 advises, were they to add as much.

    step_s: of one worker with that batch, by H1's throughput. None where they gain already, and
    where that batch is no larger than theirs.
    """
    row = next((row for row in gains if row["question"] == "H3" and row["pace"] != "above"), None)
    found = row and _as_advised(inputs)
    if not (row and found) or found["per_worker_batch"] <= row["per_worker_batch"]:
        return None
    gain_ratio = formulas.bounded_speedup(found["step_s"], row["added_step_s"], row["workers"])
    runs = " ".join([*row.runs, *found.runs])
    return found | {"runs": runs, "base_runs": None, "gain_ratio": gain_ratio}


def _as_advised(inputs: Inputs) -> Row | None:
    """Return one worker's step with the batch that H1 advises."""
    batch = advised_batch(inputs)
    used = inputs.rows("assignment_utilisation", per_worker_batch=batch, status="complete")
    timed = [row for row in used if row["samples_per_s"]]
    if not timed:
        return None
    return timed[0] | {"step_s": batch / timed[0]["samples_per_s"]}


def _timed_on_gpus(inputs: Inputs) -> bool:
    """Whether all that was timed ran on GPUs; False where nothing was."""
    runs = inputs.tidy_rows("runs", kind="timed", status="complete")
    return bool(runs) and on_gpus(run["device"] for run in runs)


def global_batch_bound(inputs: Inputs) -> Row | None:
    """Return the fit that says whether the global batch has a bound, if one does.

    Of the network that S1 leads with: with the lab's optimiser, else as S1 leads.
    """
    searches = inputs.rows("goal_searches")
    leads = [row for row in searches if row["lead"]]
    models = {row["model"] for row in leads}
    of_lab = [
        row for row in searches if row["model"] in models and row["optimizer"] == lab().optimizer
    ]
    fits = {row["runs"]: row for row in inputs.rows("goal_fit")}
    rows = [
        fits[row["runs"]] | {"shape": row["shape"], "of_lab": row in of_lab}
        for row in [*of_lab, *leads]
        if row["runs"] in fits
    ]
    return next((row for row in rows if row["b_crit"] or row["shape"] == "proportional"), None)


def missed(inputs: Inputs) -> list[Row]:
    """Return by how much each question's predictions missed a measured step, the worst of each."""
    found = []
    for question, table in (("Q3.1", "prediction"), ("E2", "step_prediction")):
        off = [row for row in inputs.rows(table) if row["error_frac"] is not None]
        for row in sorted(off, key=lambda row: -abs(row["error_frac"]))[:1]:
            found.append(row | {"question": question, "missed_frac": abs(row["error_frac"])})
    return found


def _elbows(inputs: Inputs) -> list[Row]:
    return inputs.rows("lr_scaling_elbow", rule="linear", status="complete")


def rates_scaled(inputs: Inputs) -> list[Row]:
    """Return what scaling the rate with the batch did to test accuracies, a row a comparison.

    base_lr, lr: the rate left as it is and the scaled one; scaled_difference_frac: the accuracy
    with the scaled rate less that with the other, both with the larger batch; scaled_side: where
    that lies of 0; base_runs: of the rate left as it is.
    """
    return [*_scaled_in_q4(inputs), *_scaled_in_h5(inputs), *_scaled_in_s2(inputs)]


def _scaled(row: Row, question: str, difference: str, side: str) -> Row:
    """Return the row of a comparison with the names of `rates_scaled`."""
    named = {f"scaled_difference_frac{end}": row[f"{difference}{end}"] for end in ENDS}
    return row | named | {"scaled_side": row[side], "question": question}


def _scaled_in_q4(inputs: Inputs) -> list[Row]:
    beside = inputs.rows("large_batch", arm="linear_scaling", base="large", status="complete")
    arms = {row["arm"]: row for row in inputs.rows("accuracy", study="large_batch")}
    if not beside or beside[-1]["test_accuracy_side"] == "unknown":
        return []
    row = _scaled(beside[-1], "Q4.2", "test_accuracy_difference_frac", "test_accuracy_side")
    large, scaled = arms["large"], arms["linear_scaling"]
    run = inputs.tidy_rows("runs", run=row.runs[0])[0]
    rates = {"base_lr": large["lr"], "lr": scaled["lr"], "optimizer": run["optimizer"]}
    return [row | rates | {"global_batch": large["global_batch"]}]


def _scaled_in_h5(inputs: Inputs) -> list[Row]:
    fixed = {_place(row): row for row in inputs.rows("assignment", rule="fixed")}
    return [
        _scaled(row, "H5", "fixed_difference_frac", "to_fixed")
        | {"base_lr": fixed[_place(row)]["lr"], "base_runs": fixed[_place(row)]["runs"]}
        for row in inputs.rows("assignment", rule="linear")
        if row["to_fixed"] not in (None, "unknown")
    ]


def aids(inputs: Inputs) -> list[Row]:
    """Return what gradual warm-up, and zero gains beside it, change at the scaled rate.

    In S2 (warm-up with gains of one) and in Q4.2. gain_frac: the accuracy with the aid less that
    without, of side scaled_side; no row where that is not measurable.
    """
    found = []
    for aid, claim, arm, base in (
        ("warm_up", "gradual_none_unit", "warmup", "linear_scaling"),
        ("zero_gains", "gamma_large", "zero_gamma", "warmup"),
    ):
        # The error without it less the error with it is what it gains in accuracy.
        found += [
            row
            | {"aid": aid, "question": "S2", "gain_frac": -row["measured"], "scaled_side": side}
            | {"gain_frac_low": negated(row["measured_high"])}
            | {"gain_frac_high": negated(row["measured_low"])}
            for row in inputs.rows("published_lr_scaling", claim=claim)
            if (side := AS_ACCURACY.get(row["measured_side"]))
        ]
        found += [
            row
            | {"aid": aid, "question": "Q4.2", "scaled_side": side}
            | {f"gain_frac{end}": row[f"test_accuracy_difference_frac{end}"] for end in ENDS}
            for row in inputs.rows("large_batch", arm=arm, base=base)
            if (side := row["test_accuracy_side"]) in AS_ACCURACY
        ]
    return found


def negated(end: float | None) -> float | None:
    """Return the end of an interval of the opposite difference; None for none."""
    return None if end is None else -end


def _place(row: Row) -> tuple[int | None, int]:
    return row["nodes"], row["workers"]


def _scaled_in_s2(inputs: Inputs) -> list[Row]:
    """Of the largest batch whose error the linear rule keeps, and of the first that it loses."""
    return [
        # The error of the fixed rate less that of the linear rule is what that gains in accuracy.
        _scaled(fixed, "S2", "linear_difference_frac", "to_linear")
        | {"base_lr": fixed["lr"], "lr": linear["lr"]}
        | {"runs": linear["runs"], "base_runs": fixed["runs"]}
        for elbow in _elbows(inputs)
        for at in ("elbow_batch", "lost_batch")
        if elbow[at] and elbow[at] != elbow["reference_batch"]
        for linear in _with_rule(inputs, "linear", elbow[at])
        for fixed in _with_rule(inputs, "fixed", elbow[at])
        if fixed["to_linear"] != "unknown"
    ]


def _on_test_alone(inputs: Inputs) -> bool:
    """Whether the unscaled rate does not keep the error on validation data where the rule fails."""
    return any(
        row["kept_on_validation"] is False
        for elbow in _elbows(inputs)
        if elbow["lost_batch"]
        for row in _with_rule(inputs, "fixed", elbow["lost_batch"])
    )


def _with_rule(inputs: Inputs, rule: str, batch: int) -> list[Row]:
    """Return S2's training with a rule, gradual warm-up and zero gains."""
    cell = {"optimizer": "sgd", "warmup": "gradual", "zero_gamma": True, "global_batch": batch}
    return inputs.rows("lr_scaling", role="arm", rule=rule, **cell)


def scaled_to(elbow: Row | None, scalings: list[Row]) -> float | None:
    """Return up to how many times the rate S2 kept the error of its reference; None if nowhere.

    None too where scaling cost accuracy somewhere at as many times or fewer.
    """
    kept = elbow["elbow_ratio"] if elbow and elbow["elbow_batch"] else None
    lost = [row["lr"] / row["base_lr"] for row in scalings if row["scaled_side"] == "below"]
    return kept if kept and 1 < kept < min(lost, default=math.inf) else None


def start(cells: list[Row], bound: Row | None) -> Row | None:
    """Return the lab's largest batch beyond its reference whose rate the linear rule gives.

    Of those that S2 scaled as much without a higher error, and up to where steps hardly fall
    (`bound`), or else the smallest; None without one. unscaled_lr: the lab's; with what its
    batch saves of one worker's steps by `bound` (`saved`), and what follows (`to_goal`).
    """
    kept = [row for row in cells if row["rule_holds"] == "kept" and row["batch_ratio"] > 1]
    if not kept:
        return None
    kept.sort(key=lambda row: (row["global_batch"], row["workers"]))
    last = bound["maximal_start"] if bound and bound["b_crit"] is not None else None
    within = [row for row in kept if last is None or row["global_batch"] <= last] or kept[:1]
    chosen = within[-1] | {"unscaled_lr": lab().lr}
    return chosen | to_goal(saved(chosen, bound), chosen["workers"])


def to_goal(saving: Value | None, workers: int) -> dict[str, Any]:
    """Return what a share of saved steps means for the time to a goal.

    N workers take as long for a step as one divided by their efficiency, so that they are sooner
    above an efficiency of the share of steps that is left (`break_even_frac`), and at the
    efficiency that the page is about 0.9 over that share as soon (`goal_speedup_ratio`).
    ideal_saving_frac: were steps to fall in proportion.
    """
    left, low, high = (
        None if share is None else 1 - share
        for share in ((saving.value, saving.high, saving.low) if saving else (None,) * 3)
    )
    return {
        "saved_steps_frac": saving,
        "ideal_saving_frac": 1 - 1 / workers,
        "break_even_frac": left,
        "break_even_frac_low": low,
        "break_even_frac_high": high,
        "goal_speedup_ratio": EFFICIENCY / left if left else None,
    }


def saved(cell: Row, bound: Row | None) -> Value | None:
    """Return the share of one worker's steps to a goal that a cell's batch saves by a fit of S1."""
    if bound is None or bound["b_crit"] is None:
        return None

    def share(b_crit: float | None) -> float | None:
        return b_crit and 1 - formulas.critical_batch_steps(1, b_crit, cell["global_batch"]) / (
            formulas.critical_batch_steps(1, b_crit, cell["per_worker_batch"])
        )

    least, most = share(bound["b_crit_low"]), share(bound["b_crit_high"])
    return Value(
        value=share(bound["b_crit"]), unit="fraction", low=least, high=most, runs=bound.runs
    )


def advised_batch(inputs: Inputs) -> int | None:
    """Return the batch of a worker that H1 advises, where that is not the first; else none."""
    utilisation = inputs.rows("assignment_utilisation", status="complete")
    advised = [row["per_worker_batch"] for row in utilisation[1:] if row["advised"]]
    crowded = any(row["crowded"] for row in utilisation)
    return advised[0] if advised and not crowded else None


def gains_by(gains: list[Row], lines: list[list[Row]], every: list[Row]) -> GainsBy:
    """Return how what several workers gain goes with the step of one, the longest first.

    gains: of each question's largest batch; lines: of one network each, the longest step last;
    every: all of these. longer: the gain is nowhere larger where the step is shorter, within no
    network either, and not everywhere the same; all, none: measurably above 1 with each step, with
    no step; largest: with the largest batch of each question, not with every other.
    """
    ranks, paces = [RANK[row["pace"]] for row in gains], {row["pace"] for row in every}
    if len(ranks) < 2:
        return "unknown"
    if set(ranks) == {2}:
        return "all" if paces == {"above"} else "largest"
    if 2 not in ranks:
        return "mixed" if "above" in paces else "none"
    ordered = ranks == sorted(ranks, reverse=True)
    less = any(rows[-1]["growth"] == "below" for rows in lines)
    return "longer" if ordered and not less else "mixed"


def exception(every: list[Row]) -> dict[str, Row] | None:
    """Return the shorter step of a network that gains most over a longer one of another.

    None where none gains measurably more, nor measurably where the longer one does not.
    """
    pairs = [
        {"shorter": shorter, "longer": longer}
        for shorter, longer in product(every, every)
        if shorter["question"] != longer["question"]
        and shorter["step_s"] < longer["step_s"]
        and (
            RANK[shorter["pace"]] > RANK[longer["pace"]]
            or beside(shorter, longer, "speedup_ratio") == "above"
        )
    ]
    gain = "speedup_ratio"
    return max(pairs, key=lambda pair: pair["shorter"][gain] / pair["longer"][gain], default=None)


def _links(transfers: list[Row]) -> list[Row]:
    """Return a row a link, with the lab's all-reduce and that of the network here."""
    found = []
    for _, own in by(transfers, "link_bytes_per_s"):
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
            r"c \ge E t \text{ (all hidden)}, \qquad c \ge \frac{E}{1 - E} t \text{ (none)}"
        ],
        vocabulary=words("here asked", Way)
        | words("gains_by", GainsBy)
        | words("enough", VERDICTS)
        | words("aid", ("warm_up", "zero_gains"))
        | words("scaled_side", ("above", "indistinct", "below"))
        | words("optimizer", TrainingConfig.model_fields["optimizer"].annotation),
    )
]
