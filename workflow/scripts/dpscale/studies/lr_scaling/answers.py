"""S2: which learning rate and which warm-up a large batch needs."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import complement, ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, HE, IOFFE, KRIZHEVSKY, YOU
from dpscale.vocabulary import words

STUDY = "lr_scaling"

# Claims in the names of values of answers.json, which other programs read.
NAMES = {
    "gradual_none_unit": "gradual_warm_up_against_none_gains_of_one_here",
    "constant_none_unit": "constant_warm_up_against_none_gains_of_one_here",
    "gradual_none": "gradual_warm_up_against_none",
    "constant_none": "constant_warm_up_against_none",
    "gradual_reference": "gradual_warm_up_against_the_reference_batch",
    "sqrt_linear": "square_root_rule_against_linear",
    "fixed_linear": "fixed_rate_against_linear_rule",
    "gamma_reference": "zero_gamma_against_unit_gamma_reference_batch",
    "gamma_large": "zero_gamma_against_unit_gamma_large_batch",
}


def facts_s2(inputs: Inputs) -> Facts:
    """Return the arms with their standing, the elbows, and the published results beside them.

    compared: those with a counterpart here; claims: of them the comparisons of two errors, by id;
    times: of an iteration, by the runs of a cell.
    """
    planned, published = inputs.rows(STUDY), inputs.rows("published_lr_scaling")
    names = {"arm": "arm", "global_batch": "B"}
    missing = lacking(planned, names, STUDY) if planned else [f"{STUDY}: not run yet"]
    if not missing and not any(row["reference"] for row in planned):
        missing = [f"{STUDY}: no run of the reference batch"]
    rows = [row | {"base_runs": None} for row in planned]  # an error is that of its own runs
    elbows = [
        row | {"status": "none found"} if row["status"] == "complete" else row
        for row in inputs.rows("lr_scaling_elbow")
    ]
    comparisons = [row for row in published if row["kind"] == "claim"]
    claims = {row["claim"]: row | points(row) for row in comparisons if row.runs}
    said: dict[str, Any] = {
        "planned": planned,
        "elbows": elbows,
        "comparisons": [beside(row) for row in comparisons],
        "curve": [
            beside(row) for row in published if row["kind"] == "curve" and row["batch_ratio"] != 1
        ],
    }
    if not missing:
        compared = [row for row in published if row.runs]
        said |= {"rows": rows, "compared": compared, "claims": claims} | arms(rows)
        said["elbow"] = elbow = next((row for row in elbows if row["rule"] == "linear"), None)
        said["largest"] = elbow and elbow["largest_batch"]
        said["efficiency"] = next((row for row in compared if row["kind"] == "efficiency"), None)
        said["times"] = {row["runs"]: row for row in inputs.rows("iteration_times")}
    kept, lost = ([right(row) for row in rows if row[name]] for name in ("reference", "large"))
    effects = [ratio_of(*pair) for pair in product(kept, lost)]
    return Facts(missing, values(rows, elbows, claims), said, effects=effects)


def right(row: Row) -> Value:
    """Return the share of right answers of an arm."""
    return complement(row.test_error_frac)


def arms(rows: list[Row]) -> dict[str, Any]:
    """Return the arms by what they show: the reference, those at the large batch, the rules.

    rules: the arms with gradual warm-up and zero gamma by (rule, batch); tried: other rates of
    the reference; lars: the run whose rate was chosen on validation data, or the only one.
    """
    reference = next(row for row in rows if row["reference"])
    sgd = [row for row in rows if row["optimizer"] == "sgd"]
    trained = [row for row in sgd if row["role"] == "arm"]
    rules = {
        (row["rule"], row["global_batch"]): row
        for row in trained
        if row["warmup"] == "gradual" and row["zero_gamma"]
    }
    lars = [row for row in rows if row["optimizer"] == "lars"]
    return {
        "reference": reference,
        "at_large": [row for row in trained if row["large"]],
        "rules": rules,
        "tried": [row for row in sgd if row["role"] == "search"],
        "lars": next((row for row in lars if row["chosen"] or len(lars) == 1), None),
    }


def points(row: Row) -> dict[str, Value]:
    """Return the measured difference of two errors, and the same in percentage points."""
    ends = {end: row[f"measured{end}"] for end in ("", "_low", "_high")}
    scaled = {f"points{end}": None if found is None else 100 * found for end, found in ends.items()}
    return {
        "difference_frac": row.value("measured", "fraction"),
        "points": (row | scaled).value("points", "number"),
    }


def beside(row: Row) -> Row:
    """Return a published result in whose row the measured difference alone has runs."""
    named = row | {"status": "none", "runs": None, "base_runs": None}
    settings = {name: named.value(name, "setting") for name in ("published_batch", "global_batch")}
    return (
        named
        | settings
        | {
            "batch_ratio": named.value("batch_ratio", "ratio"),
            "published_difference_frac": Value(value=row["published"], unit="fraction"),
            "difference_frac": (row | {"status": row["reason"]}).value("measured", "fraction"),
        }
    )


def values(rows: list[Row], elbows: list[Row], claims: Mapping[str, Row]) -> dict[str, Value]:
    """Return the test errors, the elbows and the measured differences by name."""
    found = {}
    for row in rows:
        arm = re.sub(r"\W+", "_", row["arm"])
        found[f"test_error_frac_{arm}_kn{row['global_batch']}"] = row.test_error_frac
    batches = dict.fromkeys(("elbow_batch", "lost_batch"), "setting")
    found |= named_values(elbows, "{rule}_{column}", batches)
    return found | {
        f"difference_frac_{NAMES[id]}": row["difference_frac"] for id, row in claims.items()
    }


QUESTIONS = [
    Question(
        "S2",
        facts_s2,
        formula=[
            r"\eta_B = \eta_0 \cdot \frac{B}{B_0} \;\text{(linear)}, \qquad "
            r"\eta_B = \eta_0 \sqrt{\frac{B}{B_0}} \;\text{(square root)}, \qquad "
            r"\eta_B = \eta_0 \;\text{(fixed)}",
            r"\eta_i = \eta_0 + (\eta_B - \eta_0) \, \frac{i}{I} \;\text{(update } i \text{ of } I"
            r"\text{ of a gradual warm-up)}",
            r"\text{rate of a layer} = \eta \, \text{trust} \cdot \frac{\lVert w \rVert}"
            r"{\lVert g \rVert + \text{decay} \cdot \lVert w \rVert} \;\text{(LARS)}",
        ],
        references=[GOYAL, KRIZHEVSKY, YOU, HE, IOFFE],
        vocabulary=words("claim", [*NAMES, "efficiency"])
        | words("id", ("gradual_none", "constant_none")),
    )
]
