"""H3: test accuracy, training time and scaling efficiency for each number of workers."""

from dpscale.reporting.answer import Answer, Column
from dpscale.reporting.answers import assignment, assignment_published, prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import WORKERS, measured_table
from dpscale.reporting.answers.references import GUSTAFSON, KINGMA

QUESTION = (
    "What are the test accuracy and the training time with each number of workers, and what is "
    "the scaling efficiency?"
)
FORMULA = [
    r"\text{speed-up} = \frac{T_1}{T_N}, \qquad \text{scaling efficiency} = \frac{T_1}{N \, T_N}"
]
UNITS = {
    "test_accuracy_frac": "fraction",
    "train_s": "s",
    "evaluation_s": "s",
    "startup_s": "s",
    "speedup_ratio": "ratio",
    "efficiency_frac": "fraction",
    "epochs_efficiency_frac": "fraction",
}
QUANTITIES = ("train_s", "speedup_ratio", "efficiency_frac", "test_accuracy_frac")


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H3."""
    rows = assignment.trainings(inputs)
    missing = assignment.missing(inputs)
    values = assignment.values(inputs, rows, UNITS)
    table = measured_table(
        inputs,
        "One training of each number of workers, the rate times N. The training time holds the "
        "evaluations; the start-up is apart.",
        [
            WORKERS,
            Column(key="test_accuracy_frac", title="Test accuracy", unit="fraction"),
            Column(key="train_s", title="Training time", unit="s"),
            Column(key="evaluation_s", title="of it evaluation", unit="s"),
            Column(key="startup_s", title="Start-up", unit="s"),
            Column(key="speedup_ratio", title="Speed-up", unit="ratio"),
            Column(key="efficiency_frac", title="Efficiency", unit="fraction"),
            Column(key="oversubscribed", title="Shared devices", unit="flag"),
        ],
        rows,
    )
    figures = ["assignment_time", "assignment_accuracy"]
    if missing:
        return prose.withheld(
            id="H3", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=figures, formula=FORMULA,
        )  # fmt: skip
    quoted = assignment_published.figures(inputs, *QUANTITIES, nodes=1)
    found = assignment.complete(rows)
    texts = [
        assignment.protocol(inputs, rows),
        _waited(inputs, found),
        assignment.shared_devices(rows),
        assignment.lost(rows),
        assignment_published.text(quoted),
    ]
    return Answer(
        id="H3",
        question=QUESTION,
        sentence=_sentence(inputs, found),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values,
        tables=[table, *assignment_published.table(inputs, quoted)],
        figures=figures,
        references=[KINGMA, GUSTAFSON],
    )


def _sentence(inputs: Inputs, rows: list[Row]) -> str:
    alone, several = rows[0], rows[1:]
    one = assignment.accuracy(inputs, alone)
    time = prose.quantity(assignment.value(inputs, alone, "train_s", "s"))
    start = (
        f"One worker trains {prose.digits(alone['epochs'], 'epoch')} in {time} to a test accuracy "
        f"of {prose.quantity(one)}"
    )
    clauses = [_clause(inputs, row, alone) for row in several]
    return "; ".join([start, *clauses]) + "."


def _clause(inputs: Inputs, row: Row, alone: Row) -> str:
    ratio = assignment.value(inputs, row, "speedup_ratio", "ratio")
    share = prose.bare(assignment.value(inputs, row, "efficiency_frac", "fraction"))
    own = assignment.accuracy(inputs, row)
    word = assignment.HIGHER[prose.compare(own, assignment.accuracy(inputs, alone))]
    return (
        f"{assignment.who(row)} are {prose.FASTER[prose.against(ratio, 1.0)]} (speed-up "
        f"{prose.bare(ratio)}, scaling efficiency {share}) and reach {prose.bare(own)}, {word} "
        "that of one"
    )


def _waited(inputs: Inputs, rows: list[Row]) -> str:
    text = (
        "The training time is what a user waits for once training has begun: loading, copies, "
        "steps, the slowest worker in each, and the evaluation after every epoch. The start-up, "
        "from the start of the processes to the first step, is given apart: it comes once, "
        "however long a training is."
    )
    several = [row for row in rows if row["workers"] > 1]
    shares = [
        f"{prose.bare(assignment.value(inputs, row, 'epochs_efficiency_frac', 'fraction'))} at "
        f"{assignment.place(row)}"
        for row in several
        if row.get("epochs_efficiency_frac") is not None
    ]
    if shares:
        text += (
            " Every worker evaluates the whole test set, a part that more workers do not shorten; "
            f"without it the scaling efficiency is {prose.join(shares)}."
        )
    return text
