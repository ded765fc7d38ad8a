"""S1's tables and values."""

from dpscale.reporting.answer import Cell, Column, Table, Value
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import measured_table
from dpscale.reporting.answers.s1_words import OPTIMIZERS, grouped, optimizer, value

WHO = [Column(key="model", title="Network"), Column(key="optimizer", title="Optimiser")]
BATCH = Column(key="global_batch", title="Batch B", unit="setting")
SEARCHES = [
    *WHO,
    Column(key="lr_low", title="Lowest rate of a winner", unit="number"),
    Column(key="lr_high", title="Highest", unit="number"),
    Column(key="at_border", title="Winners on the border", unit="count"),
    Column(key="complete_trials", title="Complete trials", unit="count"),
    Column(key="incomplete_trials", title="Incomplete", unit="count"),
    Column(key="infeasible_trials", title="Infeasible", unit="count"),
    Column(key="repeats_reached", title="Repeats at the goal", unit="count"),
]
COUNTED = ("at_border", "complete_trials", "incomplete_trials", "infeasible_trials",
           "repeats_reached")  # fmt: skip
FITS = [
    *WHO,
    Column(key="s_min", title="S_min", unit="number"),
    Column(key="b_crit", title="B_crit", unit="number"),
    Column(key="perfect_end", title="Perfect up to B", unit="number"),
    Column(key="maximal_start", title="Maximal from B", unit="number"),
    Column(key="noise_scale", title="Noise scale", unit="number"),
]
VERDICTS = [
    Column(key="claim", title="Published claim"),
    Column(key="who", title="Measured for"),
    Column(key="measured", title="Measured", unit="number"),
    Column(key="published_as", title="Published"),
    Column(key="source", title="Source"),
    Column(key="verdict", title="Verdict"),
]
PUBLISHED = {
    "small_slope": "slope −1",
    "large_slope": "slope 0",
    "noise_over_b_crit": "ratio within a factor of 10",
    "small_steps_ratio": "ratio 1",
}


def tables(inputs: Inputs, rows: list[Row]) -> list[Table]:
    """Return the tables that have a row."""
    fits = inputs.rows("scaling_fit")
    verdicts = inputs.rows("scaling_verdicts")
    found = [_steps(inputs, own) for own in grouped(rows, lambda row: str(row["model"])).values()]
    made = [
        (
            "The searches and their winners, all batch sizes together; each by itself is a row of "
            "derived/steps_to_goal.csv.",
            SEARCHES,
            [_search(own) for own in _searches(rows)],
        ),
        ("Fits of S = S_min (1 + B_crit/B), and the noise scale.", FITS, fits),
    ]
    found += [
        measured_table(
            inputs, caption, columns, own, also=lambda row: {"optimizer": optimizer(row)}
        )
        for caption, columns, own in made
        if own
    ]  # fmt: skip
    if verdicts:
        found.append(
            measured_table(
                inputs, "Published claims beside what was measured.", VERDICTS, verdicts,
                also=lambda row: {"who": _who(row), "published_as": _published(row)},
            )
        )  # fmt: skip
    return found


def _searches(rows: list[Row]) -> list[list[Row]]:
    return list(grouped(rows, lambda row: f"{row['model']} {row['optimizer']}").values())


def _steps(inputs: Inputs, rows: list[Row]) -> Table:
    """Return a network's steps and epochs: a row a batch size, two columns an optimiser."""
    optimizers = grouped(rows, lambda row: str(row["optimizer"]))
    columns = [BATCH]
    for measure, title in (("steps_to_goal", "Steps"), ("epochs_to_goal", "Epochs")):
        columns += [
            Column(key=f"{measure}_{name}", title=f"{title}, {optimizer(own[0])}", unit="number")
            for name, own in optimizers.items()
        ]
    batches = grouped(rows, lambda row: str(row["global_batch"]))
    cells: list[dict[str, Cell]] = []
    for own in batches.values():
        made: dict[str, Cell] = dict.fromkeys([column.key for column in columns])
        made["global_batch"] = value(inputs, own[0], "global_batch", "setting")
        for row in own:
            for measure in ("steps_to_goal", "epochs_to_goal"):
                made[f"{measure}_{row['optimizer']}"] = value(inputs, row, measure)
        cells.append(made)
    return Table(
        caption=f"{rows[0]['model']}: steps and epochs to the goal, medians of the winners' "
        "repeats.",
        columns=columns,
        rows=cells,
        runs=[sorted({run for row in own for run in inputs.runs_of(row)})
              for own in batches.values()],
    )  # fmt: skip


def _search(rows: list[Row]) -> Row:
    """Return one search over all its batch sizes: the range of the winners' rates, and counts."""
    rates = [row["lr"] for row in rows if row["lr"] is not None]
    return Row({
        **{name: rows[0][name] for name in ("model", "optimizer", "runs")},
        **{name: sum(int(row[name] or 0) for row in rows) for name in COUNTED},
        "lr_low": min(rates, default=None), "lr_high": max(rates, default=None),
    })  # fmt: skip


def _who(row: Row) -> str:
    own = f"{row['model']}, {optimizer(row)}"
    if not row.get("other_model"):
        return own
    same = row["model"] == row["other_model"]
    other = OPTIMIZERS.get(row["other_optimizer"]) if same else row["other_model"]
    return f"{own} over {other}"


def _published(row: Row) -> str:
    if row["measure"] == "b_crit_ratio":
        return "ratio above 1" if row["model"] == row["other_model"] else "ratio other than 1"
    return PUBLISHED[row["measure"]]


def values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    """Return the values of the answer, by search, batch size and contrast."""
    found: dict[str, Value] = {}
    for row in rows:
        place = f"{row['model']}_{row['optimizer']}_b{row['global_batch']}"
        found[f"steps_to_goal_{place}"] = value(inputs, row, "steps_to_goal")
        found[f"test_error_frac_{place}"] = value(inputs, row, "test_error_frac", "fraction")
    for row in inputs.rows("scaling_fit"):
        for column in ("s_min", "b_crit", "perfect_end", "maximal_start", "noise_scale"):
            name = f"{column}_{row['model']}_{row['optimizer']}"
            found[name] = value(inputs, row, column)
    for row in inputs.rows("scaling_contrasts"):
        base = row["other_optimizer"] if row["contrast"] == "optimizer" else row["other_model"]
        name = f"b_crit_ratio_{row['model']}_{row['optimizer']}_over_{base}"
        found[name] = value(inputs, row, "b_crit_ratio", "ratio")
    return found
