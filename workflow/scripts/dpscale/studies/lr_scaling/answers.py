"""S2: which learning rate and which warm-up a large batch needs."""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import complement, ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, HE, IOFFE, KRIZHEVSKY, YOU
from dpscale.reporting.words import by
from dpscale.studies.lr_scaling import courses
from dpscale.studies.lr_scaling.derive import way
from dpscale.studies.lr_scaling.published import updates_per_epoch
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
WARM_UPS = ("none", "constant", "gradual")  # from none to the most careful
KEPT = ("kept", "kept or lowered")
NEAR = 0.9  # of the margin: an interval that ends beyond keeps the error just
DECIDED = ("above", "below", "indistinct")  # sides of a difference that has an interval


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
        "crossed": any(
            row["status"] == "diverged" and row["zero_gamma"] and row["warmup"] == "gradual"
            for row in planned
        ),
        "elbows": elbows,
        "grid": grid(planned),
        "warm_ups": [],
        "either": None,
        "comparisons": [beside(row) for row in comparisons],
        "curve": [
            beside(row) for row in published if row["kind"] == "curve" and row["batch_ratio"] != 1
        ],
    }
    if not missing:
        compared = [row for row in published if row.runs]
        said |= {"rows": rows, "compared": compared, "claims": claims} | arms(rows)
        said["elbow"] = elbow = next((row for row in elbows if row["rule"] == "linear"), None)
        said["beyond"] = past = beyond(elbow, said["rules"]) if elbow else None
        other = with_gains_of_one(past, rows) if past and past["advised"] else None
        said["either_gain"] = other if other and other["holds"] == "below" else None
        said["opposed_by_ones"] = other if other and other["holds"] == "above" else None
        if past and said["opposed_by_ones"]:
            said["beyond"] = past | {"advised": False}
        said["fixed"] = fixed_up_to(elbow, said["rules"])
        said["unscaled"] = unscaled(said["fixed"], said["rules"])
        said["alike"] = alike(elbow, said["unscaled"], said["rules"])
        said["ones"] = without_zero_gains(elbow, rows)
        said["in_q4"] = scaled_in_q4(inputs)
        said["opposed"] = opposed_in_q4(inputs, rows)
        said["disagreeing"] = disagreeing(compared, said["reference"]["train_samples"])
        said["gains"] = beside_unit(rows)
        said["warm_ups"] = warm_ups(claims)
        said["warmed"] = warmed(rows, claims)
        said["either"] = either(said["warmed"])
        said["largest"] = elbow and elbow["largest_batch"]
        said["least_at_largest"] = least(
            row for (_, at), row in said["rules"].items() if at == said["largest"]
        )
        said |= by_epoch(inputs, said, elbow)
        said["efficiency"] = next((row for row in compared if row["kind"] == "efficiency"), None)
        times = inputs.rows("iteration_times")
        said["times"] = {row["runs"]: row for row in times}
        said["paced"] = paced(times)
    kept, lost = ([right(row) for row in rows if row[name]] for name in ("reference", "large"))
    effects = [ratio_of(*pair) for pair in product(kept, lost)]
    return Facts(missing, values(rows, elbows, claims), said, effects=effects)


def paced(times: list[Row]) -> list[Row]:
    """Return the times of one worker and of more with the least b that several have; else none."""
    complete = [row for row in times if row["status"] == "complete"]
    several = [row["per_worker_batch"] for row in complete if row["workers"] > 1]
    least = min(several, default=None)
    return [row for row in complete if row["per_worker_batch"] == least]


def right(row: Row) -> Value:
    """Return the share of right answers of an arm."""
    return complement(row.test_error_frac)


def arms(rows: list[Row]) -> dict[str, Any]:
    """Return the arms by what they show: the reference, those at the large batch, the rules.

    rules: the arms with gradual warm-up and zero gamma by (rule, batch); tried: other rates of
    the reference; lars: the run whose rate was chosen on validation data, or the only one;
    lars_rates: of all.
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
        "lars_rates": [row["lr"] for row in lars],
    }


def beyond(elbow: Row, rules: Mapping[tuple[str, int], Row]) -> Row | None:
    """Return the linear rule at the smallest batch above its elbow; None where it kept all.

    ratio: of that batch to the reference; others: the other rules there; choice: of them the one
    of the least error that kept the reference's (`kept`, `just` as of `just_kept`), else that may
    and erred less than the linear rule; advised: whether validation data prefer it to the linear
    rule too; also: another rule of which this holds as well; least: of all rules that of the
    least error.
    """
    if elbow["elbow_batch"] is None:
        return None
    above = [batch for rule, batch in rules if rule == "linear" and batch > elbow["elbow_batch"]]
    if not above:
        return None
    batch = min(above)
    others = [row for (rule, at), row in rules.items() if at == batch and rule != "linear"]
    others.sort(key=lambda row: row["rule"] != "fixed")  # of equal errors that which scales nothing
    keeper = least(row for row in others if row["kept"] in KEPT)
    better = [row for row in others if row["to_linear"] == "below"]
    choice = keeper or least(row for row in better if row["kept"] == "undecided")
    linear = rules["linear", batch]
    as_good = (
        row
        for row in others
        if choice and row is not choice
        if all(row[name] == choice[name] for name in ("kept", "kept_on_validation"))
        if row["to_linear"] == "below" and preferred(row, linear)
    )
    return Row(
        linear=linear,
        also=next(as_good, None),
        least=least((linear, *others)),
        ratio=batch / elbow["reference_batch"],
        choice=choice,
        kept=keeper is not None,
        just=keeper is not None and just_kept(keeper),
        advised=choice is not None and preferred(choice, linear),
        others=others,
    )


def with_gains_of_one(beyond: Row, rows: list[Row]) -> Row | None:
    """Return what the choice of `beyond` does there with gains of one; None if not trained.

    linear, choice: as there. holds: where the error of this lies of that of the linear rule: below,
    by validation data too, above, or neither. kept: what it does with either gain, if that is the
    same.
    """
    way = {"warmup": "gradual", "optimizer": "sgd", "role": "arm", "zero_gamma": False}
    way["global_batch"] = beyond["linear"]["global_batch"]
    ones = {row["rule"]: row for row in rows if all(row[name] == way[name] for name in way)}
    zero = beyond["choice"]
    if not {"linear", zero["rule"]} <= set(ones):
        return None
    linear, choice = ones["linear"], ones[zero["rule"]]
    agrees = choice["to_linear"] == "below" and preferred(choice, linear)
    return Row(
        linear=linear,
        choice=choice,
        holds="below" if agrees else "above" if choice["to_linear"] == "above" else None,
        kept=choice["kept"] if choice["kept"] == zero["kept"] else None,
    )


def just_kept(row: Row) -> bool:
    """Return whether the interval of a kept error's difference ends beyond NEAR of the margin."""
    low, high = row["difference_frac_low"], row["difference_frac_high"]
    if None in (low, high):
        return False
    farthest = max(high, -low) if row["kept"] == "kept" else high
    return bool(farthest > NEAR * row["margin_frac"])


def alike(elbow: Row | None, at_elbow: Row | None, rules: Mapping[tuple[str, int], Row]) -> bool:
    """Return whether scaling gains nothing measurable up to the linear rule's elbow: the fixed rate
    keeps the error there too (`at_elbow`, of `unscaled`), and validation data contradict neither.
    """
    if elbow is None or at_elbow is None:
        return False
    here = at_elbow["global_batch"] == elbow["elbow_batch"] > elbow["reference_batch"]
    if not here or at_elbow["kept"] not in KEPT or at_elbow["to_linear"] != "indistinct":
        return False
    either = at_elbow, rules["linear", elbow["elbow_batch"]]
    return all(row["kept_on_validation"] is not False for row in either)


def preferred(row: Row, other: Row) -> bool:
    """Return whether an arm errs less on validation data, which choose, than one, if it ended."""
    error, rival = row["validation_error_frac"], other["validation_error_frac"]
    if error is None or rival is None:
        return error is not None and other["status"] == "diverged"
    return bool(error < rival)


def least(rows: Iterable[Row]) -> Row | None:
    """Return the arm of the least test error; None where none has any."""
    ended = [row for row in rows if row["test_error_frac"] is not None]
    return min(ended, key=lambda row: float(row["test_error_frac"]), default=None)


def scaled_in_q4(inputs: Inputs) -> Row | None:
    """Return Q4.2's large batch with the linear rule where that lifts its test accuracy."""
    beside = inputs.rows("large_batch", arm="linear_scaling", base="large", status="complete")
    if not beside or beside[-1]["test_accuracy_side"] != "above":
        return None
    return next(iter(inputs.rows("accuracy", study="large_batch", arm="linear_scaling")), None)


def opposed_in_q4(inputs: Inputs, rows: list[Row]) -> Row | None:
    """Return zero gains without warm-up at the large batch where Q4.2 decides the opposite.

    An accuracy on one side is an error on the other.
    """
    beside = inputs.rows("large_batch", arm="zero_gamma_alone", base="linear_scaling")
    sides = {row["test_accuracy_side"] for row in beside} & {"above", "below"}
    alone = (row for row in rows if row["large"] and row["zero_gamma"] and row["warmup"] == "none")
    return next((row for row in alone if row["to_unit"] in sides), None)


def fixed_up_to(elbow: Row | None, rules: Mapping[tuple[str, int], Row]) -> list[Row]:
    """Return the arms of the fixed rate at the batches up to the linear rule's elbow."""
    last = (elbow and elbow["elbow_batch"]) or 0
    return [row for (rule, batch), row in rules.items() if rule == "fixed" and batch <= last]


def unscaled(fixed: list[Row], rules: Mapping[tuple[str, int], Row]) -> Row | None:
    """Return the fixed rate at the largest batch where the linear rule keeps the error, if run.

    linear_advised: whether test and validation data prefer the linear rule there; everywhere:
    whether the fixed rate keeps the error with each batch of the linear rule up to there.
    """
    if not fixed:
        return None
    row = max(fixed, key=lambda row: int(row["global_batch"]))
    linear = rules.get(("linear", row["global_batch"]))
    advised = row["to_linear"] == "above" and linear is not None and preferred(linear, row)
    last = row["global_batch"]
    keeping = {other["global_batch"] for other in fixed if other["kept"] in KEPT}
    scaled = {batch for rule, batch in rules if rule == "linear" and batch <= last}
    return row | {"linear_advised": advised, "everywhere": scaled <= keeping}


def without_zero_gains(elbow: Row | None, rows: list[Row]) -> list[Row]:
    """Return the linear rule with gradual warm-up and gains of one at larger batches up to the
    elbow that it has with zero gains."""
    last = (elbow and elbow["elbow_batch"]) or 0
    way = {"rule": "linear", "warmup": "gradual", "zero_gamma": False, "role": "arm"}
    ones = [row for row in rows if all(row[name] == value for name, value in way.items())]
    found = [row for row in ones if not row["reference"] and row["global_batch"] <= last]
    return sorted(found, key=lambda row: int(row["global_batch"]))


def by_epoch(inputs: Inputs, said: Mapping[str, Any], elbow: Row | None) -> dict[str, Any]:
    """Return what the curves say: falls of the rate, warm-ups, and where a high rate fails.

    warm_up: updates of a gradual one at the large batch, of all; jump: at the end of a constant
    one there, with zero gains; struggle: of the linear rule at the first batch that it loses.
    """
    of_run = dict(by(inputs.rows("lr_scaling_curves"), "runs"))
    found: dict[str, Any] = {
        "falls": courses.falls(of_run.get(said["reference"]["runs"], [])),
        "warm_up": None,
        "jump": None,
        "struggle": None,
    }
    for row in said["at_large"]:
        course = of_run.get(row["runs"], [])
        if row["warmup"] == "constant" and row["zero_gamma"]:
            found["jump"] = courses.jump(course)
        long = courses.warm_up_epochs(course)
        if long and row["rule"] == "linear" and row["steps"]:
            updates = round(long * row["steps"] / row["epochs"])
            found["warm_up"] = row | {"warm_updates": updates, "warm_epochs": long}
    if lost := elbow and said["rules"].get(("linear", elbow["lost_batch"])):
        found["struggle"] = courses.struggle(of_run.get(lost["runs"], []))
    return found


def disagreeing(compared: list[Row], samples: int | None) -> dict[str, Any]:
    """Return the updates of an epoch where errors came out otherwise than published, here and there
    (`published_updates`); none where none did, or where they were not counted."""
    errors = [row for row in compared if row["verdict"] == "disagrees" and row["global_batch"]]
    errors = [row for row in errors if samples and row["kind"] != "efficiency"]
    return {
        "updates": [(samples or 0) // row["global_batch"] for row in errors],
        "published_updates": [updates_per_epoch(row["claim"]) for row in errors],
    }


def beside_unit(rows: list[Row]) -> list[Row]:
    """Return the arms with zero gains that were compared with gains of one, and their difference.

    unit: the same way with gains of one; apart: the difference, of the runs of both.
    """
    unit = {way(row): row for row in rows if not row["zero_gamma"]}
    return [
        row
        | {
            "unit": (other := unit[way(row)]),
            "apart": (row | {"base_runs": other["runs"]}).value("unit_difference_frac", "fraction"),
        }
        for row in rows
        if row["unit_difference_frac"] is not None
    ]


def warmed(rows: list[Row], claims: Mapping[str, Row]) -> list[Row]:
    """Return what gradual warm-up does beside none at the large batch; else a constant one.

    With gains of one first, then with zero gains, where it is known. before, after: the arms;
    measured_side: of their errors; advised: whether test and validation data prefer the warm-up.
    """
    by_runs = {row["runs"]: row for row in rows}
    for warmup in ("gradual", "constant"):
        beside_none = [claims.get(f"{warmup}_none{unit}") for unit in ("_unit", "")]
        if known := [row for row in beside_none if row and row["measured_side"] in DECIDED]:
            pairs = [(row, by_runs[row["runs"]], by_runs[row["base_runs"]]) for row in known]
            return [
                Row(
                    measured_side=row["measured_side"],
                    after=after,
                    before=before,
                    advised=row["measured_side"] == "below" and preferred(after, before),
                )
                for row, after, before in pairs
            ]
    return []


def warm_ups(claims: Mapping[str, Row]) -> list[Row]:
    """Return what each warm-up does to the error of none at the large batch, where it is known.

    With gains of one, and with zero gains (`zero_gamma`).
    """
    named = product(("gradual", "constant"), (("_unit", False), ("", True)))
    return [
        Row(warmup=warmup, zero_gamma=zero, measured_side=row["measured_side"])
        for warmup, (unit, zero) in named
        if (row := claims.get(f"{warmup}_none{unit}")) and row["measured_side"] in DECIDED
    ]


def grid(rows: Iterable[Row]) -> list[Row]:
    """Return the test errors of the linear rule at the large batch, a row a warm-up.

    unit, zero: with gains of one and with zero gains, null where there is no such result. No row
    where fewer than two ways were planned, which leave nothing to compare.
    """
    arms = [
        row
        for row in rows
        if row["large"] and (row["role"], row["optimizer"], row["rule"]) == ("arm", "sgd", "linear")
    ]
    if len(arms) < 2:
        return []
    found = []
    for warmup, own in by(sorted(arms, key=lambda row: WARM_UPS.index(row["warmup"])), "warmup"):
        errors = {"zero" if row["zero_gamma"] else "unit": row.test_error_frac for row in own}
        runs = " ".join(row["runs"] for row in own)
        found.append(Row(errors, warmup=warmup, global_batch=own[0]["global_batch"], runs=runs))
    return found


def either(pairs: list[Row]) -> Row | None:
    """Return the arms where gradual warm-up and zero gains each lower the error, and both no more.

    pairs: of `warmed`. neither: with gains of one and no warm-up; warm_up, zero_gains: with that
    alone. None where one of them does not lower the error of neither, and where both together
    are not shown to be measurably no different from each.
    """
    if len(pairs) < 2 or pairs[0]["after"]["warmup"] != "gradual":
        return None
    unit, zero = pairs
    lower = unit["measured_side"], zero["before"]["to_unit"]
    further = zero["measured_side"], zero["after"]["to_unit"]
    if lower != ("below", "below") or further != ("indistinct", "indistinct"):
        return None
    return Row(neither=unit["before"], warm_up=unit["after"], zero_gains=zero["before"])


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
