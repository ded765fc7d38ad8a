"""S4: the arms of each regime, the differences between them, and the time that they save."""

from typing import Any

from dpscale.derive.formulas import partly_faster
from dpscale.derive.statistics import difference_together, estimate_of
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, has_result, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, LIN, PATARASUK, ZHANG
from dpscale.reporting.words import by
from dpscale.studies.local_sgd.derive import LARGE as BASE
from dpscale.studies.local_sgd.derive import LEARNED_FRAC, STUDY

LARGE = "post_local_against_large"
ABOUT_FRAC = 0.05  # of all labels: a training accuracy is about the share of right ones
MEASURES = {
    "train_loss": "number",
    "train_accuracy_frac": "fraction",
    "test_accuracy_frac": "fraction",
    "rounds": "count",
    "sent_bytes": "bytes",
}


def facts_s4(inputs: Inputs) -> Facts:
    """Return the arms, their differences beside the published ones, and the predicted times."""
    planned, published = inputs.rows(STUDY), inputs.rows(f"published_{STUDY}")
    rows = [
        row | {"loss": row.value("train_loss", "number")}
        for row in planned
        if row["label_noise_frac"] is not None
    ]
    regimes = inputs.rows(f"{STUDY}_regimes")
    differences = compared(rows, published, regimes)
    large = [row for row in differences if row["claim"] == LARGE]
    missing = [
        f"{STUDY}, {row['runs']}: {row['status'] or 'not run yet'}"
        for row in planned
        if not has_result(row)
    ]
    if not planned:
        missing = [f"{STUDY}: not run yet"]
    elif not (large or missing):
        missing = [f"{STUDY}: no post-local arm beside a large mini-batch"]
    times = [row for row in inputs.rows(f"{STUDY}_times") if row["epoch_s"] is not None]
    facts: dict[str, Any] = {"arms": rows, "published": published, "times": times}
    if not missing:
        others = [row for row in differences if row["claim"] != LARGE]
        facts |= {"others": others, "learned_frac": LEARNED_FRAC}
        failed = [row for row in planned if row["label_noise_frac"] is None]
        facts |= {"regimes": regimes, "failed": failed}
        facts |= (made := protocol(inputs, rows))
        facts |= unlearned(rows)
        facts["rightly"] = rightly(rows)
        facts["ceilings"] = ceilings(rows, made["run"]["test_samples"])
        facts["large"] = large
        facts["scheduled"] = as_scheduled(times, large[0], inputs) if large else []
    return Facts(missing, values(rows, differences), facts)


def compared(rows: list[Row], claims: list[Row], regimes: list[Row]) -> list[Row]:
    """Return each difference of two arms, null where a seed of them diverged, and the arms.

    With the best arm of its regime, how many are measurably better than the large mini-batch there,
    the best one where it is no post-local one and no chance, and what can set arms apart there.
    """
    arms = {(row["label_noise_frac"], row["arm"]): row for row in rows}
    best = {row["label_noise_frac"]: row for row in rows if row["best"]}
    regime = {row["label_noise_frac"]: row for row in regimes}
    compared = []
    for row in claims:
        noise = row["label_noise_frac"]
        first, second = (arms.get((noise, row[end])) for end in ("minuend", "subtrahend"))
        if first is None or second is None:
            continue
        difference = (row | {"status": "diverged"}).value("measured", "fraction")
        pair = {"difference": difference, "first": first, "second": second}
        leader, own = best.get(noise), regime[noise]
        sure = leader is not None and beyond_chance(leader, own["family"])
        pair |= {
            "best": leader,
            "betters": sum(
                row["over_large_side"] == "above" for (at, _), row in arms.items() if at == noise
            ),
            "sure": sure,
            "other_best": leader if leader and sure and not leader["local_from_step"] else None,
            "elsewhere": elsewhere(leader, arms) if leader else [],
            "saved": saved(first, second),
            "local": (local := local_arm(arms, first, own["family"])),
            "local_saved": saved(local, second) if local else None,
            "synchronous_frac": synchronous_frac(first),
            "best_saved": saved(leader, second) if leader else None,
        }
        compared.append(row | pair | {"room": own["room"], "regime": own})
    return compared


def local_arm(arms: dict[tuple[float, str], Row], post_local: Row, family: int) -> Row | None:
    """Return the first arm of local SGD with the labels of the post-local one, if it has a result.

    Its steps are local from the first on. sure: as of `beyond_chance`.
    """
    return next(
        (
            row | {"sure": beyond_chance(row, family)}
            for (noise, name), row in arms.items()
            if noise == post_local["label_noise_frac"]
            and name != post_local["arm"]
            and row["local_from_step"] == 0
            and row["test_accuracy_frac"] is not None
        ),
        None,
    )


def beyond_chance(arm: Row, family: int) -> bool:
    """Return whether an arm is better, or worse, by an interval that holds for all comparisons at
    once."""
    together = difference_together(estimate_of(arm, "over_large_frac"), family)
    low, high = together.low, together.high
    return low is not None and high is not None and (low > 0 or high < 0)


def saved(arm: Row, base: Row) -> Value | None:
    """Return the share of another arm's rounds of communication that an arm does without.

    None where either is not known, and where it does not make fewer.
    """
    rounds, others = arm["rounds"], base["rounds"]
    if not rounds or not others or rounds >= others:
        return None
    runs = list(dict.fromkeys([*arm.runs, *base.runs]))
    return Value(value=1 - rounds / others, unit="fraction", runs=runs)


def synchronous_frac(arm: Row) -> float | None:
    """Return the share of an arm's steps before its local ones, each of which is a round."""
    first, steps = arm["local_from_step"], arm["steps"]
    return first / steps if first and steps else None


def as_scheduled(times: list[Row], pair: Row, inputs: Inputs) -> list[Row]:
    """Return the predicted times with the local steps of a post-local arm, sped up in these alone.

    pair: of `compared`, whose first is that arm. schedule_ratio: over synchronous steps throughout;
    slower_alone: an epoch so takes longer than one worker's with the same batch.
    """
    local_steps, synchronous = pair["first"]["local_steps"], pair["synchronous_frac"]
    if synchronous is None:
        return []
    alone = {
        row["per_worker_batch"]: row["epoch_s"] for row in inputs.rows("communication", workers=1)
    }
    found = []
    for row in times:
        if row["local_steps"] != local_steps:
            continue
        ratio = partly_faster(1 - synchronous, row["speedup_ratio"])
        alone_s, epoch_s = alone.get(row["per_worker_batch"]), row["synchronous_epoch_s"] / ratio
        scheduled = row.speedup_ratio.model_copy(update={"value": ratio})
        slower = {"slower_alone": alone_s is not None and epoch_s > alone_s}
        found.append(row | {"schedule_ratio": scheduled} | slower)
    return found


def ceilings(rows: list[Row], images: int | None) -> dict[float, Row]:
    """Return the large mini-batch of each regime in which all that learned their labels are alike.

    By the regime's share of wrong labels. alike: those arms, which do not differ measurably and
    whose median accuracies lie within one test image; others did not learn them (where all did,
    `room` says what sets them apart).
    """
    found = {}
    for noise, own in by(rows, "label_noise_frac"):
        learned = [row for row in own if row["learned"] and row["test_accuracy_frac"] is not None]
        base = next((row for row in learned if row["arm"] == BASE), None)
        if not (base and images and 1 < len(learned) < len(own)):
            continue
        right = [images * row["test_accuracy_frac"] for row in learned]
        sides = {row["over_large_side"] for row in learned if row is not base}
        if max(right) - min(right) < 1 and sides == {"indistinct"}:
            found[noise] = base | {"alike": list(dict.fromkeys(row["arm"][:2] for row in learned))}
    return found


def slow(arm: Row, large: Row) -> bool:
    """Whether an arm is worse and learned no labels that the large mini-batch did: it may only be
    slower."""
    return bool(arm["over_large_side"] == "below" and large["learned"] and not arm["learned"])


def rightly(rows: list[Row]) -> list[Row]:
    """Return the kinds of labels of which every arm fits about as many as are right.

    fits: the training accuracies of the arms. So none has learned the wrong ones by heart.
    """
    noisy = by([row for row in rows if row["label_noise_frac"]], "label_noise_frac")
    fitted = {noise: [row["train_accuracy_frac"] for row in own] for noise, own in noisy}
    return [
        Row(label_noise_frac=noise, fits=[row.train_accuracy_frac for row in own])
        for noise, own in noisy
        if None not in fitted[noise]
        and all(abs(fit - (1 - noise)) <= ABOUT_FRAC for fit in fitted[noise])
    ]


def unlearned(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the arms that may only be slower than the large mini-batch of their regime (`large`).

    slower: those whose rate is lower at the same global batch; unlearned: the others.
    """
    large = {row["label_noise_frac"]: row for row in rows if row["arm"] == BASE}
    found: dict[str, list[Row]] = {"slower": [], "unlearned": []}
    for row in rows:
        base = large.get(row["label_noise_frac"])
        if base and slow(row, base):
            lower = row["global_batch"] == base["global_batch"] and row["lr"] < base["lr"]
            found["slower" if lower else "unlearned"].append(row | {"large": base})
    return found


def elsewhere(arm: Row, arms: dict[tuple[float, str], Row]) -> list[Row]:
    """Return the same arm with other labels, and whether it may only be slower there."""
    return [
        row | {"unlearned": slow(row, arms[noise, BASE])}
        for (noise, name), row in arms.items()
        if name == arm["arm"] and noise != arm["label_noise_frac"] and (noise, BASE) in arms
    ]


def protocol(inputs: Inputs, rows: list[Row]) -> dict[str, Any]:
    """Return what was trained, when local steps begin, and how the rates were chosen."""
    base = next(row for row in rows if row["arm"] == BASE)
    curves = inputs.rows(f"{STUDY}_curves")
    trials = inputs.tidy_rows("trials", role="tuning")
    runs = inputs.tidy_rows("runs", study=STUDY)
    return {
        "base": base,
        "run": next(run for run in runs if run["run"] == base["runs"]),
        "switch": next((row["switch_epoch"] for row in curves if row["switch_epoch"]), None),
        "searched": [row for row in rows if row["rates_tried"]],
        "seeds": {row["seed"] for row in trials if row["rate_factor"] is not None},
        "expected": next((run["expected"] for run in runs if run["expected"]), None),
    }


def values(rows: list[Row], differences: list[Row]) -> dict[str, Value]:
    """Return what each arm measures, and the differences, by regime."""
    found: dict[str, Value] = {}
    for row in rows:
        name = f"noise{round(100 * row['label_noise_frac'])}_{row['arm'].replace(' H=', '_h')}"
        found |= named_values([row], name + "_{column}", MEASURES)
    for row in differences:
        noise = round(100 * row["label_noise_frac"])
        found[f"noise{noise}_{row['claim']}_difference"] = row["difference"]
    return found


QUESTIONS = [
    Question(
        "S4",
        facts_s4,
        formula=[
            r"w_j^{t+h+1} = w_j^{t+h} - \eta \nabla \ell_j(w_j^{t+h}),\ 0 \le h < H, "
            r"\qquad w^{t+H} = \frac{1}{k} \sum_{j=1}^{k} w_j^{t+H}, "
            r"\qquad \text{sent} = \text{rounds} \cdot \frac{2(k-1)}{k} S"
        ],
        references=[LIN, GOYAL, ZHANG, PATARASUK],
        of_accuracy=True,
    )
]
