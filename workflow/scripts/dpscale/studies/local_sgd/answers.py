"""S4: the arms of each regime, the differences between them, and the time that they save."""

from typing import Any

from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, has_result
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, LIN, PATARASUK, ZHANG
from dpscale.reporting.words import by

STUDY = "local_sgd"
LARGE = "post_local_against_large"
DATASET = "CIFAR-10"  # each comparison once: the measured side is the same for every data set
MEASURES = {
    "train_loss": "number", "train_accuracy_frac": "fraction", "test_accuracy_frac": "fraction",
    "rounds": "count", "sent_bytes": "bytes",
}  # fmt: skip


def facts(inputs: Inputs) -> Facts:
    """Return the arms, their differences beside the published ones, and the predicted times."""
    planned, published = inputs.rows(STUDY), inputs.rows(f"published_{STUDY}")
    rows = [row | {"loss": row.value("train_loss", "number")}
            for row in planned if row["label_noise_frac"] is not None]  # fmt: skip
    differences = compared(rows, [row for row in published if row["dataset"] == DATASET])
    large = [row for row in differences if row["claim"] == LARGE]
    missing = [f"{STUDY}, {row['runs']}: {row['status'] or 'not run yet'}"
               for row in planned if not has_result(row)]  # fmt: skip
    if not planned:
        missing = [f"{STUDY}: not run yet"]
    elif not (large or missing):
        missing = [f"{STUDY}: no post-local arm beside a large mini-batch"]
    times = [row for row in inputs.rows(f"{STUDY}_times") if row["epoch_s"] is not None]
    said: dict[str, Any] = {"arms": rows, "published": published, "times": times}
    if not missing:
        others = [row for row in differences if row["claim"] != LARGE]
        said |= {"large": large, "others": others, "saved": saved(large[0])}
        said |= protocol(inputs, rows)
    return Facts(missing, values(rows, differences), said)


def compared(rows: list[Row], claims: list[Row]) -> list[Row]:
    """Return each difference of two arms, on which side of zero it lies, and the arms.

    It is null where a seed of them diverged. best: the most accurate of the regime's arms that are
    more accurate than the large mini-batch.
    """
    arms = {(row["label_noise_frac"], row["arm"]): row for row in rows}
    better = [row for row in rows if intervals.against(row.over_large_frac, 0.0) == "above"]
    best = {noise: max(own, key=lambda row: float(row["test_accuracy_frac"]))
            for noise, own in by(better, "label_noise_frac")}  # fmt: skip
    return [row | {
        "difference": (found := (row | {"status": "diverged"}).value("measured", "fraction")),
        "side": intervals.against(found, 0.0),
        "one": arms[row["label_noise_frac"], row["minuend"]],
        "other": arms[row["label_noise_frac"], row["subtrahend"]],
        "best": best.get(row["label_noise_frac"]),
    } for row in claims]  # fmt: skip


def saved(row: Row) -> Value | None:
    """Return how many times fewer rounds the first of two arms makes; None where unknown."""
    one, other = row["one"], row["other"]
    if not (one["rounds"] and other["rounds"]):
        return None
    runs = list(dict.fromkeys(one.runs + other.runs))
    return Value(value=other["rounds"] / one["rounds"], unit="ratio", runs=runs)


def protocol(inputs: Inputs, rows: list[Row]) -> dict[str, Any]:
    """Return what was trained, when local steps begin, and how the rates were chosen."""
    base = next(row for row in rows if row["arm"] == "A2")
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
        found |= {f"{name}_{key}": row.value(key, unit) for key, unit in MEASURES.items()}
    for row in differences:
        noise = round(100 * row["label_noise_frac"])
        found[f"noise{noise}_{row['claim']}_difference"] = row["difference"]
    return found


QUESTIONS = [
    Question(
        "S4",
        facts,
        formula=[
            r"w_k^{t+h+1} = w_k^{t+h} - \gamma \nabla \ell_k(w_k^{t+h}),\ 0 \le h < H, "
            r"\qquad w^{t+H} = \frac{1}{K} \sum_{k=1}^{K} w_k^{t+H}",
            r"\text{sent} = \text{rounds} \cdot \frac{2(K-1)}{K} S",
        ],
        references=[LIN, GOYAL, ZHANG, PATARASUK],
    )
]
