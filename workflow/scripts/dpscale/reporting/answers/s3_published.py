"""S3's paragraphs on the rates tried, the outcome expected, and what is published."""

from collections import Counter

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.s3_arms import STUDY


def rates(inputs: Inputs) -> str:
    """Return which rates validation data prefer, and whether the arms were given them."""
    said, seeds = [], 0
    names = {"sgd": "SGD with the small batch", "sma": "model averaging"}
    for optimizer, name in names.items():
        rows = inputs.rows("averaging_rates", optimizer=optimizer)
        best = next((row for row in rows if row["best"]), None)
        if best is None:
            continue
        tried, seeds = prose.join([f"{row['lr']:g}" for row in rows]), best["seeds"]
        text = f"for {name}, of the rates {tried}, γ = {best['lr']:g}"
        if best["at_border"]:
            text += " (at the border: a rate beyond it may be better still)"
        said.append(f"{text}; {_configured(rows, best)}")
    if not said:
        return ""
    return (
        "Rates were judged on validation data, by the mean validation accuracy of trainings with "
        f"{prose.counted(seeds, 'seed')} that no arm has. It is highest "
        f"{'. It is highest '.join(said)}."
    )


def _configured(rows: list[Row], best: Row) -> str:
    if best["configured"]:
        return "this is the rate that was used"
    used = next((row for row in rows if row["configured"]), None)
    if used is None or used["validation_mean_frac"] is None:
        return "the rate that was used is not among them"
    gap = prose.points(best["validation_mean_frac"] - used["validation_mean_frac"])
    return f"γ = {used['lr']:g} was used, which is {gap} below it"


def expected_and_published(inputs: Inputs) -> str:
    """Return the expected outcome, and how many published claims the intervals decide."""
    runs = inputs.tidy_rows("runs", study=STUDY)
    expected = next((run["expected"] for run in runs if run.get("expected")), None)
    parts = [f"Expected before the run: {expected.rstrip('.')}."] if expected else []
    for claim, words in (
        (
            "time_to_accuracy",
            "that averaging small batches reaches a target accuracy 1.3 to 4 times sooner than "
            "synchronous SGD with large batches (on 8 GPUs, against TensorFlow)",
        ),
        ("throughput", "that throughput rises with the learners on a device"),
    ):
        rows = inputs.rows("published_model_averaging", claim=claim)
        if rows:
            parts.append(f"Published is {words}: {_verdicts(rows)}.")
    return " ".join(parts)


def _verdicts(rows: list[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    words = {"agrees": "this agrees", "disagrees": "this disagrees", "not decidable": "undecided"}
    return "; ".join(
        f"{words[verdict]} in {count} of {prose.digits(len(rows), 'comparison')}"
        for verdict, count in counts.items()
    )
