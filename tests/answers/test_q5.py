"""Q5: what it says of orders, curves and times follows the measured epochs."""

import functools
from collections.abc import Callable

import pandas as pd

from builders import Tables, full_lab, runs_table
from cases import Case, Edit, both, only, says, where
from dpscale.studies import answer_one
from dpscale.studies.replicas.derive import wrappers
from trained import trained

NAN = float("nan")
WITHOUT = {"study": "replicas", "arm": "without_set_epoch"}


def _ended(**values: list[float]) -> Callable[[], Tables]:
    """The lab where training without set_epoch ended otherwise."""
    return trained({"without_set_epoch": {"epoch": [3], **values}}, prefix="replicas-")


def _status(*arms: str) -> Callable[[], Tables]:
    return trained({arm: {"status": "diverged"} for arm in arms}, prefix="replicas-")


def _runs(*arms: str) -> Tables:
    """A lab with a complete run of each wrapper named."""
    tables = full_lab()
    runs = tables["runs"][tables["runs"]["study"] != "data_parallel"]
    added = runs_table({"run": arm, "study": "data_parallel", "arm": arm} for arm in arms)
    return tables | {"runs": pd.concat([runs, added], ignore_index=True)}


def _times(**seconds: list[float]) -> dict[str, Edit]:
    """Epoch times by arm, one a repeat."""
    rows = [
        {
            "run": arm,
            "arm": "without_loading",
            "repeat": number,
            "epoch_s": one,
            "rank_mean_epoch_s": one,
        }
        for arm, own in seconds.items()
        for number, one in enumerate(own)
    ]
    return {"wrappers": lambda _: wrappers(pd.DataFrame(rows), BOTH()["runs"])}


BOTH = functools.partial(_runs, "data_parallel", "distributed")

CASES = [
    Case(
        "orders as they should be",
        says=[
            "DistributedDataParallel runs a process per device and all-reduces gradients during "
            "the backward pass, DataParallel threads of one process (not timed here). Call "
            "set_epoch before each epoch; the sampler learns it only so: without it 8 of 8 "
            "later orders repeat the first, with it none. After three epochs without it test "
            "accuracy is 81.6% (with it "
            "86.5%, measurably more). In every",
            "with it none does; where the orders are the same the marks",
            "epoch after epoch. Orders are counted for each worker, seed and later epoch.",
            "worker 0, seed 0. with set_epoch 1 0 0 7 9",
            "without set_epoch 2 0 0 7 9",
        ],
    ),
    Case(
        "orders that differ without set_epoch",
        edits={"order": where({"arm": "without_set_epoch"}, same_as_first=False)},
        says=[
            "Without set_epoch no later epoch repeats",
            "do not show the need for set_epoch",
            "Without set_epoch 0 of 8 later orders repeat the first, with it none. After",
        ],
        never=["epoch after epoch", "every epoch "],
    ),
    Case(
        "some orders repeat",
        edits={
            "order": both(
                where({"epoch": 2}, same_as_first=True), where({"epoch": 3}, same_as_first=False)
            )
        },
        says=[
            "Without set_epoch 4 of 8 later orders repeat the first, with it 4 of 8. After",
            "Without set_epoch some later orders repeat the first; with it some do; where",
        ],
        never=["epoch after epoch"],
    ),
    Case(
        "orders that repeat with set_epoch",
        edits={"order": where(same_as_first=True)},
        says=[
            "; with it every epoch has the order of the first; where",
            "repeat the first, with it 8 of 8. After",
            "repeats the first, with it 8 of 8; test",
        ],
    ),
    Case(
        "losses not told apart",
        lab=_ended(test_accuracy_frac=[0.86, 0.87]),
        says=[
            "After three epochs without it test accuracy is 86.5% (with it 86.5%, no measurable "
            "difference).",
            "losses of the two show no measurable difference in any epoch.",
            "Of 3 such comparisons",
        ],
        never=["lower", "higher", "no arm isolates"],
    ),
    Case(
        "a loss above at the end",
        lab=_ended(train_loss=[0.9, 0.91]),
        says=[
            "epochs without it test accuracy is 81.6% (with it 86.5%, measurably more).",
            "The training loss without set_epoch is higher in epoch 3, and not measurably "
            "different in the others; at the end it is 0.905 (0.844 to 0.971) without set_epoch",
            "trained on; no arm isolates why it differs.",
        ],
        never=["not a better model", "perhaps"],
    ),
    *(
        Case(
            f"a loss below and an accuracy {words}",
            lab=_ended(train_loss=[0.1, 0.101], test_accuracy_frac=test),
            says=[
                "epochs without it test accuracy is ",
                "The training loss without set_epoch is lower in epoch 3",
                f"(with it 86.5%, {sentence}).",
                "trained on; no arm isolates why it is lower. A lower training loss is not a "
                f"better model: {paragraph}.",
                "the first, with it none; test accuracy",
                f" against 86.5%, {short}.",
            ],
        )
        for words, test, short, sentence, paragraph in (
            (
                "below",
                [0.8, 0.808],
                "lower without it",
                "measurably more",
                "the test accuracy without it is lower",
            ),
            (
                "above",
                [0.95, 0.958],
                "higher without it",
                "measurably less",
                "here the test accuracy happens to be higher without it too, in this short "
                "training",
            ),
            (
                "alike",
                [0.86, 0.87],
                "no measurable difference",
                "no measurable difference",
                "the test accuracies show no measurable difference",
            ),
            (
                "unknown",
                [NAN, 0.8],
                "not compared",
                "not compared",
                "the test accuracies are not compared, for want of an interval",
            ),
        )
    ),
    Case(
        "losses apart on the way",
        lab=trained(
            {"without_set_epoch": {"epoch": [1, 2], "train_loss": [0.1, 0.101]}}, prefix="replicas-"
        ),
        says=["is lower in epochs 1 and 2, and not measurably different in the others; at the end"],
    ),
    Case(
        "one seed",
        lab=trained({}, seeds=1, prefix="replicas-"),
        says=[
            "without it test accuracy is 81.1% (with it 86.1%, not compared).",
            "The training losses are not compared in every epoch, for want of an interval.",
            "With one seed there is no interval",
        ],
    ),
    Case(
        "some seeds of both diverged",
        lab=_status("baseline", "without_set_epoch"),
        says=["Training with and without set_epoch diverged for some seeds"],
    ),
    Case(
        "every seed diverged",
        edits={"accuracy": where(WITHOUT, status="diverged", train_loss=NAN)},
        says=[
            "The trainings cannot be compared.",
            "At least one of the two trainings has no finished epoch",
        ],
    ),
    Case(
        "accuracy below",
        says=[
            "Both trainings use two workers, b = 32 and two seeds;",
            "over two seeds, of the",
            "is 81.6% (75.9 to 87.2) without set_epoch and 86.5% (80.6 to 92.4) with it, by seed ",
            "−4.97 points (−7.26 to −2.69) of difference. The trainings",
            "The trainings are short (three epochs)",
        ],
    ),
    Case(
        "no devices",
        says=["were not timed against each other, since DataParallel needs several GPUs"],
        never=["Each time is", "DataParallel against", "hardware."],
    ),
    Case(
        "a wrapper without memory",
        lab=BOTH,
        edits={"wrappers": where({"arm": "data_parallel"}, status="out_of_memory")},
        says=[
            "threads of one process (not timed here). Call",
            "The two could not be timed against each other (out of memory).",
        ],
        never=["several GPUs in one"],
    ),
    Case(
        "DistributedDataParallel faster",
        lab=BOTH,
        edits=_times(data_parallel=[3.0, 2.0, 2.5], distributed=[1.0, 1.0, 1.25]),
        says=[
            "takes 2.50 s (1.49 to 4.08) with DataParallel and 1.00 s (0.78 to 1.48) with "
            "DistributedDataParallel: DistributedDataParallel is faster (a ratio of 2.50× (1.51 to "
            "3.47)).",
            "Each time is the median of 3 repeats in one launch, and",
            "DataParallel threads of one process. Call",
        ],
    ),
    Case(
        "DataParallel faster",
        lab=BOTH,
        edits=_times(data_parallel=[1.0, 1.0], distributed=[2.0, 2.0]),
        says=["with DistributedDataParallel: DataParallel is faster (a"],
    ),
    Case(
        "both wrappers alike",
        lab=BOTH,
        edits=_times(data_parallel=[1.0, 2.0], distributed=[1.0, 2.0]),
        says=["with DistributedDataParallel: there is no measurable difference (a"],
    ),
    Case(
        "one repeat",
        lab=BOTH,
        edits=_times(data_parallel=[1.0], distributed=[2.0]),
        says=["with DistributedDataParallel: one repeat cannot compare the two (a"],
    ),
    Case(
        "one time",
        lab=BOTH,
        edits=_times(distributed=[2.0]),
        says=["Only one of the two has a time", "one process (not timed here). Call"],
    ),
    Case(
        "no order recorded",
        edits={"order": only(epoch=1)},
        says=[
            "replicas, baseline: no order of a later epoch",
            "replicas, without_set_epoch: no order of a later epoch",
        ],
    ),
]


test_what_q5_says = says("Q5", CASES)


def test_the_orders_are_counted() -> None:
    values = answer_one("Q5", CASES[0].inputs).values
    assert values["orders_compared_without_set_epoch"].value == 8
    assert values["orders_repeated_without_set_epoch"].value == 8
    assert values["orders_repeated_with_set_epoch"].value == 0
