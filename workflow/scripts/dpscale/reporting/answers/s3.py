"""S3: What do several learners on a device gain, averaged synchronously?"""

from dpscale.reporting.answer import Answer, Value
from dpscale.reporting.answers import prose, s3_learners, s3_published, s3_reasons
from dpscale.reporting.answers.inputs import Inputs, has_result, measured
from dpscale.reporting.answers.references import CROSSBOW, GOYAL, SUTSKEVER
from dpscale.reporting.answers.s3_arms import (
    LARGE,
    LINEAR,
    STUDY,
    UNITS,
    Arms,
    arms_of,
    compared,
    how_many,
    slug,
    value,
)
from dpscale.reporting.answers.s3_tables import tables
from dpscale.units import format_value

QUESTION = "What do several learners on a device gain, averaged synchronously?"
FIGURES = ["model_averaging", "learners"]
FORMULA = [
    r"c_j = \alpha \, (w_j - z), \qquad w_j \leftarrow w_j - \gamma \nabla \ell(w_j) - c_j, \qquad "
    r"z \leftarrow z + \sum_{j=1}^{k} c_j + \mu \, (z - z_{\text{previous}})",
    r"v_{\text{averaged}} = \frac{\gamma}{1 + (1 - \mu) / k} \, g, \qquad "
    r"v_{\text{SGD}} = \frac{\gamma}{1 - \mu} \, g",
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S3."""
    found = arms_of(inputs)
    runs = inputs.tidy_rows("runs", study=STUDY)
    missing = [f"{STUDY}, {run['run']}: {run['status']}" for run in runs if not has_result(run)]
    missing += [] if runs else [f"{STUDY}: not run yet"]
    values = _values(inputs, found) | s3_learners.values(inputs)
    if missing:
        return prose.withheld(
            id="S3", question=QUESTION, missing=missing, values=values,
            tables=tables(inputs, found), figures=FIGURES, formula=FORMULA,
        )  # fmt: skip
    return Answer(
        id="S3",
        question=QUESTION,
        sentence=_sentence(inputs, found),
        paragraphs=[
            text
            for text in (
                s3_reasons.protocol(inputs, found),
                s3_reasons.times(inputs, found),
                s3_reasons.drift(found),
                s3_reasons.weights(found),
                s3_learners.paragraph(inputs),
                s3_published.rates(inputs),
                s3_published.expected_and_published(inputs),
            )
            if text
        ],
        formula=FORMULA,
        values=values,
        tables=tables(inputs, found),
        figures=FIGURES,
        references=[CROSSBOW, GOYAL, SUTSKEVER],
    )


def _sentence(inputs: Inputs, found: Arms) -> str:
    if not found.comparable:
        return "Model averaging cannot be compared with SGD: its trainings ended without a result."
    first = found.averaged[0]
    target = format_value(first["target_accuracy_frac"], "fraction")
    subject = (
        f"For a test accuracy of {target} {prose.number_word(first['learners'])} averaged "
        f"learners with batches of {first['per_learner_batch']}"
    )
    clauses = []
    if found.own_rate:
        arm = found.own_rate[0]
        own = f"(γ = {arm['lr']:g}, α = {arm['alpha']:g})"
        clauses.append(f"at a rate of their own {own} need {compared(found, arm)}")
    if found.same_rate:
        clauses.append(_at_the_same_rate(found))
    return f"{subject}, {'; '.join([*clauses, *s3_learners.clauses(inputs)])}."


def _at_the_same_rate(found: Arms) -> str:
    rows = found.same_rate
    rate = f"at the rate of SGD with the small batch (γ = {rows[0]['lr']:g}) they"
    if rows[0]["status"] == "complete":
        return f"{rate} need, with α = {rows[0]['alpha']:g}, {compared(found, rows[0])}"
    if all(row["reached"] == 0 for row in rows):
        epochs = prose.digits(round(rows[0]["epochs"]), "epoch")
        return f"{rate} do not reach it in {epochs} with any seed"
    each = [f"with {how_many(row)} where α = {row['alpha']:g}" for row in rows]
    return f"{rate} reach it {prose.join(each)}"


def _values(inputs: Inputs, found: Arms) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, row in found.rows.items():
        for column in UNITS:
            values[f"{column}_{slug(name)}"] = value(inputs, row, column)
        values[f"reached_seeds_{slug(name)}"] = Value(
            value=row["reached"], unit="count", n=row["seeds"], runs=inputs.runs_of(row)
        )
    for row in found.averaged:
        for other in (LARGE, LINEAR):
            if pair := found.pair(row["arm"], other):
                values[f"seconds_ratio_{slug(row['arm'])}_against_{other}"] = measured(
                    pair, "seconds_ratio", "ratio", inputs.runs_of(pair), pair["seeds"]
                )
    return values
