"""Q4.1: what a large batch does to the loss and the accuracy after the same epochs."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import arms, prose
from dpscale.reporting.answers.arms import Arm
from dpscale.reporting.answers.inputs import Inputs
from dpscale.reporting.answers.q4_reasons import (
    EPOCH,
    STUDY,
    choice,
    made_updates,
    mechanism,
    protocol,
)
from dpscale.reporting.answers.references import GOYAL, KESKAR

QUESTION = (
    "What are the training loss and the training accuracy of the 5th epoch with the "
    "largest batch per worker on the largest N, beside those of a small batch?"
)
FORMULA = [r"B = N b, \qquad \text{updates} = \text{epochs} \cdot \frac{D}{B}"]


TITLES = {"small": "the small batch", "large": "the large batch"}


def compared_epoch(inputs: Inputs) -> int:
    """Return the epoch that is compared: the 5th, or the last that small and large both plan."""
    last = [
        row["epochs"]
        for name in ("small", "large")
        for row in inputs.rows("accuracy", study=STUDY, arm=name)
        if row.get("epochs") is not None
    ]
    return min([EPOCH, *last])


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q4.1."""
    epoch = compared_epoch(inputs)
    missing = arms.missing(inputs, STUDY, ["small", "large"])
    small, large = (arms.after(inputs, STUDY, name, epoch) for name in ("small", "large"))
    found = [arm for arm in (small, large) if arm is not None]
    values, tables = _values(inputs, found), _tables(inputs, found)
    if missing:
        return prose.withheld(
            id="Q4.1",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["accuracy"],
            formula=FORMULA,
        )
    if small is None or large is None:
        sentence, paragraphs = _without_result(inputs, small, epoch), []
    else:
        diverged = arms.survivors(inputs, STUDY, epoch, TITLES)
        sentence = diverged or _sentence(small, large, epoch)
        paragraphs = [
            protocol(inputs, small, large, epoch),
            made_updates(inputs, small, large),
            "" if diverged else mechanism(inputs, small, large),
            choice(inputs, large),
        ]
    return Answer(
        id="Q4.1",
        question=QUESTION,
        sentence=sentence,
        paragraphs=[text for text in paragraphs if text],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["accuracy"],
        references=[KESKAR, GOYAL],
    )


def _without_result(inputs: Inputs, small: Arm | None, epoch: int) -> str:
    name = "large" if small else "small"
    status = arms.outcome(inputs, STUDY, name).replace("_", " ")
    return (
        f"Small and large batch cannot be compared: training with the {name} batch has no number "
        f"after its {prose.ordinal(epoch)} epoch, with the outcome {status}."
    )


def _sentence(small: Arm, large: Arm, epoch: int) -> str:
    groups = arms.columns_against(large, small)
    subject = f"the large batch (B = {large.row['global_batch']})"
    other = f"the small one (B = {small.row['global_batch']})"
    parts = []
    different = [
        f"a {word} {measure}" for word in ("higher", "lower") for measure in groups.get(word, [])
    ]
    if different:
        parts.append(f"has {prose.join(different)} than {other}")
    for kind, words in (
        ("indistinct", "cannot be told apart from {} in"),
        ("unknown", "cannot be compared, for want of seeds, with {} in"),
    ):
        if kind in groups:
            name = "it" if parts else other
            parts.append(f"{words.format(name)} {prose.join(groups[kind])}")
    return (
        f"In the {prose.ordinal(epoch)} epoch {subject} {prose.join(parts)}: "
        f"{arms.numbers_against(large, small)}."
    )


def _values(inputs: Inputs, found: list[Arm]) -> dict[str, Value]:
    by_name = {arm.name: arm for arm in found}
    values: dict[str, Value] = {}
    for name in ("small", "large"):
        for column, unit in arms.UNITS.items():
            arm = by_name.get(name)
            values[f"{name}_{column}"] = (
                arm.value(column)
                if arm
                else Value(value=None, unit=unit, status=arms.outcome(inputs, STUDY, name))
            )
    for arm in found:
        values[f"{arm.name}_updates"] = Value(
            value=arms.updates(inputs, arm), unit="count", runs=arm.runs, n=arm.row.get("seeds")
        )
    return values


def _tables(inputs: Inputs, found: list[Arm]) -> list[Table]:
    settings = {
        "workers": "Workers N",
        "per_worker_batch": "Batch per worker b",
        "global_batch": "Global batch B",
    }
    columns = [
        Column(key="arm", title="Batch"),
        *(Column(key=key, title=title, unit="setting") for key, title in settings.items()),
        Column(key="updates", title="Updates", unit="count"),
        *(
            Column(key=key, title=prose.capitalised(words), unit=arms.UNITS[key])
            for key, words in arms.WORDS.items()
        ),
    ]
    rows = [
        {
            "arm": arm.name if arm.whole else f"{arm.name} (seeds that did not diverge)",
            **{key: arm.row[key] for key in settings},
            "updates": arms.updates(inputs, arm),
            **{key: arm.value(key) for key in arms.WORDS},
        }
        for arm in found
    ]
    return (
        [
            Table(
                caption=f"Small and large batch in epoch {found[0].row['epoch']}.",
                columns=columns,
                rows=rows,
                runs=[arm.runs for arm in found],
            )
        ]
        if found
        else []
    )
