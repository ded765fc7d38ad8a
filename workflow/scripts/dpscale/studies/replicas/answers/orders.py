"""Q5: whether later epochs repeat the first one's order, and what that does to the training."""

from collections.abc import Mapping

from dpscale.derive.cells import first_known
from dpscale.derive.contrasts import by_chance
from dpscale.reporting import arms
from dpscale.reporting.answer import nothing
from dpscale.reporting.inputs import Inputs, Row, has_result
from dpscale.reporting.question import Facts

STUDY = "replicas"
ARMS = {"with_set_epoch": "baseline", "without_set_epoch": "without_set_epoch"}
WRAPPERS = {"data_parallel": "DataParallel", "distributed": "DistributedDataParallel"}
COUNTS = ("compared", "repeated")


def facts_q5(inputs: Inputs) -> Facts:
    """Return the orders and the curves of both trainings, and the times of both wrappers."""
    orders = {arm: _order(inputs, arm) for arm in ARMS}
    curves = {arm: arms.history(inputs, STUDY, run) for arm, run in ARMS.items()}
    timed = timed_wrappers(inputs)
    missing = arms.missing(inputs, STUDY, list(ARMS.values())) or [
        f"{STUDY}, {ARMS[arm]}: no order of a later epoch"
        for arm, order in orders.items()
        if not order.compared.value
    ]
    missing += [
        f"data_parallel, {row['wrapper']}: {row['status']}" for row in timed if not has_result(row)
    ]
    values = {f"orders_{count}_{arm}": orders[arm][count] for arm in ARMS for count in COUNTS}
    values |= {
        f"{column}_{arm}": rows[-1][column] if rows else nothing(unit)
        for arm, rows in curves.items()
        for column, unit in arms.MEASURES.items()
    }
    values |= {f"{row['arm']}_epoch_s": row.epoch_s for row in timed}
    pairs = _pairs(inputs, curves)
    said = orders | {
        "drawn": _drawn(inputs),
        "pairs": pairs,
        "chance": by_chance(sum(row["verdict"] != "unknown" for row in pairs)),
        "ends": [rows[-1] for rows in curves.values() if rows],
        "images": first_known(
            run["test_samples"] for run in inputs.tidy_rows("runs", study=STUDY, arm="baseline")
        ),
        "timed": timed,
        "compared": [row for row in timed if row["slower_ratio"] is not None],
    }
    return Facts(missing, values, said)


def timed_wrappers(inputs: Inputs) -> list[Row]:
    """Return the rows of both wrappers, with their outcome and which of them is faster."""
    return [
        row | {"wrapper": WRAPPERS[row["arm"]], "outcome": row["status"].replace("_", " ")}
        for row in inputs.rows("wrappers")
    ]


def _order(inputs: Inputs, arm: str) -> Row:
    """How many orders of later epochs there are, and how many of them are the first again."""
    none = Row(repeating="every", runs="", **dict.fromkeys(COUNTS))
    row = next(iter(inputs.rows("order_repeats", arm=arm)), none)
    counts = row | {"status": "not run yet", "seeds": row["compared"]}
    return row | {count: counts.value(count, "count") for count in COUNTS}


def _drawn(inputs: Inputs) -> list[Row]:
    """The first samples of worker 0 in each epoch of the first seed."""
    rows = [row for row in inputs.rows("order", rank=0) if row["digest"] is not None]
    first = min((row["seed"] for row in rows), default=None)
    return [row for row in rows if row["seed"] == first]


def _pairs(inputs: Inputs, curves: Mapping[str, list[Row]]) -> list[Row]:
    """Where loss and accuracy without set_epoch lie beside those with it, by epoch of both.

    `unknown` where the table of differences has none.
    """
    apart = {row["epoch"]: row for row in inputs.rows("set_epoch")}
    given, absent = ({row["epoch"]: row for row in rows} for rows in curves.values())
    return [
        _pair(epoch, given[epoch], absent[epoch], apart.get(epoch))
        for epoch in sorted(given.keys() & absent.keys())
    ]


def _pair(epoch: int, given: Row, absent: Row, row: Row | None) -> Row:
    """Both trainings after an epoch, and what the one without set_epoch has more."""
    apart, sides = arms.apart(row), arms.sides(row)
    return Row(
        epoch=epoch,
        given=given.train_loss,
        absent=absent.train_loss,
        loss=apart["train_loss"],
        test=apart["test_accuracy_frac"],
        verdict=sides["train_loss"],
        of_test=sides["test_accuracy_frac"],
    )
