"""S1: how many steps training takes to a goal error, against the batch size."""

from collections.abc import Sequence
from typing import Any

from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import BOUSQUET, MCCANDLISH, SHALLUE
from dpscale.reporting.words import by

STUDY = "steps_to_goal"
OUTCOMES = ("complete", "incomplete", "infeasible")
COUNTED = ("at_border", *(f"{outcome}_trials" for outcome in OUTCOMES), "repeats_reached")
FITTED = ("s_min", "b_crit", "perfect_end", "maximal_start", "noise_scale")


def facts(inputs: Inputs) -> Facts:
    """Return the winners, the fits with what decides of them, contrasts and equal budgets."""
    every = inputs.rows(STUDY)
    rows = [row for row in every if row["global_batch"] is not None]
    without = [row for row in every if row["global_batch"] is None]
    missing = lacking(without, {"model": "network", "optimizer": "optimiser"}, STUDY)
    missing += [] if every else [f"{STUDY}: not run yet"]
    fits, contrasts = inputs.rows("goal_fit"), inputs.rows("goal_contrasts")
    verdicts = [row | {"status": row["reason"]} for row in inputs.rows("published_steps_to_goal")]
    for row in contrasts:
        steps = intervals.against(row.small_steps_ratio, 1)
        row["steps"] = "indistinct" if steps == "unknown" else steps
        row["kind"] = intervals.against(row.b_crit_ratio, 1)
    said: dict[str, Any] = {
        "rows": rows, "fits": fits, "verdicts": verdicts, "searches": searches(rows),
        "batches": {model: batches(own) for model, own in by(rows, "model")},
    }  # fmt: skip
    if not missing:
        bent = bends(fits, verdicts)
        plain = [row for row in bent if row["optimizer"] == "sgd"]
        said |= outcomes(rows) | {
            "bends": bent, "first": next(iter(plain + bent), None), "contrasts": contrasts,
            "budgets": budgets(inputs), "given": inputs.tidy_rows("searches"),
        }  # fmt: skip
    return Facts(missing, values(rows, fits, contrasts), said)


def batches(rows: list[Row]) -> list[Row]:
    """Return the steps and epochs of a network: a row a batch size, two columns an optimiser."""
    return [
        Row(
            {f"{measure}_{row['optimizer']}": row.value(measure, "number")
             for row in own for measure in ("steps_to_goal", "epochs_to_goal")},
            global_batch=own[0].value("global_batch", "setting"),
            runs=" ".join(sorted(runs_of(own))),
        )
        for _, own in by(rows, "global_batch")
    ]  # fmt: skip


def searches(rows: list[Row]) -> list[Row]:
    """Return each search over all its batch sizes: the range of the winners' rates, and counts."""
    made = []
    for (model, optimizer), own in by(rows, "model", "optimizer"):
        rates = [row["lr"] for row in own if row["lr"] is not None]
        counts = {name: sum(int(row[name] or 0) for row in own) for name in COUNTED}
        made.append(Row(
            counts, model=model, optimizer=optimizer, runs=own[0]["runs"],
            lr_low=min(rates, default=None), lr_high=max(rates, default=None),
        ))  # fmt: skip
    return made


def bends(fits: list[Row], verdicts: list[Row]) -> list[Row]:
    """Return the fits with a B_crit, and what was decided of their small batches and noise."""
    decided = {(row["claim"], row["model"], row["optimizer"]): row["verdict"] for row in verdicts}
    return [
        row | {name: decided[name, row["model"], row["optimizer"]] for name in ("small", "noise")}
        for row in fits
        if row["b_crit"] is not None
    ]


def budgets(inputs: Inputs) -> list[Row]:
    """Return by kind of budget which end of the batch sizes more often has the lower error."""
    found, error = [], "validation_error_frac"
    for kind in ("epochs", "steps"):
        rows = [row for row in inputs.rows("budget", kind=kind) if row["budget"]]
        rows.sort(key=lambda row: row["global_batch"])
        pairs = [
            (own[0], own[-1]) for _, own in by(rows, "model", "optimizer", "budget")
            if own[0][error] != own[-1][error]
            and not (own[0]["reached"] and own[-1]["reached"])
        ]  # fmt: skip
        small = sum(one[error] < other[error] for one, other in pairs)
        if pairs:
            runs = runs_of([row for pair in pairs for row in pair])
            found.append(Row(
                kind=kind, end="small" if 2 * small >= len(pairs) else "large",
                wins=Value(value=max(small, len(pairs) - small), unit="count", runs=runs),
                of=Value(value=len(pairs), unit="count", runs=runs),
            ))  # fmt: skip
    return found


def outcomes(rows: list[Row]) -> dict[str, Any]:
    """Return the number of trials and the share of each outcome, and repeats without the goal."""
    counts = {name: sum(row[f"{name}_trials"] for row in rows) for name in OUTCOMES}
    total, runs = sum(counts.values()), runs_of(rows)
    return {
        "trials": Value(value=total, unit="count", runs=runs),
        "shares": {
            name: Value(value=count / (total or 1), unit="fraction", runs=runs)
            for name, count in counts.items()
        },
        "short": [
            row | {"unreached": row["repeats"] - row["repeats_reached"]}
            for row in rows
            if row["repeats"] and row["repeats_reached"] < row["repeats"]
        ],
    }


def runs_of(rows: Sequence[Row]) -> list[str]:
    """Return the runs of all rows, each once."""
    return list(dict.fromkeys(run for row in rows for run in row.runs))


def values(rows: list[Row], fits: list[Row], contrasts: list[Row]) -> dict[str, Value]:
    """Return the values of the answer, by search, batch size and contrast."""
    found: dict[str, Value] = {}
    for row in rows:
        place = f"{row['model']}_{row['optimizer']}_b{row['global_batch']}"
        found[f"steps_to_goal_{place}"] = row.value("steps_to_goal", "number")
        found[f"test_error_frac_{place}"] = row.test_error_frac
    for row in fits:
        for column in FITTED:
            found[f"{column}_{row['model']}_{row['optimizer']}"] = row.value(column, "number")
    for row in contrasts:
        base = row["other_optimizer"] if row["contrast"] == "optimizer" else row["other_model"]
        found[f"b_crit_ratio_{row['model']}_{row['optimizer']}_over_{base}"] = row.b_crit_ratio
    return found


QUESTIONS = [
    Question(
        "S1",
        facts,
        formula=[
            r"S(B) = S_{\min} \left( 1 + \frac{B_{\text{crit}}}{B} \right)",
            r"B_{\text{simple}} = \frac{\operatorname{tr} \Sigma}{|G|^2}",
        ],
        references=[SHALLUE, MCCANDLISH, BOUSQUET],
    )
]
