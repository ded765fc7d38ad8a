"""The findings that open the report: the largest effect of each of its three subjects."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from dpscale.reporting.answer import Answer, Value
from dpscale.reporting.answers import prose, q1_trend
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.q4_remedies import REMEDIES
from dpscale.reporting.answers.q7_replicas import costs

SUBJECTS = {
    "speed": ("Q2", "Q3.1", "Q1", "H3"),
    "accuracy": ("Q4.1", "Q4.2", "H6"),
    "agreement of the workers": ("Q7", "Q6", "Q5"),
}

Values = Mapping[str, Value]


class Effect(NamedTuple):
    """An effect that its intervals decide; `doublings` is its size as |log2| of a ratio."""

    doublings: float
    text: str


class Finding(NamedTuple):
    """A finding of the summary and the question it comes from."""

    question: str
    text: str


def _doublings(one: float, other: float) -> float:
    return abs(math.log2(one / other)) if one > 0 and other > 0 else 0.0


def _batch_size(inputs: Inputs, _values: Values) -> Effect | None:
    found = q1_trend.trend([row for row in inputs.rows("sweep") if row["status"] == "complete"])
    if not found.shape.startswith("falls"):
        return None
    ratio = found.first["epoch_s"] / found.best["epoch_s"]
    return Effect(
        math.log2(ratio),
        (
            f"Batch size: on one device an epoch takes "
            f"{prose.bare(q1_trend.epoch_time(found.first))} "
            f"at b = {found.first['per_worker_batch']} "
            f"and {prose.bare(q1_trend.epoch_time(found.best))} "
            f"at b = {found.best['per_worker_batch']}, "
            f"{prose.bare(Value(value=ratio, unit='number'))} times less."
        ),
    )


def _speedup(inputs: Inputs, _values: Values) -> Effect | None:
    rows = [row for row in inputs.rows("scaling", kind="weak") if row["workers"] > 1]
    own_device = [row for row in rows if not row.get("oversubscribed")]
    chosen = _clearest(inputs, own_device or rows)
    return _pace(inputs, chosen) if chosen else None


def _clearest(inputs: Inputs, rows: list[Row]) -> Row | None:
    """The cell whose speed-up is farthest from 1 by an interval that excludes 1.

    Where no interval does, the cell farthest from N by an interval that excludes N.
    """
    for ideal in (False, True):
        found = []
        for row in rows:
            ratio, mark = row.speedup_ratio, float(row["workers"]) if ideal else 1.0
            if prose.against(ratio, mark) in ("above", "below"):
                found.append((_doublings(float(ratio.value or 0), mark), row))
        if found:
            return max(found, key=lambda pair: pair[0])[1]
    return None


def _pace(inputs: Inputs, row: Row) -> Effect:
    """How far a speed-up that its interval decides is from 1 and from N, whichever is more."""
    ratio, workers = row.speedup_ratio, row["workers"]
    verdict = prose.against(ratio, 1.0)
    size = float(ratio.value or 0)
    shared = "; these workers share cores or devices" if row.get("oversubscribed") else ""
    return Effect(
        max(_doublings(size, 1), _doublings(size, workers)),
        (
            f"Scaling: at b = {row['per_worker_batch']}, {prose.counted(workers, 'worker')} are "
            f"{prose.FASTER[verdict]}, with a speed-up of {prose.quantity(ratio)}, where "
            f"{workers}× would be ideal{shared}."
        ),
    )


def _large_batch(_inputs: Inputs, values: Values) -> Effect | None:
    small, large = (values[f"{name}_test_accuracy_frac"] for name in ("small", "large"))
    verdict = prose.compare(large, small)
    if verdict not in ("above", "below"):
        return None
    word = "lower" if verdict == "below" else "higher"
    return Effect(
        _errors(large, small),
        (
            f"Accuracy: after the same epochs the large batch has a {word} test accuracy than the "
            f"small one, {prose.quantity(large)} against {prose.quantity(small)}."
        ),
    )


def _errors(one: Value, other: Value) -> float:
    """Doublings between the test errors of two accuracies."""
    return _doublings(1 - float(one.value or 0), 1 - float(other.value or 0))


def _remedy(_inputs: Inputs, values: Values) -> Effect | None:
    large = values.get("large_test_accuracy_frac")
    if large is None:
        return None
    found = [
        Effect(
            _errors(value, large),
            (
                f"Remedies: {REMEDIES[name].title} raises the test accuracy of the large batch "
                f"from {prose.quantity(large)} to {prose.quantity(value)}."
            ),
        )
        for name in REMEDIES
        if (value := values.get(f"{name}_test_accuracy_frac"))
        and prose.compare(value, large) == "above"
    ]
    return max(found, default=None)


def _replicas(inputs: Inputs, values: Values) -> Effect | None:
    spread, with_it = (
        values[f"test_accuracy_spread_frac_{arm}"] for arm in ("no_broadcast", "broadcast")
    )
    rows = [
        row
        for row in inputs.rows("replicas", arm="no_broadcast")
        if row.get("test_accuracy_frac_min") is not None
    ]
    if not costs(spread, with_it) or not rows:
        return None
    worst = max(rows, key=lambda row: row["test_accuracy_spread_frac"])
    size = _doublings(1 - worst["test_accuracy_frac_min"], 1 - worst["test_accuracy_frac_max"])
    return Effect(
        size,
        (
            "Replicas: with gradients as the only messages the running statistics differ between "
            f"workers, and the test accuracy with them, by up to "
            f"{prose.points(float(spread.value or 0))} against "
            f"{prose.points(float(with_it.value or 0))} with the broadcast."
        ),
    )


CANDIDATES: dict[str, Callable[[Inputs, Values], Effect | None]] = {
    "Q1": _batch_size,
    "Q2": _speedup,
    "Q4.1": _large_batch,
    "Q4.2": _remedy,
    "Q7": _replicas,
}


def chosen(answers: Sequence[Answer], derived: Mapping[str, pd.DataFrame]) -> list[Finding]:
    """Return one finding for each subject: the largest effect that its intervals decide.

    Where no effect is decided, the sentence of the subject's first answer stands in; where all
    its answers are withheld, the finding says so. A subject of which the configuration plans
    nothing has no finding.
    """
    inputs, by_id = Inputs(derived, {}), {answer.id: answer for answer in answers}
    subjects = {
        subject: [by_id[name] for name in questions if name in by_id]
        for subject, questions in SUBJECTS.items()
    }
    planned = {
        subject: own
        for subject, own in subjects.items()
        if not all(answer.left_out for answer in own)
    }
    return [_of_subject(inputs, subject, own) for subject, own in (planned or subjects).items()]


def _of_subject(inputs: Inputs, subject: str, answers: Sequence[Answer]) -> Finding:
    given = [answer for answer in answers if not answer.missing]
    decided = [
        (effect, answer.id)
        for answer in given
        if answer.id in CANDIDATES and (effect := CANDIDATES[answer.id](inputs, answer.values))
    ]
    if decided:
        effect, question = max(decided)
        return Finding(question, effect.text)
    if given:
        return Finding(given[0].id, given[0].sentence)
    names = [answer.id for answer in answers]
    return Finding(
        names[0],
        f"No finding on {subject}: {prose.join(names)} "
        f"{prose.verb(len(names), 'lacks', 'lack')} results.",
    )


def findings(answers: Sequence[Answer], derived: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the texts of the findings that `chosen` picks."""
    return [finding.text for finding in chosen(answers, derived)]
