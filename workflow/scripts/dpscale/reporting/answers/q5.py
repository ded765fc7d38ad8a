"""Q5: DistributedDataParallel against DataParallel, and why the sampler needs the epoch."""

from dpscale.reporting.answer import Answer, Value
from dpscale.reporting.answers import arms, prose, q5_timing
from dpscale.reporting.answers.arms import Arm
from dpscale.reporting.answers.inputs import Inputs
from dpscale.reporting.answers.q5_orders import Orders, order_table, orders, orders_clause, sampler
from dpscale.reporting.answers.references import LI, PASZKE

QUESTION = (
    "How does DistributedDataParallel differ from DataParallel, and why does the "
    "distributed sampler need the number of the epoch?"
)
FORMULA = [r"\text{order of epoch } e = \text{permutation}(\text{seed} + e)"]
STUDY = "replicas"
TRAININGS = {"with_set_epoch": "baseline", "without_set_epoch": "without_set_epoch"}


def _different_epochs(given: list[Arm], absent: list[Arm]) -> tuple[list[int], bool]:
    """Epochs whose training losses' intervals do not meet, and whether any is undecided."""
    verdicts = {
        one.row["epoch"]: arms.versus(other, one, "train_loss")
        for one, other in zip(given, absent, strict=False)
    }
    different = [epoch for epoch, verdict in verdicts.items() if verdict in ("higher", "lower")]
    return different, "unknown" in verdicts.values()


def _broken(curve: list[Arm]) -> bool:
    """Whether seeds of a training diverged, so that its curve is that of the others."""
    return any(not arm.whole for arm in curve)


def _curve_clause(given: list[Arm], absent: list[Arm]) -> str:
    if not given or not absent:
        return "the training curves cannot be compared"
    different, undecided = _different_epochs(given, absent)
    broken = [words for words, curve in (("with", given), ("without", absent)) if _broken(curve)]
    if broken:
        return (
            f"training {prose.join(broken)} set_epoch diverged for some seeds, so the training "
            "curves are not compared"
        )
    if undecided:
        return "one seed does not tell whether the training curves differ"
    if not different:
        return "the training curves of the two cannot be told apart with these seeds"
    count = min(len(given), len(absent))
    if given[count - 1].row["epoch"] in different:
        word = arms.versus(absent[count - 1], given[count - 1], "train_loss")
        epoch = given[count - 1].row["epoch"]
        numbers = [
            prose.quantity(curve[count - 1].value("train_loss")) for curve in (absent, given)
        ]
        return (
            f"after {prose.counted(epoch, 'epoch')} the training loss without it is {word}, "
            f"{numbers[0]} against {numbers[1]}"
        )
    listed = prose.join([str(epoch) for epoch in different])
    noun = prose.verb(len(different), "epoch", "epochs")
    return f"the training curves of the two differ in {noun} {listed} and not at the end"


def _missing(inputs: Inputs, compared: dict[str, Orders]) -> list[str]:
    lines = arms.missing(inputs, STUDY, list(TRAININGS.values()))
    lines += (
        []
        if lines
        else [
            f"{STUDY}, {TRAININGS[arm]}: no order of a later epoch"
            for arm, found in compared.items()
            if not found.compared
        ]
    )
    return lines + q5_timing.missing(inputs)


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q5."""
    compared = {arm: orders(inputs, arm) for arm in TRAININGS}
    curves = {arm: arms.history(inputs, STUDY, name) for arm, name in TRAININGS.items()}
    missing = _missing(inputs, compared)
    values = _values(compared, curves) | q5_timing.values(inputs)
    tables = [
        table for table in (order_table(inputs), *q5_timing.tables(inputs)) if table is not None
    ]
    if missing:
        return prose.withheld(
            id="Q5",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["order"],
            formula=FORMULA,
        )
    given, absent = compared["with_set_epoch"], compared["without_set_epoch"]
    curve = _curve_clause(curves["with_set_epoch"], curves["without_set_epoch"])
    return Answer(
        id="Q5",
        question=QUESTION,
        sentence="DataParallel is one process that scatters each batch over the devices and "
        "gathers on one of them; DistributedDataParallel is one process per device that "
        "shares gradients by an all-reduce, so each process draws its own samples: "
        f"{orders_clause(given, absent)}; {curve}.",
        paragraphs=[
            _difference(),
            q5_timing.paragraph(inputs),
            sampler(given, absent),
            _protocol(curves),
        ],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["order"],
        references=[LI, PASZKE],
    )


def _difference() -> str:
    return (
        "In every iteration DataParallel copies the model from the first device to the "
        "others, scatters the batch, runs a thread per device in one Python process, gathers "
        "the outputs on the first device and sums the gradients there. Threads share one "
        "interpreter lock, the first device does more work than the others, and one process "
        "cannot span machines. DistributedDataParallel (Li et al., 2020) copies the "
        "parameters once, at construction; afterwards every process runs its own forward and "
        "backward pass and its own update, and gradients are all-reduced in buckets while "
        "the backward pass still runs. The ledger of Q6 shows these messages."
    )


def _protocol(curves: dict[str, list[Arm]]) -> str:
    both = [curve[-1] for curve in curves.values() if curve]
    if len(both) < 2:
        return "At least one of the two trainings has no finished epoch, so no curve is compared."
    seeds = prose.counted(both[0].row.get("seeds") or 1, "seed")
    tests = {
        "higher": "higher without it",
        "lower": "lower without it",
        "indistinct": "the two cannot be told apart",
        "unknown": "undecided for want of seeds",
    }
    word = tests[arms.versus(both[1], both[0], "test_accuracy_frac")]
    return (
        f"Both trainings use {prose.counted(both[0].row['workers'], 'worker')}, b = "
        f"{both[0].row['per_worker_batch']} and {seeds}; the curves are medians over the "
        "seeds with their 95% bootstrap intervals. The test accuracy at the end is "
        f"{prose.quantity(both[1].value('test_accuracy_frac'))} without set_epoch and "
        f"{prose.quantity(both[0].value('test_accuracy_frac'))} with it: {word}. The "
        f"trainings are short ({prose.counted(both[0].row['epoch'], 'epoch')}), so they say "
        "little about what a repeated order costs in a long one."
    )


def _values(compared: dict[str, Orders], curves: dict[str, list[Arm]]) -> dict[str, Value]:
    values = {}
    for arm, found in compared.items():
        known = found.compared or None
        for name, number in (("compared", known), ("repeated", found.repeated if known else None)):
            values[f"orders_{name}_{arm}"] = Value(
                value=number,
                unit="count",
                runs=found.runs,
                n=known,
                status=None if known else "not run yet",
            )
        for column, unit in arms.UNITS.items():
            values[f"{column}_{arm}"] = (
                curves[arm][-1].value(column) if curves[arm] else prose.nothing(unit)
            )
    return values
