"""H6: the best test accuracy over the numbers of workers, on two nodes where they were run."""

from dpscale.reporting.answer import Answer, Column, Value
from dpscale.reporting.answers import assignment, assignment_published, prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.references import GOYAL, KINGMA

QUESTION = (
    "What is the best test accuracy with two nodes, over the numbers of workers that were tried?"
)
FORMULA = [r"N \le \left\lfloor \frac{D}{b \cdot \text{steps} / \text{epochs}} \right\rfloor"]
UNITS = {"test_accuracy_frac": "fraction", "steps": "count", "counted_workers": "count"}
FIGURES = ["assignment_accuracy"]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H6."""
    rows = assignment.trainings(inputs)
    missing = assignment.missing(inputs)
    table = measured_table(
        inputs,
        "Test accuracy by workers, with the linear rule, and the workers and steps counted in the "
        "records.",
        [
            WORKERS,
            BATCH,
            Column(key="test_accuracy_frac", title="Test accuracy", unit="fraction"),
            Column(key="counted_workers", title="Workers, counted", unit="count"),
            Column(key="steps", title="Steps, counted", unit="count"),
            Column(key="planned_steps", title="Steps for N", unit="count"),
        ],
        rows,
    )
    values = assignment.values(inputs, rows, UNITS)
    if missing:
        return prose.withheld(
            id="H6", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=FIGURES, formula=FORMULA,
        )  # fmt: skip
    found = tried(rows)
    quoted = _quoted(inputs)
    texts = [
        "" if _on_two(rows) else assignment.NO_TWO_NODES,
        _chance(inputs, found),
        _rules(inputs, found),
        _labels(rows),
        assignment.lost(rows),
        assignment_published.text(quoted),
    ]
    return Answer(
        id="H6",
        question=QUESTION,
        sentence=_sentence(inputs, rows, found),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values | {"best_test_accuracy_frac": _best_value(inputs, found)},
        tables=[table, *assignment_published.table(inputs, quoted)],
        figures=FIGURES,
        references=[KINGMA, GOYAL],
    )


def _on_two(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["nodes"] > 1]


def tried(rows: list[Row]) -> list[Row]:
    """Return the complete trainings on two nodes, else those on one, the best first."""
    found = assignment.complete(_on_two(rows)) or assignment.complete(rows)
    known = [row for row in found if row.get("test_accuracy_frac") is not None]
    return sorted(known, key=lambda row: -row["test_accuracy_frac"])


def _best_value(inputs: Inputs, found: list[Row]) -> Value:
    return assignment.accuracy(inputs, found[0]) if found else prose.nothing("fraction")


def _quoted(inputs: Inputs) -> list[Row]:
    return assignment_published.figures(inputs, "test_accuracy_frac", "steps", nodes=2)


def _versus(inputs: Inputs, found: list[Row]) -> dict[prose.Verdict, list[Row]]:
    """The other trainings by where they lie against the best."""
    best, groups = assignment.accuracy(inputs, found[0]), dict[prose.Verdict, list[Row]]()
    for row in found[1:]:
        groups.setdefault(prose.compare(assignment.accuracy(inputs, row), best), []).append(row)
    return groups


def _sentence(inputs: Inputs, rows: list[Row], found: list[Row]) -> str:
    if not found:
        return "No training has a test accuracy."
    two = any(row["nodes"] > 1 for row in found)
    where = "on two nodes" if two else f"{assignment.two_nodes(rows)}on one node"
    best = found[0]
    start = (
        f"{where} the best test accuracy is {prose.quantity(assignment.accuracy(inputs, best))}, "
        f"with {assignment.who(best)}"
    )
    groups = _versus(inputs, found)
    words = {
        "below": "higher than with",
        "indistinct": "not told apart from that with",
        "unknown": "not comparable, for want of seeds, with that of",
    }
    clauses = [
        f"{text} {prose.join([str(row['workers']) for row in groups[verdict]])}"
        for verdict, text in words.items()
        if verdict in groups
    ]
    return prose.capitalised(f"{start}{', ' if clauses else ''}{prose.join(clauses)}.")


def _chance(inputs: Inputs, found: list[Row]) -> str:
    if len(found) < 2:
        return "One number of workers has a result, so there is nothing to choose from."
    ties = [row for verdict, group in _versus(inputs, found).items() if verdict != "below"
            for row in group]  # fmt: skip
    tail = (
        "which of them is best is left to the noise of the seeds"
        if ties
        else "here the seeds do tell the best from every other"
    )
    return (
        f"The best of {prose.counted(len(found), 'number')} of workers is the largest of as many "
        f"medians, and the largest of several is flattered by chance; {tail}."
    )


def _rules(inputs: Inputs, found: list[Row]) -> str:
    """Whether another rule does better than the best number of workers with the linear one."""
    nodes = found[0]["nodes"] if found else 1
    others = [row for row in assignment.complete(assignment.trainings(inputs, None))
              if row["rule"] != "linear" and row["nodes"] == nodes]  # fmt: skip
    if not others or not found:
        return ""
    best = max(others, key=lambda row: row["test_accuracy_frac"] or 0.0)
    number = assignment.accuracy(inputs, best)
    word = assignment.HIGHER[prose.compare(number, assignment.accuracy(inputs, found[0]))]
    return (
        f"Of the other rules of H5, {assignment.RULES[best['rule']]} at {assignment.place(best)} "
        f"reaches most, {prose.quantity(number)}, {word} the best above."
    )


def _labels(rows: list[Row]) -> str:
    """Whether each run's steps and ranks are those of the workers that it is labelled with."""
    wrong = [row for row in assignment.complete(rows)
             if row["counted_workers"] != row["workers"] or row["steps"] != row["planned_steps"]
             ]  # fmt: skip
    if not wrong:
        return (
            "The steps of a run tell how many workers made them, since D/B of them make an epoch: "
            "every run here has as many workers, counted by the ranks in its record, and as many "
            "steps as its N says."
        )
    texts = [
        f"{assignment.place(row)} ({row['counted_workers']} workers and {row['steps']} steps in "
        f"its record, {row['planned_steps']} expected)"
        for row in wrong
    ]
    return f"The record contradicts the label of {prose.join(texts)}."
