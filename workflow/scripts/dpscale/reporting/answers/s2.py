"""S2: which learning rate and which warm-up a large batch needs."""

from dpscale.reporting.answer import Answer, Value
from dpscale.reporting.answers import (
    prose,
    s2_arms,
    s2_protocol,
    s2_reasons,
    s2_tables,
    s2_verdicts,
)
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.references import GOYAL, HE, IOFFE, KRIZHEVSKY, YOU

QUESTION = "Which learning rate and which warm-up does a large batch need?"
FORMULA = [
    r"\eta_{kn} = \eta \cdot \frac{k}{k_0} \;\text{(linear)}, \qquad "
    r"\eta_{kn} = \eta \sqrt{\frac{k}{k_0}} \;\text{(square root)}, \qquad "
    r"\eta_{kn} = \eta \;\text{(fixed)}",
    r"\eta_t = \eta + (\eta_{kn} - \eta) \, \frac{t}{T_w}, \quad t < T_w "
    r"\;\text{(gradual warm-up)}",
    r"\lambda = \tau \, \frac{\lVert w \rVert}{\lVert g \rVert + \beta \lVert w \rVert}, \qquad "
    r"v \leftarrow m v + \lambda (g + \beta w), \qquad w \leftarrow w - \eta v \;\text{(LARS)}",
]
FIGURES = ["lr_scaling", "warmups", "iteration_times"]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S2."""
    rows = s2_arms.rows(inputs)
    missing = lacking(rows, {"arm": "arm", "global_batch": "kn"}, s2_arms.STUDY)
    reference = s2_arms.reference(inputs)
    missing += [] if rows else [f"{s2_arms.STUDY}: not run yet"]
    values, tables = _values(inputs, rows), s2_tables.tables(inputs, rows)
    if missing or reference is None:
        return prose.withheld(
            id="S2",
            question=QUESTION,
            missing=missing or [f"{s2_arms.STUDY}: no run of the reference batch"],
            values=values,
            tables=tables,
            figures=FIGURES,
            formula=FORMULA,
        )
    paragraphs = [
        s2_protocol.protocol(inputs, reference),
        s2_protocol.expectation(reference),
        s2_reasons.warmups(inputs),
        s2_reasons.gammas(inputs),
        s2_reasons.rules(inputs, reference),
        s2_reasons.layerwise(inputs),
        s2_protocol.base_rate(inputs, reference),
        s2_protocol.diverged(rows),
        s2_verdicts.balance(inputs),
        s2_protocol.iteration_times(inputs),
    ]
    return Answer(
        id="S2",
        question=QUESTION,
        sentence=sentence(inputs, reference),
        paragraphs=[text for text in paragraphs if text],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=FIGURES,
        references=[GOYAL, KRIZHEVSKY, YOU, HE, IOFFE],
    )


def sentence(inputs: Inputs, reference: Row) -> str:
    """Return which ways keep the reference's error at the large batch, and where the elbow is."""
    found = s2_arms.at_large(inputs, zero_gamma=True)
    if s2_arms.error(inputs, reference).value is None:
        return (
            "No error can be kept or lost, since training with the reference batch, "
            f"kn = {reference['global_batch']}, diverged."
        )
    kept, lost = (s2_arms.of_standing(found, one) for one in ("kept", "lost"))
    rest = [row for row in found if row not in kept and row not in lost]
    parts = [
        f"{verb} by {prose.join([_named(inputs, row) for row in group])}"
        for verb, group in (("kept", kept), ("lost", lost), ("neither for certain", rest))
        if group
    ]
    margin = prose.points(reference["margin_frac"])
    return (
        f"At kn = {s2_arms.large_batch(inputs)} the test error of the reference batch "
        f"(kn = {reference['global_batch']}, "
        f"{prose.bare(s2_arms.error(inputs, reference))}) is, to {margin}, "
        f"{'; '.join(parts)}; {_elbow(inputs)}."
    )


def _named(inputs: Inputs, row: Row) -> str:
    error = s2_arms.error(inputs, row)
    found = "diverged" if error.value is None else prose.bare(error)
    return f"{s2_arms.name(row)} ({found})"


def _elbow(inputs: Inputs) -> str:
    found = inputs.rows("lr_scaling_elbow", rule="linear")
    if not found or found[0].get("elbow_batch") is None:
        return "the linear rule has no elbow for want of results"
    row = found[0]
    elbow, lost = row["elbow_batch"], row.get("lost_batch")
    if elbow == row["largest_batch"]:
        rule = "the linear rule with gradual warm-up"
        return f"{rule} keeps it up to the largest batch, kn = {elbow}"
    until = (
        "keeps it at no larger batch"
        if elbow == row["reference_batch"]
        else f"keeps it up to kn = {elbow}"
    )
    after = f"and has lost it at kn = {lost}" if lost else "and beyond nothing is decided"
    return f"the linear rule with gradual warm-up {until} {after}"


def _values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    values = {}
    for row in rows:
        key = f"{row['arm']}_kn{row['global_batch']}".replace("-", "_").replace(".", "_")
        values[f"test_error_frac_{key}"] = s2_arms.error(inputs, row)
    for row in inputs.rows("lr_scaling_elbow"):
        runs = inputs.runs_of(row)
        for name in ("elbow_batch", "lost_batch"):
            status = "none found" if row["status"] == "complete" else row["status"]
            values[f"{row['rule']}_{name}"] = Value(
                value=row.get(name), unit="setting", runs=runs,
                status=status if row.get(name) is None else None,
            )  # fmt: skip
    for row in s2_verdicts.compared(inputs):
        if row["kind"] == "claim":
            key = row["claim"].lower().replace(" ", "_").replace(",", "").replace("-", "_")
            values[f"difference_frac_{key}"] = s2_verdicts.difference(row)
    return values
