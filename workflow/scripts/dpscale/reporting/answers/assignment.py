"""What H1 to H6 share: their trainings, and words for places and rules."""

from collections.abc import Callable, Sequence

from dpscale.plan.assignment import LINEAR
from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.prose import Verdict

STUDY = "assignment"
CELL = {"rule": "rule", "workers": "N", "nodes": "nodes", "per_worker_batch": "b"}
RULES = {
    LINEAR: "the linear rule",
    "sqrt": "the square-root rule",
    "fixed": "the fixed rate",
    "fixed_batch": "the fixed global batch",
}
HIGHER: dict[Verdict, str] = {
    "above": "higher than",
    "below": "lower than",
    "indistinct": "not told apart from",
    "unknown": "not comparable, for want of seeds, with",
}
NO_TWO_NODES = (
    "Nothing was run on two nodes: the configuration plans no such training, since all workers of "
    "a run share one node where hardware.workers_per_node is null. With it set, and two nodes to "
    "run on, the numbers of workers in assignment.two_node_workers are trained too."
)


def trainings(inputs: Inputs, rule: str | None = LINEAR) -> list[Row]:
    """Return the trainings of a rule (None: of every rule) by nodes, workers and rule."""
    order = list(RULES)
    rows = [row for row in inputs.rows(STUDY) if rule in (None, row["rule"])]
    return sorted(rows, key=lambda row: (row["nodes"], row["workers"], order.index(row["rule"])))


def complete(rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose runs are complete."""
    return [row for row in rows if row["status"] == "complete"]


def base(inputs: Inputs) -> Row:
    """Return the training of one worker; `missing` names it where it has no result."""
    return next(row for row in trainings(inputs) if row["workers"] == 1)


def missing(inputs: Inputs) -> list[str]:
    """Return a line for each training without a result, and for one worker's that has no number."""
    rows = trainings(inputs, None)
    lines = lacking(rows, CELL, STUDY)
    alone = [row for row in rows if row["workers"] == 1 and row["rule"] == LINEAR]
    if not lines and not complete(alone):
        status = alone[0]["status"] if alone else "not run yet"
        lines = [f"{STUDY}, one worker, the base of every comparison: {status}"]
    return lines


def place(row: Row) -> str:
    """Return where a row ran: `N = 2`, or `N = 2 on two nodes`."""
    nodes = row.get("nodes") or 1
    return f"N = {row['workers']}" + (f" on {prose.number_word(nodes)} nodes" if nodes > 1 else "")


def who(row: Row) -> str:
    """Return who a row is about: `one worker`, or `two workers on two nodes`."""
    nodes = row.get("nodes") or 1
    on = f" on {prose.number_word(nodes)} nodes" if nodes > 1 else ""
    return prose.counted(row["workers"], "worker") + on


def key(row: Row) -> str:
    """Return the end of the names of a row's values: `n2`, `n2_on2`, `n4_sqrt`."""
    nodes, rule = row.get("nodes") or 1, row.get("rule")
    on = f"_on{nodes}" if nodes > 1 else ""
    return f"n{row['workers']}{on}" + ("" if rule in (None, LINEAR) else f"_{rule}")


def value(inputs: Inputs, row: Row, column: str, unit: str) -> Value:
    """Return a measurement of a row with its runs; its number is that of the seeds or repeats."""
    count = row.get("seeds") or row.get("repeats")
    return measured(row, column, unit, inputs.runs_of(row), count)


def accuracy(inputs: Inputs, row: Row) -> Value:
    """Return the test accuracy after the last epoch, median over the seeds."""
    return value(inputs, row, "test_accuracy_frac", "fraction")


def values(inputs: Inputs, rows: Sequence[Row], units: dict[str, str]) -> dict[str, Value]:
    """Return the named measurements of all rows; one `nothing` where there is no row."""
    found = {
        f"{column}_{key(row)}": value(inputs, row, column, unit)
        for row in rows
        for column, unit in units.items()
    }
    first = next(iter(units))
    return found or {first: prose.nothing(units[first])}


def without(rows: Sequence[Row], name: Callable[[Row], str] = place) -> str:
    """Return which rows have no number, and their outcomes; empty for none."""
    texts = [
        f"{name(row)} ({str(row['status']).replace('_', ' ')})"
        for row in rows
        if row["status"] != "complete"
    ]
    if not texts:
        return ""
    return (
        f"Without a number, for {prose.verb(len(texts), 'its outcome, is', 'their outcomes, are')} "
        f"{prose.join(texts)}."
    )


def lost(rows: Sequence[Row]) -> str:
    """Return the trainings that ended without a number, and how; empty for none."""
    return without(rows, lambda row: f"{RULES[row['rule']]} at {place(row)}")


def two_nodes(rows: Sequence[Row]) -> str:
    """Return the clause that says that two nodes have no number; empty where they have one."""
    planned = [row for row in rows if row["nodes"] > 1]
    if complete(planned):
        return ""
    return "no training on two nodes has a number; " if planned else "two nodes were not run; "


def shared_devices(rows: Sequence[Row]) -> str:
    """Return that workers shared devices, and what follows; empty where none did."""
    places = [place(row) for row in rows if row.get("oversubscribed")]
    if not places:
        return ""
    return (
        f"At {prose.join(list(dict.fromkeys(places)))} the workers outnumber the devices or cores "
        "of the machine (oversubscribed) and wait for each other, so these times do not predict "
        "workers with a device each. What is trained, and its accuracy, does not depend on it."
    )


def protocol(inputs: Inputs, rows: Sequence[Row]) -> str:
    """Return what was trained, and how a number over seeds is made."""
    row = base(inputs)
    seeds = row.get("seeds") or 1
    interval = (
        f"a number is the median over {prose.counted(seeds, 'seed')} with its 95% bootstrap "
        "interval" + (", which for so few spans the smallest and the largest" if seeds < 4 else "")
        if seeds > 1
        else "there is one seed, which gives no interval"
    )
    batches = sorted({one["per_worker_batch"] for one in rows if one["rule"] == LINEAR})
    return (
        f"Every training is {prose.digits(row['epochs'], 'epoch')} of {row['model']} on "
        f"{row['dataset']} (D = {row['train_samples']} training and {row['test_samples']} test "
        f"images) with {str(row['optimizer']).capitalize()}, {prose.batches(batches)} a worker and "
        f"a rate of {row['lr']:g} times N; {interval}. The accuracy is that after the last epoch, "
        "so no epoch is chosen by its test accuracy."
    )
