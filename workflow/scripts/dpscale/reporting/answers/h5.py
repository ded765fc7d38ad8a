"""H5: the global batch and the rate when workers are added, and how accuracy is kept."""

from dpscale.reporting.answer import Answer, Column
from dpscale.reporting.answers import assignment, prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.references import GOYAL, KINGMA, KRIZHEVSKY, MALLADI

QUESTION = (
    "What happens to the global batch and the learning rate on two nodes, and how is the accuracy "
    "kept when workers are added?"
)
FORMULA = [
    r"B = N b, \qquad \eta_{\text{linear}} = N \eta_1, \qquad "
    r"\eta_{\text{square root}} = \sqrt{N} \, \eta_1, \qquad \eta_{\text{fixed}} = \eta_1"
]
UNITS = {"test_accuracy_frac": "fraction", "global_batch": "setting", "lr": "setting",
         "steps": "count"}  # fmt: skip
FIGURES = ["assignment_accuracy"]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H5."""
    rows = assignment.trainings(inputs, None)
    missing = assignment.missing(inputs)
    values = assignment.values(inputs, rows, UNITS)
    against = {} if missing else {"words": _against(inputs)}
    table = measured_table(
        inputs,
        "Rules for the batch and the rate, each trained for the same epochs.",
        [
            Column(key="rule", title="Rule"),
            WORKERS,
            BATCH,
            Column(key="global_batch", title="B", unit="setting"),
            Column(key="lr", title="Rate", unit="setting"),
            Column(key="steps", title="Steps", unit="count"),
            Column(key="test_accuracy_frac", title="Test accuracy", unit="fraction"),
            *([Column(key="against", title="Against one worker")] if against else []),
        ],
        rows,
        lambda row: {
            "rule": assignment.RULES[row["rule"]].removeprefix("the "),
            **({"against": against["words"](row)} if against else {}),
        },
    )
    if missing:
        return prose.withheld(
            id="H5", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=FIGURES, formula=FORMULA,
        )  # fmt: skip
    places = _places(rows)
    texts = [
        "" if any(row["nodes"] > 1 for row in rows) else assignment.NO_TWO_NODES,
        _batch_and_rate(inputs, rows),
        *(_tried(inputs, group) for group in places),
        _keep(inputs, places),
        assignment.lost(rows),
    ]
    return Answer(
        id="H5",
        question=QUESTION,
        sentence=_sentence(inputs, places, rows),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values,
        tables=[table],
        figures=FIGURES,
        references=[GOYAL, KRIZHEVSKY, MALLADI, KINGMA],
    )


def _against(inputs: Inputs):  # type: ignore[no-untyped-def]
    """The words for a row's accuracy against that of one worker."""
    alone = assignment.base(inputs)
    one = assignment.accuracy(inputs, alone)
    words = {"above": "higher", "below": "lower", "indistinct": "not told apart",
             "unknown": "undecided"}  # fmt: skip

    def text(row: Row) -> str:
        """The words for one row."""
        if row["runs"] == alone["runs"]:
            return "the base"
        if row["status"] != "complete":
            return str(row["status"]).replace("_", " ")
        return words[prose.compare(assignment.accuracy(inputs, row), one)]

    return text


def _places(rows: list[Row]) -> list[list[Row]]:
    """The complete trainings of each place where several rules were tried."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["workers"] > 1:
            groups.setdefault((row["nodes"], row["workers"]), []).append(row)
    tried = [group for group in groups.values() if len(group) > 1]
    return [found for group in tried if (found := assignment.complete(group))]


def _kept(inputs: Inputs, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that show no loss against one worker, and those that do."""
    one = assignment.accuracy(inputs, assignment.base(inputs))
    verdicts = [prose.compare(assignment.accuracy(inputs, row), one) for row in rows]
    kept = [row for row, found in zip(rows, verdicts, strict=True)
            if found in ("above", "indistinct")]  # fmt: skip
    return kept, [row for row, found in zip(rows, verdicts, strict=True) if found == "below"]


def _sentence(inputs: Inputs, places: list[list[Row]], rows: list[Row]) -> str:
    unrun = assignment.two_nodes(rows)
    several = assignment.complete([row for row in rows if row["workers"] > 1])
    if not several:
        return prose.capitalised(f"{unrun}no training of several workers has a result.")
    group = places[-1] if places else [several[-1]]
    first, alone = group[0], assignment.base(inputs)
    one = prose.quantity(assignment.accuracy(inputs, alone))
    kept, worse = _kept(inputs, group)
    clauses = []
    for found, words in ((kept, "shows no loss"), (worse, "loses accuracy")):
        if found:
            listed = prose.join([_with_number(inputs, row) for row in found])
            plural = {"shows no loss": "show no loss", "loses accuracy": "lose accuracy"}[words]
            clauses.append(f"{listed} {prose.verb(len(found), words, plural)}")
    undecided = [row for row in group if row not in kept and row not in worse]
    if undecided:
        listed = prose.join([_with_number(inputs, row) for row in undecided])
        clauses.append(f"{listed} {prose.verb(len(undecided), 'is', 'are')} undecided for want of "
                       "seeds")  # fmt: skip
    grown = (
        f"with {assignment.who(first)} the global batch grows to {first['workers']} times that of "
        "one worker, and so does the rate by the linear rule"
    )
    return prose.capitalised(
        f"{unrun}{grown}; against one worker, which reaches {one}, {'; '.join(clauses)}."
    )


def _with_number(inputs: Inputs, row: Row) -> str:
    return f"{assignment.RULES[row['rule']]} ({prose.bare(assignment.accuracy(inputs, row))})"


def _batch_and_rate(inputs: Inputs, rows: list[Row]) -> str:
    linear = [row for row in rows if row["rule"] == "linear"]
    texts = [
        f"{assignment.place(row)}: B = {row['global_batch']}, rate {row['lr']:g}" for row in linear
    ]
    steps = [f"{row['steps']}" for row in assignment.complete(linear)]
    return (
        "Each worker keeps its batch, so the global batch is $B = N b$, and the update of one step "
        f"rests on N times as many images. By the linear rule: {'; '.join(texts)}. The same epochs "
        f"then make fewer updates: {prose.join(steps)}. {_explained(rows)}"
        "Where the N workers sit, on one node or on "
        "two, changes nothing of B, the rate or the updates; it changes the link that the "
        "gradients take, and so the time."
    )


EXPLAINED = {
    "sqrt": "the square-root rule takes the root of N instead",
    "fixed": "the fixed rate is that of one worker",
    "fixed_batch": "the fixed global batch is that of one worker, b/N for each, at its rate",
}


def _explained(rows: list[Row]) -> str:
    """What the further rules are, of those that were tried."""
    tried = {row["rule"] for row in rows}
    texts = [text for rule, text in EXPLAINED.items() if rule in tried]
    return f"{prose.capitalised(prose.join(texts))}. " if texts else ""


def _tried(inputs: Inputs, group: list[Row]) -> str:
    """What the other rules give against the linear one, in one place."""
    linear = next((row for row in group if row["rule"] == "linear"), None)
    if linear is None:
        return ""
    base = assignment.accuracy(inputs, linear)
    texts = [
        f"{assignment.RULES[row['rule']]} gives "
        f"{prose.quantity(assignment.accuracy(inputs, row))}, "
        f"{assignment.HIGHER[prose.compare(assignment.accuracy(inputs, row), base)]} it"
        for row in group
        if row is not linear
    ]
    if not texts:
        return ""
    return (
        f"At {assignment.place(linear)} the linear rule gives {prose.quantity(base)}; "
        f"{prose.join(texts)}. With the fixed global batch N workers make the same updates as "
        "one does, each on as many images."
        if any(row["rule"] == "fixed_batch" for row in group)
        else f"At {assignment.place(linear)} the linear rule gives {prose.quantity(base)}; "
        f"{prose.join(texts)}."
    )


def _keep(inputs: Inputs, places: list[list[Row]]) -> str:
    """How accuracy is kept, by the rules that showed no loss."""
    general = (
        "The linear rule was made for momentum SGD (Goyal et al., 2017) and comes with a gradual "
        "warm-up; for Adam, whose steps are scaled by the gradients' size, a square root of the "
        "batch has been derived (Malladi et al., 2022; for SGD Krizhevsky, 2014). More epochs make "
        "up for fewer updates."
    )
    if not places:
        return f"{general} No rule but the linear one was tried here."
    kept, worse = _kept(inputs, places[-1])
    where = assignment.place(places[-1][0])
    if not kept:
        found = f"At {where} none of the rules tried is shown to keep the accuracy of one worker."
    else:
        names = prose.join([assignment.RULES[row["rule"]] for row in kept])
        found = f"At {where} no loss shows with {names}"
        found += (
            f", while {prose.join([assignment.RULES[row['rule']] for row in worse])} "
            f"{prose.verb(len(worse), 'loses', 'lose')} some."
            if worse
            else ", so the choice can be made by time alone."
        )
    return f"{found} {general}"
