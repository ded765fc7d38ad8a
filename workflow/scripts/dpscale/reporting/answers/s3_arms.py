"""S3's arms, how two of them compare, and words for it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured

STUDY = "model_averaging"
SMALL, LARGE, LINEAR = "sgd_small", "sgd_large", "sgd_large_linear"
UNITS = {
    "epochs_to_target": "number",
    "seconds_to_target": "s",
    "final_test_accuracy_frac": "fraction",
    "final_train_loss": "number",
}
Order = Literal["sooner", "later", "indistinct", "unknown"]
NEED: dict[Order, str] = {
    "sooner": "fewer {}",
    "later": "more {}",
    "indistinct": "{} that cannot be told apart",
    "unknown": "{} that cannot be compared",
}


@dataclass(frozen=True)
class Arms:
    """The arms of the study by name, and their pairs."""

    rows: dict[str, Row]
    pairs: list[Row]

    @property
    def averaged(self) -> list[Row]:
        """The arms of model averaging."""
        return [row for row in self.rows.values() if row["optimizer"] == "sma"]

    @property
    def same_rate(self) -> list[Row]:
        """Those whose rate is that of SGD with the small batch."""
        small = self.rows.get(SMALL)
        return [row for row in self.averaged if small and row["lr"] == small["lr"]]

    @property
    def own_rate(self) -> list[Row]:
        """Those whose rate is one of their own."""
        return [row for row in self.averaged if row not in self.same_rate]

    @property
    def comparable(self) -> bool:
        """Whether model averaging and all arms of SGD have a training."""
        return bool(self.averaged) and all(name in self.rows for name in (SMALL, LARGE, LINEAR))

    def pair(self, arm: str, against: str) -> Row | None:
        """Return the row of an arm against another."""
        wanted = {"arm": arm, "against": against}
        return next((row for row in self.pairs if wanted.items() <= row.items()), None)

    def order(self, arm: str, against: str, measure: str) -> Order:
        """Return whether an arm reaches the target sooner in `epochs` or `seconds`."""
        row = self.pair(arm, against)
        return order(row, f"{measure}_difference") if row else "unknown"


def arms_of(inputs: Inputs) -> Arms:
    """Return the arms that have a training."""
    rows = {row["arm"]: row for row in inputs.rows("model_averaging")}
    return Arms(rows, inputs.rows("averaging_pairs"))


def order(row: Row, column: str) -> Order:
    """Return what the interval of a difference says; it may stand without a value as a bound."""
    low, high = row.get(f"{column}_low"), row.get(f"{column}_high")
    if low is None or high is None:
        return "unknown"
    if high < 0:
        return "sooner"
    return "later" if low > 0 else "indistinct"


def need(epochs: Order, seconds: Order) -> str:
    """Return what an arm needs of epochs and seconds, compared with another."""
    if epochs == seconds:
        return NEED[epochs].format("epochs and seconds")
    return f"{NEED[epochs].format('epochs')} and {NEED[seconds].format('seconds')}"


def compared(found: Arms, arm: Row) -> str:
    """Return what an arm needs beside SGD with the large batch, its rate unscaled and scaled."""
    parts = []
    for other, rate in ((LARGE, "unscaled"), (LINEAR, "linearly scaled")):
        epochs, seconds = (found.order(arm["arm"], other, of) for of in ("epochs", "seconds"))
        batch = found.rows[other]["global_batch"]
        parts.append(f"{need(epochs, seconds)} compared with SGD of B = {batch} at the {rate} rate")
    return prose.join(parts)


def alphas(rows: Sequence[Row]) -> str:
    """Return the weights of arms: `α = 0.125 and 0.1`."""
    weights = [f"{row['alpha']:g}" for row in rows]
    return f"α = {prose.join(weights)}"


def how_many(row: Row) -> str:
    """Return how many seeds of an arm reached the target."""
    return f"{row['reached']} of {prose.digits(row['seeds'], 'seed')}"


def value(inputs: Inputs, row: Row, column: str) -> Value:
    """Return a measure of an arm over its seeds; where some did not reach the target, why none."""
    return measured(row, column, UNITS[column], inputs.runs_of(row), row.get("seeds"))


def slug(arm: str) -> str:
    """Return an arm's name as a part of a key."""
    return re.sub(r"[^a-z0-9]+", "_", arm.replace("α", "alpha").lower()).strip("_")
