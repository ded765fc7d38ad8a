"""S4's tables: the five arms, the published results beside the measured ones, and the links."""

from dpscale.reporting.answer import Cell, Column, Table
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table

MEASURES = {
    "train_loss": "number",
    "train_accuracy_frac": "fraction",
    "test_accuracy_frac": "fraction",
    "rounds": "count",
    "sent_bytes": "bytes",
}
TITLES = {
    "train_loss": "Training loss",
    "train_accuracy_frac": "Training accuracy",
    "test_accuracy_frac": "Test accuracy",
    "rounds": "Rounds",
    "sent_bytes": "Sent by a worker",
}
ARMS = [
    Column(key="title", title="Arm"),
    Column(key="workers", title="Learners K", unit="setting"),
    Column(key="global_batch", title="Global batch", unit="setting"),
    Column(key="local_steps", title="H", unit="setting"),
    Column(key="lr", title="Rate", unit="setting"),
    *(Column(key=key, title=TITLES[key], unit=unit) for key, unit in MEASURES.items()),
]
PUBLISHED = [
    Column(key="regime", title="Labels"),
    Column(key="comparison", title="Comparison"),
    Column(key="difference_frac", title="Measured difference", unit="fraction"),
    Column(key="dataset", title="Published on"),
    Column(key="published_difference_frac", title="Published difference", unit="fraction"),
    Column(key="verdict", title="Verdict"),
]
TIMES = [
    Column(key="link", title="Link"),
    WORKERS,
    BATCH,
    Column(key="local_steps", title="H", unit="setting"),
    Column(key="epoch_s", title="Epoch", unit="s"),
    Column(key="communication_epoch_s", title="of it waiting", unit="s"),
    Column(key="speedup_ratio", title="Over H = 1", unit="ratio"),
]


def tables(inputs: Inputs) -> list[Table]:
    """Return the tables of what there is."""
    rows = [row for row in inputs.rows("local_sgd") if row.get("label_noise_frac") is not None]
    made = [
        _arms(inputs, noise, [row for row in rows if row["label_noise_frac"] == noise])
        for noise in sorted({row["label_noise_frac"] for row in rows})
    ]
    published = inputs.rows("published_local_sgd")
    if published:
        caption = (
            "Differences of test accuracy, paired by seed, beside those that Lin et al. (2020) "
            "published."
        )
        made.append(measured_table(inputs, caption, PUBLISHED, published, _plain))
    times = [row for row in inputs.rows("local_sgd_times") if row.get("epoch_s") is not None]
    if times:
        caption = "Predicted, not measured: an epoch by the local steps between averages."
        made.append(measured_table(inputs, caption, TIMES, times))
    return made


def words_of(noise_frac: float) -> str:
    """Return what a regime is called in a table."""
    return f"{noise_frac:.0%} wrong" if noise_frac else "clean"


def _arms(inputs: Inputs, noise_frac: float, rows: list[Row]) -> Table:
    caption = (
        f"The arms after their last epoch, labels {words_of(noise_frac)}; training loss and "
        "accuracy are of the mean network on the labels that it learned from."
    )
    return measured_table(
        inputs, caption, ARMS, rows, lambda row: {"title": f"{row['arm'][:2]} {row['title']}"}
    )


def _plain(row: Row) -> dict[str, Cell]:
    """Return the cells that no run of this project measured, and the regime in words."""
    return {
        "regime": words_of(row["label_noise_frac"]),
        "published_difference_frac": row["published_difference_frac"],
    }
