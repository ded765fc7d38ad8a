"""S4: the arms of each regime, the differences between them, and the time that they save."""

from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, has_result, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, LIN, PATARASUK, ZHANG
from dpscale.reporting.words import by
from dpscale.studies.local_sgd.derive import LARGE as AGAINST
from dpscale.studies.local_sgd.derive import LEARNED_FRAC

STUDY = "local_sgd"
LARGE = "post_local_against_large"
APART = ("above", "below")
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
    differences = compared(rows, published)
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
    said: dict[str, Any] = {"arms": rows, "published": published, "times": times}
    if not missing:
        others = [row for row in differences if row["claim"] != LARGE]
        said |= {"large": large, "others": others, "learned_frac": LEARNED_FRAC}
        said |= {"comparisons": decidable(rows, differences)}
        said |= {"failed": [row for row in planned if row["label_noise_frac"] is None]}
        said |= protocol(inputs, rows)
    return Facts(missing, values(rows, differences), said)


def compared(rows: list[Row], claims: list[Row]) -> list[Row]:
    """Return each difference of two arms, the arms, and `regime`.

    It is null where a seed of them diverged. apart: whether any two arms of its regime are told
    apart.
    """
    arms = {(row["label_noise_frac"], row["arm"]): row for row in rows}
    regimes = {noise: regime(own) for noise, own in by(rows, "label_noise_frac")}
    found = []
    for row in claims:
        noise = row["label_noise_frac"]
        one, other = (arms.get((noise, row[end])) for end in ("minuend", "subtrahend"))
        if one is None or other is None:
            continue
        difference = (row | {"status": "diverged"}).value("measured", "fraction")
        pair = {"difference": difference, "one": one, "other": other}
        found.append(row | regimes[noise] | pair)
    apart = {row["label_noise_frac"] for row in found if row["side"] in APART}
    return [row | {"apart": row["apart"] or row["label_noise_frac"] in apart} for row in found]


def regime(rows: list[Row]) -> dict[str, Any]:
    """Return what holds of the arms of one regime.

    best: of the arms told apart from the large mini-batch as more accurate that of the highest
    median; apart: whether any is told apart from it; learned: whether all have learned their
    training labels.
    """
    return {
        "best": next((row for row in rows if row["best"]), None),
        "apart": any(row["over_large_side"] in APART for row in rows),
        "learned": all(row["learned"] for row in rows),
    }


def decidable(rows: list[Row], differences: list[Row]) -> int:
    """Return how many differences of two arms have an interval, each counted once."""
    pairs = {
        (row["label_noise_frac"], row["minuend"], row["subtrahend"])
        for row in differences
        if row["side"] != "unknown"
    }
    pairs |= {
        (row["label_noise_frac"], row["arm"], AGAINST)
        for row in rows
        if row["over_large_side"] != "unknown"
    }
    return len(pairs)


def protocol(inputs: Inputs, rows: list[Row]) -> dict[str, Any]:
    """Return what was trained, when local steps begin, and how the rates were chosen."""
    base = next(row for row in rows if row["arm"] == AGAINST)
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
