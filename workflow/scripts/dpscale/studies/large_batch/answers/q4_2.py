"""Q4.2: what each remedy for the large batch gives when it is run."""

from typing import Any

from dpscale.reporting import arms, texts
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.lessons import ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, HOFFER, YOU
from dpscale.studies.large_batch.answers import trainings
from dpscale.studies.large_batch.derive import STUDY
from dpscale.studies.large_batch.remedies import ADDED_TO, CONTROL, LONGER, REMEDIES, SCALED
from dpscale.vocabulary import words

BASES = ("small", "large")
BESIDE = ("small", CONTROL, "large")  # what the table has beside the remedies
GAINS = ("zero_gamma", "zero_gamma_alone")  # remedies with zero gains
SAME_FRAC = 1e-6  # rates that differ by less are one


def facts_q4_2(inputs: Inputs) -> Facts:
    """Return the remedies that were run, each with its verdicts, and those without a result."""
    planned = [row["arm"] for row in inputs.rows("accuracy", study=STUDY)]
    names = [name for name in dict.fromkeys(planned) if name in REMEDIES]
    missing = arms.missing(inputs, STUDY, [*BASES, *names])
    missing += [] if names else [f"{STUDY}: no remedy has a run"]
    epoch = trainings.epoch_of(inputs)
    small, control, large = (trainings.after(inputs, name, epoch) for name in BESIDE)
    last = {name: row for name in names if (row := trainings.after(inputs, name))}
    tried = [judged(inputs, row) for row in last.values() if arms.whole(row)]
    failed = [
        Row(arm=name, status=arms.outcome(inputs, STUDY, name))
        for name in names
        if name not in last or not arms.whole(last[name])
    ]
    given = [row for row in (small, control, large) if row]
    base = [trainings.shown(row) | {"standing": row["arm"]} for row in given]
    control = control and judged(inputs, control)
    against = [verdict for row in [*tried, control] if row for verdict in row["against"]]
    beside = [trainings.shown(row) | {"standing": None} for row in tried]
    said: dict[str, Any] = {"rows": [*base, *beside], "against": against}
    if not missing:
        whole = [row for row in given if arms.whole(row)]
        said |= {
            "names": names,
            "tried": tried,
            "with_arm": {row["arm"]: row for row in tried},
            "failed": failed,
            "epoch": epoch,
            "added": added(against, tried),
            **first_named(tried),
            "small": small if small in whole else None,
            "large": large if large in whole else None,
            **_at_scaled_rate(inputs, control, tried),
            "elsewhere": _lost_in_s2(inputs),
            "gains_beside": _gains_beside_s2(inputs, against),
            "warming": _warming(inputs),
            "warmed_elsewhere": _warmed_in_s2(inputs),
            "lars": _lars_in_s2(inputs),
            "local_sgd": _post_local_in_s4(inputs),
            "plan": inputs.rows("accuracy", study=STUDY, arm="large")[0],
            "left": trainings.left(inputs, "large", epoch),
            "lost": trainings.diverged(inputs, [*BESIDE, *names], epoch),
            "all_learnt": arms.all_learnt([*whole, *tried]),
            **trainings.sampled(inputs),
        }
    right = large["test_accuracy_frac"] if large else nothing("fraction")
    effects = [ratio_of(row["test_accuracy_frac"], right) for row in tried]
    return Facts(missing, _values([large] if large else [], tried, failed), said, effects=effects)


def _at_scaled_rate(inputs: Inputs, control: Row | None, tried: list[Row]) -> dict[str, Any]:
    """Return the control where linear scaling helps, and whether seeds of it diverged.

    level: both rates of the small batch after as many updates as the large one makes, if they end
    an epoch: `small`, and `control`.
    """
    helps = any(row["arm"] == SCALED and row["verdict"] == "above" for row in tried)
    lost = arms.outcome(inputs, STUDY, CONTROL) == "diverged"
    small = trainings.level(inputs)
    then = small and trainings.after(inputs, CONTROL, small["epoch"])
    level = {"small": small, "control": then} if then else None
    return {"control": control if helps else None, "control_lost": helps and lost, "level": level}


def _lost_in_s2(inputs: Inputs) -> list[Row]:
    """Return the batches at which the linear rule raised the reference's error in S2, ascending.

    With gradual warm-up and zero gains, by which S2 judges the rule.
    """
    judged = {"optimizer": "sgd", "role": "arm", "warmup": "gradual", "zero_gamma": True}
    lost = inputs.rows("lr_scaling", rule="linear", kept="lost", **judged)
    return sorted(lost, key=lambda row: int(row["global_batch"]))


def _gains_beside_s2(inputs: Inputs, against: list[Row]) -> Row | None:
    """Return what zero gains decide here (`here`) beside the large batch of S2, warmed up alike.

    Without warm-up rather than with, but first where they are opposite. apart: the difference of
    errors there; relation: what costs accuracy raises an error.
    """
    warmups = {run["arm"]: run["warmup"] for run in inputs.tidy_rows("runs", study=STUDY)}
    here = {
        warmups[row["arm"]]: row
        for row in against
        if row["arm"] in GAINS and row["base"] == ADDED_TO[row["arm"]]
        if row["verdict"] in ("above", "below")
    }
    large = inputs.rows("lr_scaling", large=True, rule="linear")
    unit = {row["warmup"]: row["runs"] for row in large if not row["zero_gamma"]}
    found = [
        row | {"base_runs": unit[row["warmup"]], "here": own, "relation": _relation(own, row)}
        for row in large
        if row["zero_gamma"] and row["to_unit"] not in (None, "unknown")
        if (own := here.get(row["warmup"]))
    ]
    found.sort(key=lambda row: (row["relation"] != "opposite", row["warmup"] != "none"))
    first = next(iter(found), None)
    return first and first | {"apart": first.value("unit_difference_frac", "fraction")}


def _relation(here: Row, there: Row) -> str:
    """Return whether a difference of accuracies agrees with one of errors."""
    if there["to_unit"] == "indistinct":
        return "undecided"
    return "opposite" if there["to_unit"] == here["verdict"] else "agree"


def _warmed_in_s2(inputs: Inputs) -> Row | None:
    """Return what gradual warm-up does at the large batch of S2 with gains of one, as it has here.

    by: the difference of errors to that without; lr: the scaled rate there.
    """
    kinds = [row["warmup"] for row in inputs.tidy_rows("runs", study=STUDY, arm="warmup")]
    arms = inputs.rows("lr_scaling", large=True, zero_gamma=False, warmup="gradual")
    claims = inputs.rows("published_lr_scaling", claim="gradual_none_unit")
    if "gradual" not in kinds or not arms:
        return None
    found = [row for row in claims if row["measured_side"] not in (None, "unknown")]
    return next(
        (row | {"by": row.value("measured", "fraction"), "at": arms[0]} for row in found), None
    )


def _lars_in_s2(inputs: Inputs) -> Row | None:
    """Return LARS in S2 with the rate that was chosen, or the one tried, beside the linear rule."""
    tried = inputs.rows("lr_scaling", optimizer="lars")
    known = [row for row in tried if row["to_linear"] not in (None, "unknown")]
    return next((row for row in known if row["chosen"] or len(tried) == 1), None)


def _post_local_in_s4(inputs: Inputs) -> Row | None:
    """Return post-local SGD beside the large mini-batch in S4, with clean labels."""
    found = inputs.rows("published_local_sgd", claim="post_local_against_large", label_noise_frac=0)
    return next((row for row in found if row["side"] not in (None, "unknown")), None)


def _warming(inputs: Inputs) -> Row | None:
    """Return how many epochs with warm-up begin below the scaled rate, with their updates."""
    curves = [
        curve | {"runs": run["run"], "scaled": run["lr"]}
        for run in inputs.tidy_rows("runs", study=STUDY, arm="warmup")
        for curve in inputs.tidy_rows("curves", run=run["run"])
    ]
    below = [row for row in curves if row["lr"] and row["lr"] < row["scaled"] * (1 - SAME_FRAC)]
    last = max(below, key=lambda row: int(row["step"]), default=None)
    return last and last | {"total": max(row["step"] for row in curves)}


def first_named(tried: list[Row]) -> dict[str, Row | None]:
    """Return of the remedies that measurably help the lead, and the longer training.

    lead: of those that cost no more than the large batch; an addition only where it is measurably
    more accurate than what it is added to, and than the lead before it by the median. to_lead: of
    the longer training; prints_alike: both accuracies are the same number as printed.
    """
    helping = {row["arm"]: row for row in tried if row["verdict"] == "above"}
    longer = helping.pop(LONGER, None)
    lead: Row | None = None
    for arm, row in helping.items():
        adds = over(row, ADDED_TO.get(arm)) == "above"
        if lead is None or (adds and _accuracy(row) > _accuracy(lead)):
            lead = row
    if longer and lead:
        printed = {texts.plain(row.test_accuracy_frac.bare) for row in (lead, longer)}
        longer |= {"to_lead": over(longer, lead["arm"]), "prints_alike": len(printed) == 1}
    return {"lead": lead, "longer": longer}


def _accuracy(row: Row) -> float:
    return float(row.test_accuracy_frac.value or 0)


def added(against: list[Row], tried: list[Row]) -> list[Row]:
    """Return the differences of remedies to those that they add to, where both have a number."""
    arms = {row["arm"] for row in tried}
    pairs = [one for one in against if one["base"] == ADDED_TO.get(one["arm"])]
    return [one for one in pairs if {one["arm"], one["base"]} <= arms]


def over(row: Row, base: str | None) -> str:
    """Return where the test accuracy of a remedy lies of that of another training."""
    return next((one["verdict"] for one in row["against"] if one["base"] == base), "unknown")


def judged(inputs: Inputs, row: Row) -> Row:
    """Return a remedy with its verdicts: against the large batch, the small one, what it mends.

    against: a row for each of these that it was compared with.
    """
    bases = ["large", "small", *filter(None, [ADDED_TO.get(row["arm"])])]
    bases += [name for name in REMEDIES if row["arm"] == LONGER != name]
    against = [
        found | {"training": row["arm"], "verdict": found["test_accuracy_side"]}
        for base in bases
        if (found := trainings.apart(inputs, row["arm"], base)) and found["status"] == "complete"
    ]
    by_base = {one["base"]: one for one in against}
    large, small = (arms.sides(by_base.get(base)) for base in ("large", "small"))
    return row | {
        "against": against,
        "difference": arms.apart(by_base.get("large"))["test_accuracy_frac"],
        "verdict": large["test_accuracy_frac"],
        "loss_verdict": large["train_loss"],
        "to_small": small["test_accuracy_frac"],
        "points_to_small": _points(arms.apart(by_base.get("small"))["test_accuracy_frac"]),
    }


def _points(difference: Value) -> Value:
    """The size of a difference in percentage points, as a number without its interval."""
    size = None if difference.value is None else abs(100 * difference.value)
    return difference.model_copy(
        update={"value": size, "unit": "number", "low": None, "high": None}
    )


def _values(base: list[Row], tried: list[Row], failed: list[Row]) -> dict[str, Value]:
    found = {f"{row['arm']}_{name}": row[name] for row in base + tried for name in arms.MEASURES}
    found |= {f"{row['arm']}_test_accuracy_difference": row["difference"] for row in tried}
    found |= {
        f"{row['arm']}_test_accuracy_frac": Value(value=None, unit="fraction", status=row["status"])
        for row in failed
    }
    return found or {"large_test_accuracy_frac": nothing("fraction")}


QUESTION = Question(
    "Q4.2",
    facts_q4_2,
    formula=[
        r"\eta_{\text{large}} = \eta_{\text{small}} \cdot "
        r"\frac{B_{\text{large}}}{B_{\text{small}}}"
    ],
    references=[GOYAL, HOFFER, YOU],
    of_accuracy=True,
    vocabulary=dict.fromkeys(("verdict", "to_lead", "to_small"), "large_batch.test_accuracy_side")
    | {
        "to_unit": "lr_scaling.to_unit",
        "to_linear": "lr_scaling.to_linear",
        "measured_side": "published_lr_scaling.measured_side",
        "side": "published_local_sgd.side",
    }
    | words("standing", BESIDE)
    | words("relation", ("agree", "opposite", "undecided"))
    | words("arm name", REMEDIES)
    | words("base", [*BESIDE, *REMEDIES])
    | words("training", [*BESIDE, *(f"{name}_left" for name in BESIDE), *REMEDIES]),
)
