"""Q7: what happens when only gradients are communicated."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import arms, prose
from dpscale.reporting.answers.inputs import Inputs, measured
from dpscale.reporting.answers.q7_reasons import (
    consequence,
    loss_clause,
    parameters,
    points,
    protocol,
    statistics,
)
from dpscale.reporting.answers.q7_replicas import (
    ARMS,
    COLUMNS,
    STUDY,
    Losses,
    Replicas,
    costs,
    losses,
    replicas,
)
from dpscale.reporting.answers.references import IOFFE, LI

QUESTION = "What if only gradients are communicated: is that enough?"
FORMULA = [
    r"\text{drift of worker } r = \frac{\lVert s_r - s_0 \rVert}{\lVert s_0 \rVert}, "
    r"\qquad s = \text{running statistics}"
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q7."""
    off, on = (replicas(inputs, arm) for arm in ARMS)
    compared = losses(inputs)
    missing = arms.missing(inputs, STUDY, list(ARMS.values()))
    missing = missing or [
        f"{STUDY}, {ARMS[arm]}: no replica was compared"
        for arm, found in zip(ARMS, (off, on), strict=True)
        if not found.rows
    ]
    values, tables = _values(off, on, compared), _tables(inputs, off, on)
    if missing:
        return prose.withheld(
            id="Q7",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["replicas"],
            formula=FORMULA,
        )
    return Answer(
        id="Q7",
        question=QUESTION,
        sentence=_sentence(off, on, compared),
        paragraphs=[
            protocol(off),
            parameters(off, compared),
            statistics(off, on),
            consequence(off, on, _image(inputs, off)),
        ],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["replicas"],
        references=[IOFFE, LI],
    )


def _image(inputs: Inputs, off: Replicas) -> int | None:
    """The number of test images of the arm's runs; None where unknown."""
    rows = inputs.tidy_rows("runs", study=STUDY, arm=ARMS["no_broadcast"])
    sizes = [int(row["test_samples"]) for row in rows if row.get("test_samples")]
    return min(sizes) if sizes and off.rows else None


def _evaluation(drift: Value, spread: Value, with_it: Value) -> str:
    if spread.value is None or with_it.value is None:
        return "not measured"
    if costs(spread, with_it):
        return "no"
    return "no cost shown" if drift.value or spread.value else "yes"


def _sentence(off: Replicas, on: Replicas, compared: Losses) -> str:
    drift, spread = (off.largest(column) for column in list(COLUMNS)[1:])
    same_loss = compared.compared and compared.equal == compared.compared
    parameters = {
        True: "the parameters stay bitwise identical on all workers",
        False: "the parameters differ between workers, by up to "
        f"{prose.bare(off.largest('parameter_difference_max'))}",
        None: "the parameters were not compared",
    }[off.identical]
    training = "yes" if off.identical and same_loss else "not shown"
    training = "no" if off.identical is False else training
    with_it = on.largest("test_accuracy_spread_frac")
    evaluation = _evaluation(drift, spread, with_it)
    return (
        f"For training {training}, for evaluation {evaluation}: without the broadcast of "
        f"buffers {parameters} and {loss_clause(compared)}; {_drift_clause(drift)}, and "
        f"{_spread_clause(drift, spread, with_it)}."
    )


def _drift_clause(drift: Value) -> str:
    if drift.value is None:
        return "the running statistics were not compared"
    if drift.value == 0:
        return "the running statistics stay the same on all workers"
    return f"the running statistics drift apart by up to {prose.bare(drift)} of their norm"


def _spread_clause(drift: Value, spread: Value, with_it: Value) -> str:
    if spread.value is None:
        return "the test accuracy by worker was not measured"
    if spread.value == 0:
        return "the test accuracy is the same with every worker's statistics"
    text = f"the test accuracy depends on whose statistics are used, by up to {points(spread)}"
    if with_it.value is None:
        return text
    if costs(spread, with_it):
        return f"{text} against {points(with_it)} with the broadcast"
    differ = "; the statistics themselves differ" if drift.value else ""
    return (
        f"{text}, no larger than with the broadcast ({points(with_it)}), so this test set shows "
        f"no cost{differ}"
    )


def _values(off: Replicas, on: Replicas, compared: Losses) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for arm, found in zip(ARMS, (off, on), strict=True):
        values[f"parameters_identical_{arm}"] = Value(
            value=found.identical,
            unit="flag",
            runs=found.runs,
            n=len(found.rows) or None,
            status=None if found.identical is not None else "not run yet",
        )
        values |= {f"{column}_{arm}": found.largest(column) for column in COLUMNS}
    known = compared.compared or None
    values["losses_compared"] = Value(
        value=known, unit="count", runs=off.runs + on.runs, status=None if known else "not run yet"
    )
    values["losses_equal"] = Value(
        value=compared.equal if known else None,
        unit="count",
        runs=off.runs + on.runs,
        n=known,
        status=None if known else "not run yet",
    )
    return values


def _tables(inputs: Inputs, off: Replicas, on: Replicas) -> list[Table]:
    titles = {
        "parameters_identical": ("Parameters identical", "flag"),
        "buffer_difference_frac_max": ("Drift of statistics", "fraction"),
        "test_accuracy_frac_min": ("Lowest test accuracy", "fraction"),
        "test_accuracy_frac_max": ("Highest test accuracy", "fraction"),
        "test_accuracy_spread_frac": ("Spread", "fraction"),
    }
    columns = [
        Column(key="arm", title="Buffers"),
        Column(key="seed", title="Seed"),
        *(Column(key=key, title=title, unit=unit) for key, (title, unit) in titles.items()),
    ]
    cells, runs = [], []
    for name, found in (("not broadcast", off), ("broadcast", on)):
        final = {row["seed"]: row for row in sorted(found.rows, key=lambda row: row["epoch"])}
        for seed, row in final.items():
            runs.append(inputs.runs_of(row))
            cells.append(
                {
                    "arm": name,
                    "seed": seed,
                    **{
                        key: measured(row, key, unit, runs[-1]) for key, (_, unit) in titles.items()
                    },
                }
            )
    return (
        [
            Table(
                caption="The replicas after the last epoch, by seed.",
                columns=columns,
                rows=cells,
                runs=runs,
            )
        ]
        if cells
        else []
    )
