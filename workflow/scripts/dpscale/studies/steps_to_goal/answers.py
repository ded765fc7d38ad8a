"""S1: how many steps training takes to a goal error, against the batch size."""

import statistics
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

from dpscale.derive.statistics import estimate_of, inverse, product
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import BOUSQUET, MCCANDLISH, SHALLUE
from dpscale.reporting.words import by
from dpscale.studies.steps_to_goal.derive import fit
from dpscale.studies.steps_to_goal.derive import searches as derived
from dpscale.studies.steps_to_goal.published import CLAIMS
from dpscale.vocabulary import words

STUDY = "steps_to_goal"
FITTED = ("s_min", "b_crit", "perfect_end", "maximal_start", "noise_scale", "small_slope")
IDEAL_FRAC = 0.5  # of the steps, saved by twice the batch where steps fall in proportion
RULES = {
    "factor": derived.REGIME_FACTOR,
    "perfect": derived.PERFECT_SLOPE,
    "maximal": derived.MAXIMAL_SLOPE,
    "ideal_saved": IDEAL_FRAC,
    "perfect_saved": fit.saved_by_doubling(1 / derived.REGIME_FACTOR),
    "maximal_saved": fit.saved_by_doubling(derived.REGIME_FACTOR),
    "ends": fit.END_BATCHES,
    "border_percent": 100 * derived.BORDER_SHARE,
}


def facts_s1(inputs: Inputs) -> Facts:
    """Return the winners, the fits with what decides of them, contrasts and equal budgets."""
    every = inputs.rows(STUDY)
    rows = [row for row in every if row["global_batch"] is not None]
    without = [row for row in every if row["global_batch"] is None]
    missing = lacking(without, {"model": "network", "optimizer": "optimiser"}, STUDY)
    missing += [] if every else [f"{STUDY}: not run yet"]
    shown = {row["runs"]: row for row in inputs.rows("goal_searches")}
    along = noise_along(inputs.rows("noise_scale"))
    fits = [
        shown[row["runs"]] | fitted(row) | {"noise_along": along.get(row["runs"], [])}
        for row in inputs.rows("goal_fit")
    ]
    lead = next((row for row in fits if row["lead"]), None)
    leading = [row for row in rows if lead and row["runs"] == lead["runs"]]
    savings = saved(doubled(leading))
    verdicts = [row | {"status": row["reason"]} for row in inputs.rows("published_steps_to_goal")]
    contrasts = [
        row | {name: row.value(name, "ratio") for name in ("b_crit_ratio", "small_steps_ratio")}
        for row in inputs.rows("goal_contrasts")
    ]
    said: dict[str, Any] = {
        "rows": rows,
        "fits": fits,
        "verdicts": verdicts,
        "lead": lead,
        "saved": savings,
        "saved_everywhere": saved(doubled_by_all(rows)),
        "beyond_ideal": beyond_ideal(leading),
        "samples": samples(leading),
        "batches": {model: batches(own) for model, own in by(rows, "model")},
        "rules": RULES,
        "claims": CLAIMS,
        "budgets": inputs.rows("budget_ends"),
    }
    if not missing:
        said |= {
            "outcomes": {row["outcome"]: row for row in inputs.rows("trial_outcomes")},
            "bends": [row for row in fits if row["shape"] == "bend"],
            "contrasts": contrasts,
            "given": inputs.tidy_rows("searches"),
        }
    effects = [row["b_crit_ratio"] for row in contrasts]
    return Facts(missing, values(rows, fits, contrasts), said, effects=effects)


def fitted(row: Row) -> Row:
    """Return a fit with its values; an end of a regime says on which side of the batches it is."""
    sides = {
        "perfect_end": f"below B = {row['smallest_batch']}",
        "maximal_start": f"beyond B = {row['largest_batch']}",
    }
    found = {column: row.value(column, "number") for column in FITTED}
    found["noise_over_b_crit"] = row.value("noise_over_b_crit", "ratio")
    if row["b_crit"] is not None:
        found |= {
            column: found[column].model_copy(update={"status": side})
            for column, side in sides.items()
            if row[column] is None
        }
    return row | found


def noise_along(rows: Sequence[Row]) -> dict[str, list[Value]]:
    """Return the least and the largest noise scale within the trainings of each search's winner.

    Medians over the seeds at points of the training; the start does not count, as in its mean. None
    where fewer than two points are known.
    """
    known = [row for row in rows if row["point"] and row["noise_scale"] is not None]
    ranked = by(sorted(known, key=lambda row: float(row["noise_scale"])), "runs")
    return {
        run: [row.value("noise_scale", "number") for row in (own[0], own[-1])]
        for run, own in ranked
        if len(own) > 1
    }


def saved(doublings: Sequence[Row]) -> list[Row]:
    """Return what doublings of the batch save of the steps, in three groups.

    Neighbours as one row: at the smallest batches those that save as much as perfect scaling has
    to, at the largest those that hardly save any, and those between. From `small` to `large`;
    regime: which of these they are.
    """
    much = list(takewhile(lambda row: row["saved_frac"].value >= RULES["perfect_saved"], doublings))
    rest = doublings[len(much) :]
    little = list(
        takewhile(lambda row: row["saved_frac"].value <= RULES["maximal_saved"], rest[::-1])
    )
    between = rest[: len(rest) - len(little)]
    return [
        Row(
            regime=regime,
            small=own[0]["small"],
            large=own[-1]["large"],
            saved=[row["saved_frac"] for row in own],
        )
        for regime, own in (("much", much), ("between", between), ("little", little[::-1]))
        if own
    ]


def doubled_by_all(rows: Sequence[Row]) -> list[Row]:
    """Return the median over several searches of what each doubling that all of them have saves."""
    searches = [doubled(own) for _, own in by(rows, "runs")]
    return [
        own[0] | {"saved_frac": median([row["saved_frac"] for row in own])}
        for _, own in by([row for search in searches for row in search], "small")
        if len(own) == len(searches) > 1
    ]


def median(shares: Sequence[Value]) -> Value:
    """Return the median of some shares, with the runs of all."""
    runs = list(dict.fromkeys(run for one in shares for run in one.runs))
    middle = statistics.median(one.value for one in shares if one.value is not None)
    return Value(value=middle, unit="fraction", runs=runs)


def doubled(search: Sequence[Row]) -> list[Row]:
    """Return what each doubling of the batch saves of the steps of a search."""
    measured = [row for row in search if row["steps_to_goal"] is not None]
    return [
        Row(small=one["global_batch"], large=two["global_batch"], saved_frac=share(one, two))
        for one, two in pairwise(measured)
        if two["global_batch"] == 2 * one["global_batch"]
    ]


def beyond_ideal(search: Sequence[Row]) -> list[Row]:
    """Return the doublings that save most of those that save more than half, which is the ideal.

    One of each side: `above` where the interval of the saving, which is of the seeds alone, lies
    above a half, and `within` where it holds a half.
    """
    more = [row for row in doubled(search) if row["saved_frac"].value > IDEAL_FRAC]
    sided = [
        row | {"side": "above" if low > IDEAL_FRAC else "within"}
        for row in sorted(more, key=lambda row: -row["saved_frac"].value)
        if (low := row["saved_frac"].low) is not None
    ]
    return [own[0] for _, own in by(sided, "side")]


def samples(search: Sequence[Row]) -> list[Row]:
    """Return the samples to the goal with the smallest and the largest batch that reached it."""
    measured = [row for row in search if row["samples_to_goal"] is not None]
    ends = [measured[0], measured[-1]] if len(measured) > 1 else []
    return [
        row
        | {"samples": row.value("samples_to_goal", "count")}
        | {"epochs": row.value("epochs_to_goal", "number")}
        for row in ends
    ]


def share(one: Row, two: Row) -> Value:
    """Return the share of the steps with a batch that another does without, by its seeds."""
    of_one, of_two = (estimate_of(row, "steps_to_goal") for row in (one, two))
    value, low, high, _ = product(of_two, inverse(of_one))
    value, low, high = (None if end is None else 1 - end for end in (value, high, low))
    return Value(value=value, low=low, high=high, unit="fraction", runs=one.runs)


def batches(rows: list[Row]) -> list[Row]:
    """Return the steps of a network: a row a batch size, a column an optimiser."""
    return [
        Row(
            {
                f"steps_to_goal_{row['optimizer']}": row.value("steps_to_goal", "number")
                for row in own
            },
            global_batch=own[0].value("global_batch", "setting"),
            runs=" ".join(sorted(runs_of(own))),
        )
        for _, own in by(rows, "global_batch")
    ]


def runs_of(rows: Sequence[Row]) -> list[str]:
    """Return the runs of all rows, each once."""
    return list(dict.fromkeys(run for row in rows for run in row.runs))


def values(rows: list[Row], fits: list[Row], contrasts: list[Row]) -> dict[str, Value]:
    """Return the values of the answer, by search, batch size and contrast."""
    found: dict[str, Value] = {}
    measures = {"steps_to_goal": "number", "test_error_frac": "fraction"}
    found |= named_values(rows, "{column}_{model}_{optimizer}_b{global_batch}", measures)
    found |= named_values(fits, "{column}_{model}_{optimizer}", FITTED)
    for row in contrasts:
        base = row["other_optimizer"] if row["contrast"] == "optimizer" else row["other_model"]
        found[f"b_crit_ratio_{row['model']}_{row['optimizer']}_over_{base}"] = row.b_crit_ratio
    return found


QUESTIONS = [
    Question(
        "S1",
        facts_s1,
        formula=[
            r"\text{steps}(B) = \text{steps}_{\min} \left( 1 + \frac{B_{\text{crit}}}{B} \right)",
            r"B_{\text{simple}} = \frac{\operatorname{tr} \Sigma}{|G|^2}",
        ],
        references=[SHALLUE, MCCANDLISH, BOUSQUET],
        vocabulary=words("end", ("small", "large"))
        | words("contrast", ("optimizer", "model"))
        | words("regime", ("much", "between", "little")),
    )
]
