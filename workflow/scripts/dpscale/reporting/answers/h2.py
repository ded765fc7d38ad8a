"""H2: the steps of a run, and the seconds of a full one."""

from dpscale.reporting.answer import Answer, Column
from dpscale.reporting.answers import assignment, assignment_published, prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.references import PASZKE
from dpscale.units import group_digits

QUESTION = "How many steps does a run make, and how long does a full run take?"
FORMULA = [
    r"\text{steps} = \text{epochs} \cdot \left\lfloor \frac{D}{B} \right\rfloor, \qquad B = N b",
]
UNITS = {
    "steps": "count",
    "planned_steps": "count",
    "full_run_steps": "count",
    "full_run_s": "s",
    "startup_s": "s",
}


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H2."""
    rows = assignment.trainings(inputs)
    missing = assignment.missing(inputs)
    values = assignment.values(inputs, rows, UNITS)
    table = measured_table(
        inputs,
        "Steps and seconds of a run; the full run is without start-up.",
        [
            WORKERS,
            BATCH,
            Column(key="global_batch", title="Global batch B", unit="setting"),
            Column(key="train_samples", title="Images D", unit="setting"),
            Column(key="epochs", title="Epochs", unit="setting"),
            Column(key="planned_steps", title="Steps, computed", unit="count"),
            Column(key="steps", title="Steps, counted", unit="count"),
            Column(key="full_run_steps", title="Steps of a full run", unit="count"),
            Column(key="full_run_s", title="Full run", unit="s"),
        ],
        rows,
    )
    figures = ["assignment_time"]
    if missing:
        return prose.withheld(
            id="H2", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=figures, formula=FORMULA,
        )  # fmt: skip
    quoted = assignment_published.figures(inputs, "steps", nodes=1)
    found = assignment.complete(rows)
    texts = [
        _steps(found),
        _counted(found),
        _seconds(inputs, found),
        assignment.lost(rows),
        _fraction(quoted),
    ]
    return Answer(
        id="H2",
        question=QUESTION,
        sentence=_sentence(inputs, found),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values,
        tables=[table, *assignment_published.table(inputs, quoted)],
        figures=figures,
        references=[PASZKE],
    )


def _sentence(inputs: Inputs, rows: list[Row]) -> str:
    full = rows[0]["full_run_epochs"]
    parts = [
        f"{prose.bare(assignment.value(inputs, row, 'full_run_steps', 'count'))} steps in "
        f"{prose.quantity(assignment.value(inputs, row, 'full_run_s', 's'))} with "
        f"{assignment.who(row)}"
        for row in rows
    ]
    return f"A full run of {full} epochs makes {prose.join(parts)}."


def _steps(rows: list[Row]) -> str:
    row = rows[0]
    per_epoch = int(row["planned_steps"]) // row["epochs"]
    left = row["train_samples"] - per_epoch * row["global_batch"]
    dropped = (
        f"the {prose.digits(left, 'image')} left over, drawn anew in each epoch, are dropped"
        if left
        else "no image is left over"
    )
    return (
        f"With D = {row['train_samples']} training images and {assignment.who(row)}, B = "
        f"{row['global_batch']} goes into D {prose.digits(per_epoch, 'time')}, so an epoch makes "
        f"{prose.digits(per_epoch, 'step')}; {dropped} (drop-last). N workers share an epoch, so "
        "they make about an N-th of the steps, each on N times as many images."
    )


def _counted(rows: list[Row]) -> str:
    wrong = [row for row in rows if row["steps"] != row["planned_steps"]]
    if not wrong:
        return "The steps in the records are as many as computed, for every number of workers."
    texts = [
        f"{row['steps']} instead of {row['planned_steps']} at {assignment.place(row)}"
        for row in wrong
    ]
    return f"The steps in the records are not as many as computed: {prose.join(texts)}."


def _seconds(inputs: Inputs, rows: list[Row]) -> str:
    row = rows[0]
    ran, full = row["epochs"], row["full_run_epochs"]
    scaled = (
        "A full run was trained, so nothing is scaled"
        if ran == full
        else f"Runs of {prose.digits(ran, 'epoch')} were trained, and their time is scaled by "
        f"{full}/{ran}, since every epoch does the same work"
    )
    startups = [assignment.value(inputs, one, "startup_s", "s") for one in rows]
    known = [prose.bare(one) for one in startups if one.value is not None]
    apart = (
        f" The start-up, {prose.join(known)} for {prose.join([assignment.place(r) for r in rows])} "
        "until the first step, comes once and is apart."
        if len(known) == len(rows)
        else ""
    )
    return (
        f"{scaled}. The seconds are those that a user waits for: loading, steps, the slowest "
        f"worker, and the evaluation after each epoch.{apart}"
    )


def _fraction(quoted: list[Row]) -> str:
    text = assignment_published.text(quoted)
    exact = next((row for row in quoted if row["verdict"] != "contradicts itself"), None)
    if exact is None:
        return text
    ends = ("published", "published_low", "published_high")
    steps, low, high = (group_digits(exact[end]) for end in ends)
    return (
        f"The published {steps} steps are epochs times D/B with its fraction; a loader that drops "
        f"the last, partial batch makes {low}, and one that keeps it {high}. {text}"
    )
