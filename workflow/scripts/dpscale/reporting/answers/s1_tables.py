"""S1's tables and values."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import measured_table
from dpscale.reporting.answers.s1_words import OPTIMIZERS, optimizer, value

WHO = [Column(key="model", title="Network"), Column(key="optimizer", title="Optimiser")]
BATCH = Column(key="global_batch", title="Batch B", unit="setting")
STEPS = [
    *WHO, BATCH,
    Column(key="steps_to_goal", title="Steps to the goal", unit="number"),
    Column(key="perfect_scaling_steps", title="Perfect scaling", unit="number"),
    Column(key="epochs_to_goal", title="Epochs to the goal", unit="number"),
    Column(key="test_error_frac", title="Test error", unit="fraction"),
    Column(key="regime", title="Regime"),
]  # fmt: skip
SEARCHES = [
    *WHO, BATCH,
    Column(key="lr", title="Learning rate", unit="number"),
    Column(key="momentum", title="Momentum", unit="number"),
    Column(key="at_border", title="On the border", unit="flag"),
    Column(key="search_steps", title="Fewest steps in the search", unit="count"),
    Column(key="complete_trials", title="Complete", unit="count"),
    Column(key="incomplete_trials", title="Incomplete", unit="count"),
    Column(key="infeasible_trials", title="Infeasible", unit="count"),
    Column(key="repeats_reached", title="Repeats at the goal", unit="count"),
]  # fmt: skip
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
    named = {"optimizer": optimizer}
    made = [
        ("Steps to the goal: medians of the winners' repeats.", STEPS, rows),
        ("The searches: their winners, and how their trials ended.", SEARCHES, rows),
        ("Fits of S = S_min (1 + B_crit/B), and the noise scale.", FITS, fits),
    ]
    found = [
        measured_table(
            inputs, caption, columns, own,
            also=lambda row: {key: name(row) for key, name in named.items()},
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
