"""S3's tables: the arms, the published claims beside what was measured, and the learners."""

from dpscale.reporting.answer import Cell, Column, Table, Value
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import measured_table
from dpscale.reporting.answers.s3_arms import Arms, how_many, value

ARMS = [
    Column(key="label", title="Arm"),
    Column(key="effective_lr", title="Effective rate", unit="number"),
    Column(key="reached", title="Reached by"),
    Column(key="epochs_to_target", title="Epochs to target", unit="number"),
    Column(key="seconds_to_target", title="Seconds to target", unit="s"),
    Column(key="final_test_accuracy_frac", title="Final test accuracy", unit="fraction"),
]
PUBLISHED = [
    Column(key="subject", title="Here"),
    Column(key="against", title="Against"),
    Column(key="published", title="Published"),
    Column(key="measured", title="Measured", unit="ratio"),
    Column(key="verdict", title="Verdict"),
]
LEARNERS = [
    Column(key="cell", title="Model and batch"),
    Column(key="learners", title="Learners", unit="setting"),
    Column(key="samples_per_s", title="Throughput", unit="samples/s"),
    Column(key="gain_frac", title="Gain of the last one", unit="fraction"),
    Column(key="chosen", title="Chosen"),
]


def tables(inputs: Inputs, found: Arms) -> list[Table]:
    """Return the tables of what has been measured."""
    made = []
    if found.rows:
        made.append(_arms(inputs, found))
    if rows := inputs.rows("published_model_averaging"):
        made.append(_published(inputs, rows))
    timed = [row for row in inputs.rows("learners") if row.get("samples_per_s") is not None]
    if timed:
        made.append(_learners(inputs, timed))
    return made


def _arms(inputs: Inputs, found: Arms) -> Table:
    def also(row: Row) -> dict[str, Cell]:
        """How many reached the target, and when."""
        columns = ("epochs_to_target", "seconds_to_target", "final_test_accuracy_frac")
        return {"reached": how_many(row)} | {
            column: value(inputs, row, column) for column in columns
        }

    caption = "Time to the target accuracy of each arm, medians over the seeds."
    return measured_table(inputs, caption, ARMS, list(found.rows.values()), also)


def _published(inputs: Inputs, rows: list[Row]) -> Table:
    def also(row: Row) -> dict[str, Cell]:
        """The published range and the measured value beside it."""
        ends = row.get("published_low"), row.get("published_high")
        known = f"{ends[0]:g} to {ends[1]:g} ×" if None not in ends else "more"
        return {
            "published": known,
            "measured": measured(row, "measured", "ratio", inputs.runs_of(row)),
        }

    caption = (
        "Published by Koliousis et al. (2019), not measured here, beside what was measured: how "
        "many times sooner the target is reached, and how many times the throughput is reached."
    )
    return measured_table(inputs, caption, PUBLISHED, rows, also)


def _learners(inputs: Inputs, rows: list[Row]) -> Table:
    def also(row: Row) -> dict[str, Cell]:
        """What was timed, the gain by one more learner, and whether it was chosen."""
        kind = "" if row["stacked"] else ", by itself"
        gain: Cell = measured(row, "gain_frac", "fraction", inputs.runs_of(row), row["repeats"])
        if isinstance(gain, Value) and gain.value is None:
            gain = None  # the first has none before it
        return {
            "cell": f"{row['model']}, b = {row['per_learner_batch']}{kind}",
            "learners": round(row["learners"]),
            "gain_frac": gain,
            "chosen": "yes" if row.get("chosen") else "",
        }

    caption = "Throughput against the number of learners on one device, medians of the repeats."
    return measured_table(inputs, caption, LEARNERS, rows, also)
