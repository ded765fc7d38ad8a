"""S1: How many steps does training take to a goal error, against the batch size?"""

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.references import BOUSQUET, MCCANDLISH, SHALLUE
from dpscale.reporting.answers.s1_findings import SMALL, budgets, contrast, noise, regimes
from dpscale.reporting.answers.s1_protocol import expectation, protocol, quality
from dpscale.reporting.answers.s1_tables import tables, values
from dpscale.reporting.answers.s1_words import (
    STUDY,
    fits,
    grouped,
    optimizer,
    ratio_kind,
    search,
    shown,
)

QUESTION = (
    "How many steps does training take to a goal error, against the batch size: does perfect "
    "scaling hold, up to which batch size, and does momentum extend it?"
)
FORMULA = [
    r"S(B) = S_{\min} \left( 1 + \frac{B_{\text{crit}}}{B} \right)",
    r"B_{\text{simple}} = \frac{\operatorname{tr} \Sigma}{|G|^2}",
]
FIGURES = ["steps_to_goal", "budget"]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S1."""
    every = inputs.rows("steps_to_goal")
    rows = [row for row in every if row.get("global_batch") is not None]
    unmeasured = [row for row in every if row.get("global_batch") is None]
    missing = lacking(unmeasured, {"model": "network", "optimizer": "optimiser"}, STUDY)
    missing += [] if every else [f"{STUDY}: not run yet"]
    made, numbers = tables(inputs, rows), values(inputs, rows)
    if missing:
        return prose.withheld(
            id="S1", question=QUESTION, missing=missing, values=numbers, tables=made,
            figures=FIGURES, formula=FORMULA,
        )  # fmt: skip
    sentence = _sentence(inputs)
    paragraphs = [
        protocol(inputs, rows),
        regimes(inputs),
        contrast(inputs, "optimizer"),
        contrast(inputs, "model"),
        noise(inputs),
        budgets(inputs),
        quality(rows),
        _beside_published(inputs),
        expectation(inputs, sentence),
    ]
    return Answer(
        id="S1",
        question=QUESTION,
        sentence=sentence,
        paragraphs=[text for text in paragraphs if text],
        formula=FORMULA,
        values=numbers,
        tables=made,
        figures=FIGURES,
        references=[SHALLUE, MCCANDLISH, BOUSQUET],
    )


def _sentence(inputs: Inputs) -> str:
    found = fits(inputs)
    if not found:
        reasons = list(dict.fromkeys(row["status"] for row in inputs.rows("scaling_fit")))
        return (
            "No end of perfect scaling can be given for any network and optimiser: "
            f"{prose.join(reasons)}."
        )
    first = next((row for row in found if row["optimizer"] == "sgd"), found[0])
    return f"{_bend(inputs, first)}{_extension(inputs, first)}."


def _bend(inputs: Inputs, first: Row) -> str:
    """Whether steps fall as 1/B at small batches, and where the fit says that this ends."""
    end, bend = shown(inputs, first, "perfect_end"), shown(inputs, first, "b_crit")
    own = {"model": first["model"], "optimizer": first["optimizer"]}
    decided = inputs.rows("scaling_verdicts", claim=SMALL, **own)
    fall = decided[0]["verdict"] if decided else "not decidable"
    slope = shown(inputs, decided[0], "measured") if decided else "unknown"
    if fall == "agrees":
        return (
            f"For {search(first)} steps to the goal fall in proportion to the batch size up to "
            f"about B = {end}, a quarter of the critical batch size {bend}"
        )
    if fall == "disagrees":
        return (
            f"For {search(first)} steps to the goal do not fall in proportion to the batch size "
            f"even at the smallest ones (slope {slope}); the fitted critical batch size is {bend}"
        )
    return (
        f"For {search(first)} the fit puts the end of perfect scaling at B = {end}, a quarter of "
        f"the critical batch size {bend}; whether steps fall in proportion below it is not "
        f"decided by the measured slope, {slope}"
    )


def _extension(inputs: Inputs, first: Row) -> str:
    """What momentum does to the critical batch size of the same network."""
    rows = inputs.rows("scaling_contrasts", contrast="optimizer", model=first["model"])
    words = {
        "above": ("extends perfect scaling", "extend perfect scaling"),
        "below": ("shortens perfect scaling", "shorten perfect scaling"),
        "indistinct": ("is not shown to extend it", "are not shown to extend it"),
        "unknown": ("is not decided", "are not decided"),
    }
    parts = []
    for kind, own in grouped(rows, ratio_kind).items():
        names = [
            f"{optimizer(row)} ({shown(inputs, row, 'b_crit_ratio', 'ratio')} the critical batch)"
            if row.get("b_crit_ratio") is not None
            else optimizer(row)
            for row in own
        ]
        parts.append(f"{prose.join(names)} {prose.verb(len(own), *words[kind])}")
    return f"; {'; '.join(parts)}" if parts else ""


def _beside_published(inputs: Inputs) -> str:
    """How often each published claim agrees, disagrees or is not decided."""
    parts = []
    for claim, rows in grouped(inputs.rows("scaling_verdicts"), lambda row: row["claim"]).items():
        kinds = grouped(rows, lambda row: row["verdict"])
        counts = [f"{kind} in {len(own)} of {len(rows)}" for kind, own in kinds.items()]
        parts.append(f"that {_clause(claim)}: {prose.join(counts)}")
    return (
        "Beside what was published (Shallue et al., 2019; McCandlish et al., 2018), "
        f"{'; '.join(parts)}. Sizes are not compared: they belong to the network, the data and "
        "the goal."
        if parts
        else ""
    )


def _clause(claim: str) -> str:
    """A claim as a clause; those without a verb are found at that place."""
    return claim if " at " not in claim or "matches" in claim else f"there is {claim}"
