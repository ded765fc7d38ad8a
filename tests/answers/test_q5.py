"""Q5: what it says of orders, curves and times follows the measured epochs."""

import functools

import pandas as pd
import pytest

from builders import Tables, full_lab, runs_table
from cases import Case, Edit, around, both, check, only, where, without
from dpscale.studies import answer_one

NAN = float("nan")
WITH = {"study": "replicas", "arm": "baseline"}
WITHOUT = {"study": "replicas", "arm": "without_set_epoch"}
SECOND, LAST = ({**WITHOUT, "epoch": epoch} for epoch in (2, 3))


def _loss(cell: dict[str, object], loss: float) -> dict[str, Edit]:
    return {"accuracy": where(cell, **around("train_loss", loss))}


def _runs(*arms: str) -> Tables:
    """A lab with a complete run of each wrapper named."""
    tables = full_lab()
    runs = tables["runs"][tables["runs"]["study"] != "data_parallel"]
    added = runs_table({"run": arm, "study": "data_parallel", "arm": arm} for arm in arms)
    return tables | {"runs": pd.concat([runs, added], ignore_index=True)}


def _times(**seconds: list[float]) -> dict[str, Edit]:
    """Epoch times by arm, one a repeat."""
    rows = [{"run": arm, "epoch_s": one} for arm, own in seconds.items() for one in own]
    return {"epoch_times": lambda _: pd.DataFrame(rows)}


BOTH = functools.partial(_runs, "data_parallel", "distributed")

CASES = [
    Case("orders as they should be",
         says=["without set_epoch every epoch has the same order", "epoch after epoch",
               "with it no later epoch repeats the order of the first",
               "8 of 8 repeat the first order without set_epoch, 0 of 8 with it.",
               "worker 0, seed 0. with set_epoch 1 0 0 7 9", "without set_epoch 2 0 0 7 9"]),
    Case("orders that differ without set_epoch",
         edits={"order": where({"arm": "without_set_epoch"}, same_as_first=False)},
         says=["without set_epoch no later epoch repeats", "do not show the need for it",
               "0 of 8 repeat the first order"],
         never=["epoch after epoch", "every epoch has"]),
    Case("some orders repeat",
         edits={"order": both(where({"epoch": 2}, same_as_first=True),
                              where({"epoch": 3}, same_as_first=False))},
         says=["without set_epoch 4 of 8 later orders are those of the first epoch, and",
               "with it 4 of 8 later orders are those of the first epoch;"],
         never=["epoch after epoch"]),
    Case("orders that repeat with set_epoch", edits={"order": where(same_as_first=True)},
         says=["and with it, too, every epoch has the order of the first;", "8 of 8 with it."]),
    Case("curves alike",
         says=["the training curves of the two cannot be told apart with these seeds."]),
    Case("a loss above at the end", edits=_loss(WITHOUT, 0.9),
         says=["after three epochs the training loss without it is higher, "
               "0.900 (0.891 to 0.909) against 0.298"]),
    Case("a loss below at the end", edits=_loss(LAST, 0.1), says=["without it is lower, 0.100"]),
    Case("a loss apart on the way", edits=_loss(SECOND, 0.1),
         says=["the training curves of the two differ in epoch 2 and not at the end"]),
    Case("losses apart on the way", edits=_loss({**WITHOUT, "epoch": [1, 2]}, 0.1),
         says=["the training curves of the two differ in epochs 1 and 2 and not at the end"]),
    Case("one seed", edits={"accuracy": where(
             WITHOUT, train_loss_low=NAN, test_accuracy_frac_low=NAN)},
         says=["one seed does not tell whether the training curves differ",
               "with it: undecided for want of seeds."]),
    Case("some seeds diverged", edits={"accuracy": where(WITHOUT, status="diverged")},
         says=["training without set_epoch diverged for some seeds", "is 81.6% without set_epoch",
               "undecided for want of seeds"]),
    Case("some seeds diverged with set_epoch", edits={"accuracy": where(WITH, status="diverged")},
         says=["training with set_epoch diverged for some seeds"]),
    Case("some seeds of both diverged",
         edits={"accuracy": where({"study": "replicas"}, status="diverged")},
         says=["training with and without set_epoch diverged for some seeds"]),
    Case("every seed diverged",
         edits={"accuracy": where(WITHOUT, status="diverged", train_loss=NAN)},
         says=["the training curves cannot be compared.",
               "At least one of the two trainings has no finished epoch"]),
    Case("accuracy below",
         says=["Both trainings use two workers, b = 32 and two seeds;",
               "81.6% (81.1 to 82.0) without set_epoch and 86.5% (86.1 to 87.0) with it: "
               "lower without it. The trainings are short (three epochs)"]),
    Case("accuracy above", edits={"accuracy": where(LAST, **around("test_accuracy_frac", 0.95))},
         says=["with it: higher without it."]),
    Case("accuracy alike", edits={"accuracy": where(LAST, **around("test_accuracy_frac", 0.865))},
         says=["with it: the two cannot be told apart."]),
    Case("no devices",
         says=["the run's outcome is unavailable (2 devices asked, 1 found)."],
         never=["Times are medians"]),
    Case("no run of either wrapper", lab=_runs, says=["the configuration plans no such run"]),
    Case("DistributedDataParallel faster", lab=BOTH,
         edits=_times(data_parallel=[3.0, 2.0, 2.5], distributed=[1.0, 1.0, 1.25]),
         says=["takes 2.50 s (2.00 to 3.00) with DataParallel and 1.00 s (1.00 to 1.25) with "
               "DistributedDataParallel: DistributedDataParallel is faster. Times are medians"]),
    Case("DataParallel faster", lab=BOTH,
         edits=_times(data_parallel=[1.0, 1.0], distributed=[2.0, 2.0]),
         says=["with DistributedDataParallel: DataParallel is faster."]),
    Case("both wrappers alike", lab=BOTH,
         edits=_times(data_parallel=[1.0, 2.0], distributed=[1.0, 2.0]),
         says=["with DistributedDataParallel: the two cannot be told apart."]),
    Case("one repeat", lab=BOTH, edits=_times(data_parallel=[1.0], distributed=[2.0]),
         says=["with DistributedDataParallel: one repeat does not tell the two apart."]),
    Case("one time", lab=BOTH, edits=_times(distributed=[2.0]),
         says=["Only one of the two has a time"]),
    Case("no order recorded", edits={"order": only(epoch=1)},
         says=["replicas, baseline: no order of a later epoch",
               "replicas, without_set_epoch: no order of a later epoch"]),
    Case("no training", edits={"accuracy": without(**WITHOUT)},
         says=["Missing: replicas, without_set_epoch: not run yet. The answer"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q5_says(case: Case) -> None:
    check("Q5", case)


def test_the_orders_are_counted() -> None:
    values = answer_one("Q5", CASES[0].inputs).values
    assert values["orders_compared_without_set_epoch"].value == 8
    assert values["orders_repeated_without_set_epoch"].value == 8
    assert values["orders_repeated_with_set_epoch"].value == 0
