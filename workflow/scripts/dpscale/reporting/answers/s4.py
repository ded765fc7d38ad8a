"""S4: Does local SGD generalise better than large mini-batches?"""

from dpscale.reporting.answer import Answer, Value
from dpscale.reporting.answers import prose, s4_costs, s4_reasons, s4_tables
from dpscale.reporting.answers.inputs import Inputs, Row, has_result, measured
from dpscale.reporting.answers.references import GOYAL, LIN, PATARASUK, ZHANG
from dpscale.reporting.answers.s4_rows import (
    POST_AGAINST_LARGE,
    comparisons,
    difference,
    points,
    regime,
)

QUESTION = (
    "Does local or post-local SGD generalise better than large mini-batches, and what "
    "communication does it save?"
)
FIGURES = ["local_sgd", "local_sgd_curves", "local_sgd_times"]
FORMULA = [
    r"w_k^{t+h+1} = w_k^{t+h} - \gamma \nabla \ell_k(w_k^{t+h}),\ 0 \le h < H, "
    r"\qquad w^{t+H} = \frac{1}{K} \sum_{k=1}^{K} w_k^{t+H}",
    r"\text{sent} = \text{rounds} \cdot \frac{2(K-1)}{K} S",
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S4."""
    rows = inputs.rows("local_sgd")
    missing = [
        f"local_sgd, {row['runs']}: {row.get('status') or 'not run yet'}"
        for row in rows
        if not has_result(row)
    ] or ([] if rows else ["local_sgd: not run yet"])
    compared = comparisons(inputs, POST_AGAINST_LARGE)
    if not missing and not compared:
        missing = ["local_sgd: no post-local arm beside a large mini-batch"]
    if missing:
        return prose.withheld(
            id="S4",
            question=QUESTION,
            missing=missing,
            values=_values(inputs),
            tables=s4_tables.tables(inputs),
            figures=FIGURES,
            formula=FORMULA,
        )
    return Answer(
        id="S4",
        question=QUESTION,
        sentence=_sentence(inputs, compared),
        paragraphs=s4_reasons.paragraphs(inputs),
        formula=FORMULA,
        values=_values(inputs),
        tables=s4_tables.tables(inputs),
        figures=FIGURES,
        references=[LIN, GOYAL, ZHANG, PATARASUK],
    )


def _sentence(inputs: Inputs, compared: list[Row]) -> str:
    """Return post-local SGD against the large mini-batch in each regime, and the saving."""
    parts = []
    for row in compared:
        found = difference(inputs, row)
        words = {
            "above": f"is more accurate on the test set than the large mini-batch, by "
            f"{points(found)}",
            "below": f"is less accurate on the test set than the large mini-batch, by "
            f"{points(found)}",
            "indistinct": f"cannot be told apart from the large mini-batch ({points(found)})",
            "unknown": "cannot be compared with the large mini-batch, for want of seeds that "
            "did not diverge",
        }
        parts.append(f"{regime(row)} post-local SGD {words[prose.against(found, 0.0)]}")
    return f"{prose.capitalised('; '.join(parts))}; {s4_costs.saving(inputs, compared)}."


def _values(inputs: Inputs) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for row in inputs.rows("local_sgd"):
        if row.get("label_noise_frac") is None:
            continue
        runs = inputs.runs_of(row)
        name = f"noise{round(100 * row['label_noise_frac'])}_{row['arm'].replace(' H=', '_h')}"
        for column, unit in s4_tables.MEASURES.items():
            values[f"{name}_{column}"] = measured(row, column, unit, runs, row.get("seeds"))
    for row in inputs.rows("published_local_sgd"):
        name = f"noise{round(100 * row['label_noise_frac'])}_{row['comparison']}_difference"
        values[name.replace(" ", "_").replace("-", "_")] = difference(inputs, row)
    return values
