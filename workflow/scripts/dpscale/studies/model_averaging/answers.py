"""S3: what several learners on a device gain, averaged synchronously."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product

from dpscale.derive.contrasts import by_chance
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, has_result, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import CROSSBOW, GOYAL, SUTSKEVER
from dpscale.reporting.words import by
from dpscale.studies.model_averaging.config import Algorithm
from dpscale.vocabulary import words

STUDY = "model_averaging"
SMALL, LARGE, LINEAR = "sgd_small", "sgd_large", "sgd_large_linear"
UNITS = {
    "epochs_to_target": "number",
    "seconds_to_target": "s",
    "final_test_accuracy_frac": "fraction",
    "final_train_loss": "number",
}
ORDERS = ("epochs", "seconds")
SIDES = (*ORDERS, "accuracy", "order")  # by the names that the template has for them
Pairs = Mapping[tuple[str, str], Row]


def facts_s3(inputs: Inputs) -> Facts:
    """Return the arms and how they stand to SGD, the learners chosen, the rates and the claims."""
    runs = inputs.tidy_rows("runs", study=STUDY)
    missing = [f"{STUDY}, {run['run']}: {run['status']}" for run in runs if not has_result(run)]
    missing += [] if runs else [f"{STUDY}: not run yet"]
    pairs = {(row["arm"], row["against"]): decided(row) for row in inputs.rows("averaging_pairs")}
    arms = {row["arm"]: row | beside_sgd(row, pairs) for row in inputs.rows("model_averaging")}
    averaged = [row for row in arms.values() if row["optimizer"] == "sma"]
    shared, tuned_rate = (
        [row for row in averaged if row["rate_choice"] == choice] for choice in ("shared", "tuned")
    )
    first = next(iter([*tuned_rate, *shared]), None)
    beside = [
        row["against"][name] | {"rate": name}
        for row, name in product(averaged, (SMALL, LARGE, LINEAR))
        if (row["arm"], name) in pairs
    ]
    timed = [row for row in inputs.rows("learners") if row["samples_per_s"] is not None]
    tuned = [
        row | {"against_plain_ratio": row.against_plain_ratio} for row in timed if row["chosen"]
    ]
    stops = {row["runs"]: row for row in timed if row["first_stop"]}
    trained = as_tuned(first, timed, processes(runs)) if first else []
    paces = next(iter(both_faster([*tuned_rate, *shared], pairs)), None)
    said = {
        "runs": runs,
        "processes": processes(runs),
        "arms": arms,
        "averaged": averaged,
        "shared": shared,
        "tuned_rate": tuned_rate,
        "first": first,
        "doubt": doubt(first["against"][LINEAR]) if first else None,
        "sooner": sooner(first["against"][LINEAR]) if first else None,
        "beside": beside,
        "chance": by_chance(sum(row[name] != "unknown" for row in beside for name in ORDERS)),
        "both_faster": paces,
        "form": slower_form(timed),
        "why": explained(first["against"][LINEAR]) if first else None,
        "apart": first is not None and told_apart(first, arms.get(LINEAR)),
        "comparable": bool(averaged) and {SMALL, LARGE, LINEAR} <= set(arms),
        "alphas": [*by_pull(shared, pairs), *by_pull(tuned_rate, pairs)],
        "timed": [
            row | {"gain_frac": None if row["gain_frac"] is None else row.gain_frac}
            for row in timed
        ],
        "as_tuned": [
            row | {"bound": first and at_tuned_pace(row, first, arms.get(LINEAR))}
            for row in trained
        ],
        "untuned": any(
            row["learners"] != row["chosen"]["learners"] and row["pace"] in ("below", "unknown")
            for row in trained
        ),
        "most": max((row["learners"] for row in timed), default=0),
        "tuned": [row | {"stop": stops[row["runs"]]} for row in tuned],
        "claims": inputs.rows("published_model_averaging"),
        "rates": best_rates(inputs.rows("averaging_rates")),
    }
    effects = [row.value("seconds_ratio", "ratio") for row in beside]
    return Facts(missing, values(arms, pairs, tuned), said, effects=effects)


def as_tuned(first: Row, timed: Sequence[Row], processes: int) -> list[Row]:
    """Return the learners of a process in the trainings, and what tuning chooses for the same.

    Of the same network and batch; none where that was not tuned. timed: the row of as many learners
    as the trainings have, None where so many were not timed; pace: where its throughput lies of
    that of the number chosen, launch by launch.
    """
    learners = first["learners"] // processes
    alike = [
        row
        for row in timed
        if all(row[key] == first[key] for key in ("model", "per_learner_batch")) and row["stacked"]
    ]
    trained = next((row for row in alike if row["learners"] == learners), None)
    return [
        Row(
            learners=learners,
            chosen=row,
            timed=trained,
            pace=trained["to_chosen"] if trained else "unknown",
        )
        for row in alike
        if row["chosen"]
    ]


def by_pull(arms: Sequence[Row], pairs: Pairs) -> list[Row]:
    """Return the comparisons of each arm with the one before it, which differ in the pull alone."""
    return [
        pairs[names] | {"first": first, "second": second}
        for first, second in pairwise(arms)
        if (names := (second["arm"], first["arm"])) in pairs
    ]


def both_faster(averaged: Sequence[Row], pairs: Pairs) -> list[Row]:
    """Return by how much learners, and SGD with the large batch, outpace SGD with the small one.

    Samples a second over the whole training, by pairs of seeds; for the first of the averaged arms,
    and only where both are measurably faster.
    """
    rows = [pairs.get((arm, SMALL)) for arm in [*(row["arm"] for row in averaged[:1]), LINEAR]]
    faster = [row for row in rows if row and row["pace_side"] == "above"]
    if len(faster) < 2:
        return []
    return [Row(learners=faster[0].pace_ratio, large=faster[1].pace_ratio)]


def slower_form(timed: Sequence[Row]) -> list[Value]:
    """Return how fast one learner by itself is, stacked and averaged as many are, over the plain
    network, for each network and batch; nothing where one is not measurably slower."""
    alone = [row for row in timed if row["learners"] == 1 and row["stacked"]]
    slower = [row for row in alone if (row["against_plain_ratio_high"] or math.inf) < 1]
    return [row.against_plain_ratio for row in slower] if len(slower) == len(alone) else []


def told_apart(first: Row, large: Row | None) -> bool:
    """Return whether learners and SGD with as many samples a step both reach the target, and the
    seconds of one are measurably fewer."""
    if large is None or {first["status"], large["status"]} != {"complete"}:
        return False
    pair = first["against"][LINEAR]
    return sooner(pair) is not None and doubt(pair) is None


def explained(pair: Row) -> Value | None:
    """Return how many times as many samples a second the faster of learners and SGD passes.

    None where that does not explain their seconds: where their epochs measurably differ, or their
    paces do not, or not the way that their seconds do.
    """
    if sooner(pair) is None or doubt(pair) or pair["epochs"] != "indistinct":
        return None
    slower = pair["seconds"] == "above"
    if pair["pace_side"] != ("below" if slower else "above"):
        return None
    pace: Value = pair.pace_ratio
    if not slower:
        return pace
    value, low, high = (1 / end if end else None for end in (pace.value, pace.high, pace.low))
    return pace.model_copy(update={"value": value, "low": low, "high": high})


def at_tuned_pace(trained: Row, first: Row, large: Row | None) -> Row | None:
    """Return the seconds (s) to the target of the learners at the throughput of tuning's number.

    Their seconds (s), times their samples/s over those of tuning's number: at the same epochs.
    more: whether that is more than SGD's seconds with as many samples a step. trained: of
    `as_tuned`. None where learners do not need measurably more seconds, and where one is unknown.
    """
    timed, chosen = trained["timed"], trained["chosen"]
    if timed is None or timed["learners"] == chosen["learners"] or large is None:
        return None
    own, other = first["seconds_to_target"], large["seconds_to_target"]
    if first["against"][LINEAR]["seconds"] != "above" or own is None or other is None:
        return None
    seconds = own * timed["samples_per_s"] / chosen["samples_per_s"]
    runs = list(dict.fromkeys([*first.runs, *timed.runs, *chosen.runs]))
    return Row(seconds=Value(value=seconds, unit="s", runs=runs), more=seconds > other)


def doubt(pair: Row) -> Row | None:
    """Return which of learners and SGD may be the faster, and how many times at most.

    least: how many times the other may be the faster.
    By the ratio of SGD's seconds to the learners', whose interval holds 1; None where it does not,
    where seconds were not compared, and where less than a hundredth is open.
    """
    low, high = pair.get("seconds_ratio_low"), pair.get("seconds_ratio_high")
    if low is None or high is None or not low <= 1 <= high:
        return None
    least, most = sorted((1 / low, high))
    faster = "sgd" if most > high else "sma"
    return Row(faster=faster, most=most, least=least) if most > 1.01 else None


def sooner(pair: Row) -> Value | None:
    """Return how many seconds sooner SGD or the learners are, by pairs of seeds, if either is."""
    if pair["seconds"] not in ("above", "below") or pair["seconds_difference"] is None:
        return None
    seconds = pair.value("seconds_difference", "s")
    if (seconds.value or 0) > 0:
        return seconds
    value, low, high = (
        None if one is None else -one for one in (seconds.value, seconds.high, seconds.low)
    )
    return seconds.model_copy(update={"value": value, "low": low, "high": high})


def best_rates(rows: Sequence[Row]) -> list[Row]:
    """Return the best rate of each optimiser, with all that were tried and the one trained with."""
    return [
        row | {"tried": tried, "used": [one for one in tried if one["configured"]][:1]}
        for _, tried in by(rows, "optimizer")
        for row in [one for one in tried if one["best"]][:1]
    ]


def processes(runs: Sequence[Row]) -> int:
    """Return how many processes the learners share."""
    return max((run["workers"] for run in runs if run["kind"] == "averaging"), default=1)


def decided(pair: Row) -> Row:
    """Return two arms with where the intervals of their differences lie."""
    return Row(pair, **{name: pair[f"{name}_side"] for name in (*ORDERS, "accuracy")})


def beside_sgd(row: Row, pairs: Pairs) -> Row:
    """Return an arm's effective rate, its pace over SGD's with the small batch, and how it stands
    to the arms of SGD."""
    unknown = Row(epochs="unknown", seconds="unknown", standing="unknown")
    rate = row["effective_lr"]
    small = pairs.get((row["arm"], SMALL))
    own = Value(value=1.0 if row["arm"] == SMALL else None, unit="ratio", runs=row.runs)
    return Row(
        pace_ratio=small.pace_ratio if small else own,
        effective_lr=Value(value=rate, unit="number", runs=row.runs),
        against={name: pairs.get((row["arm"], name), unknown) for name in (SMALL, LARGE, LINEAR)},
    )


def values(arms: Mapping[str, Row], pairs: Pairs, tuned: Iterable[Row]) -> dict[str, Value]:
    """Return what was measured of each arm, its seconds beside those of large batches, and the
    chosen number of learners with its throughput for each model and batch."""
    found: dict[str, Value] = {}
    for arm, row in arms.items():
        key = re.sub(r"[^a-z0-9]+", "_", arm.replace("α", "alpha").lower()).strip("_")
        found |= named_values([row], f"{{column}}_{key}", UNITS)
        found[f"reached_seeds_{key}"] = row.value("reached", "count")
        for other in (LARGE, LINEAR):
            if row["optimizer"] == "sma" and (arm, other) in pairs:
                found[f"seconds_ratio_{key}_against_{other}"] = pairs[arm, other].seconds_ratio
    for row in tuned:
        cell = f"{row['model']}_b{row['per_learner_batch']}"
        found[f"chosen_learners_{cell}"] = row.value("learners", "count")
        found |= named_values([row], f"{{column}}_{cell}", ("samples_per_s", "against_one_ratio"))
    return found


QUESTIONS = [
    Question(
        "S3",
        facts_s3,
        formula=[
            r"c_j = \text{pull} \cdot (w_j - z), \qquad w_j \leftarrow w_j - \eta \nabla \ell(w_j)"
            r" - c_j, \qquad z \leftarrow z + \sum_{j=1}^{k} c_j + m \, (z - z_{\text{previous}})",
            r"v_{\text{averaged}} = \frac{\eta}{1 + (1 - m) / k} \, g, \qquad "
            r"v_{\text{SGD}} = \frac{\eta}{1 - m} \, g",
        ],
        references=[CROSSBOW, GOYAL, SUTSKEVER],
        vocabulary=words("optimizer", Algorithm)
        | dict.fromkeys(SIDES, "averaging_pairs.epochs_side"),
        of_accuracy=True,
    )
]
