"""Q4.1: what a large batch does to the loss and the accuracy after the same epochs."""

from dpscale.derive.contrasts import by_chance
from dpscale.reporting import arms
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.lessons import ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GOYAL, KESKAR
from dpscale.studies.large_batch.answers import trainings
from dpscale.studies.large_batch.derive import EPOCH, STUDY
from dpscale.vocabulary import words

NAMES = ("small", "large")


def facts_q4_1(inputs: Inputs) -> Facts:
    """Return both trainings after the epoch compared, and each measure with a verdict."""
    epoch = trainings.epoch_of(inputs)
    outcomes = {name: arms.outcome(inputs, STUDY, name) for name in NAMES}
    found = {name: row for name in NAMES if (row := trainings.after(inputs, name, epoch))}
    small, large = (found.get(name) for name in NAMES)
    row = trainings.apart(inputs, "large", "small")
    apart = arms.apart(row)
    measures = compared(small, large, row) if small and large else []
    level = trainings.level(inputs)
    # What is seen while the model learns is of other updates than the large batch's.
    other = {
        name: Value(value=None, unit=unit, status="not comparable")
        for name, unit in arms.MEASURES.items()
        if name.startswith("train_")
    }
    told = (
        [level | other | {"training": "small_level"}]
        if level and level["to_level"] != "unknown"
        else []
    )
    said = {
        "rows": [*(trainings.shown(row) for row in found.values()), *told],
        "small": small,
        "large": large,
        "apart": [row] if row and row["status"] == "complete" else [],
        "measures": measures,
        "chance": by_chance(sum(one["verdict"] != "unknown" for one in measures)),
        "outcomes": outcomes,
        "all_learnt": arms.all_learnt(list(found.values())),
        "level": level,
        "epoch": epoch,
        "asked_epoch": EPOCH,
        "boundary": inputs.rows("boundary"),
        "lost": trainings.diverged(inputs, NAMES, epoch),
        **trainings.sampled(inputs),
    }
    values = {
        f"{name}_{column}": found[name][column]
        if name in found
        else Value(value=None, unit=unit, status=outcomes[name])
        for name in NAMES
        for column, unit in arms.MEASURES.items()
    }
    values |= {f"difference_{name}": value for name, value in apart.items()}
    values |= {f"{name}_updates": row.value("updates", "count") for name, row in found.items()}
    right = [row["test_accuracy_frac"] for row in (small, large) if row]
    effects = [ratio_of(*right)] if right[1:] else []
    return Facts(arms.missing(inputs, STUDY, list(NAMES)), values, said, effects=effects)


def compared(small: Row, large: Row, apart: Row | None) -> list[Row]:
    """Return the measures with a verdict on the large batch against the small one."""
    return [
        Row(
            measure=name,
            small=small[name],
            large=large[name],
            verdict=verdict,
            kind="decided" if verdict in ("above", "below") else verdict,
        )
        for name, verdict in arms.sides(apart).items()
    ]


QUESTION = Question(
    "Q4.1",
    facts_q4_1,
    formula=[
        r"B = N b, \qquad "
        r"\text{updates} = \text{epochs} \cdot \left\lfloor \frac{D}{B} \right\rfloor"
    ],
    references=[KESKAR, GOYAL],
    vocabulary={
        "verdict": "large_batch.test_accuracy_side",
        "test": "large_batch.test_accuracy_side",
        "loss": "large_batch.train_loss_side",
    }
    | words("kind", ("decided", "indistinct", "unknown"))
    | words("base", NAMES)
    | words("training", [*NAMES, *(f"{name}_left" for name in NAMES), "small_level"]),
)
