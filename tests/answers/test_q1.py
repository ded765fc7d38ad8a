"""Q1: what it says of the epoch's time and of the largest batch follows the measured sweep."""

from typing import Any

import pandas as pd

from builders import full_lab
from cases import Case, Edit, numbers, says, where
from dpscale.studies import questions

NAN = float("nan")


def _times(*epoch_s: float, **more: Any) -> dict[str, Edit]:
    """The complete batches take these seconds, each within a hundredth."""

    def edit(sweep: pd.DataFrame) -> pd.DataFrame:
        times = pd.Series(epoch_s, index=sweep.index[: len(epoch_s)])
        ends = {"epoch_s_low": times * 0.99, "epoch_s_high": times * 1.01}
        made = {"epoch_s": times, "samples_per_s": 10_000 / times} | ends | more
        return sweep.iloc[: len(epoch_s)].assign(**made)

    return {"sweep": edit}


def _boundary(**columns: Any) -> dict[str, Edit]:
    return {"boundary": where(**columns)}


def _one_size_more() -> dict[str, pd.DataFrame]:
    """A lab in which the largest batch of the sweep fits."""
    tidy = full_lab()
    largest = tidy["runs"]["run"] == "sweep-b2048"
    return tidy | {
        "runs": tidy["runs"].assign(status=tidy["runs"]["status"].mask(largest, "complete"))
    }


def _repeated_data() -> dict[str, pd.DataFrame]:
    tidy = full_lab()
    return tidy | {"runs": tidy["runs"].assign(repeated_data=True)}


CASES = [
    Case(
        "falls",
        edits=_times(9.0, 4.0, 2.0),
        says=[
            "The larger the batch, the shorter the epoch.",
            "An epoch's time falls over the sweep, from 9.00 s",
            "ends before the device is saturated: its last step, from b = 128 to 512, still "
            "saves 50.0% of the epoch",
            "The first step saved 55.6%, so the gain shrinks",
        ],
        never=["told apart", "then rises", "up and down"],
    ),
    Case("falls once", edits=_times(9.0, 4.0), says=["still saves 55.6%"], never=["flattens"]),
    Case(
        "flat at the end",
        edits=_times(9.0, 2.01, 2.0),
        says=[
            "; from b = 128 on no size is told apart. Launches",
            "From b = 128 on the curve is flat: the epoch's interval meets that of the fastest "
            "size, b = 512",
            "saves in launches may be small",
            "Larger batches shorten the epoch, but from b = 128 on none is told apart.",
        ],
    ),
    Case(
        "the rise by phase",
        edits=_times(9.0, 2.0, 3.0, copy_s=[1.0, 0.5, 0.75]),
        says=["By phase the increase is: the copy to the device 250 ms."],
    ),
    Case(
        "alike",
        edits=_times(2.02, 2.01, 2.0),
        says=[
            "No two batch sizes are told apart.",
            "What fewer launches and updates save does not show.",
            "The times of an epoch at the batch sizes measured are not told apart: 2.02",
            "So what b = 512 saves in launches and updates does not show here; the device may",
            "The highest throughput seen is 5 000 samples/s, at b = 512.",
        ],
        never=["falls", "rises"],
    ),
    Case(
        "rises",
        edits=_times(2.0, 3.0, 4.0, update_s=[0.1, 0.2, 0.4]),
        says=[
            "Epochs of larger batches take longer.",
            "What fewer launches save, larger batches cost per image.",
            "An epoch's time rises with the batch size, from 2.00 s",
            "the device may be busy already at b = 32.",
            "What the epoch gains, by phase: the update 300 ms.",
            "Throughput is highest at b = 32, with 5 000 samples/s, and is 2 500 samples/s at "
            "b = 512.",
        ],
    ),
    Case(
        "up and down",
        edits=_times(5.0, 9.0, 5.01),
        says=[
            "The time of an epoch goes up and down with the batch size.",
            "No one reason was isolated.",
            "goes up and down over the sweep, 5.00 s (4.95 to 5.05) at b = 32 at the least and "
            "9.00 s (8.91 to 9.09) at b = 128 at the most",
            "No one reason makes a time go up",
        ],
        never=["told apart", "falls"],
    ),
    Case(
        "down, up and down",
        edits=_times(9.0, 3.0, 6.0, 2.0),
        lab=_one_size_more,
        says=["goes up and down over the sweep, 2.00 s"],
        never=["falls over"],
    ),
    Case(
        "the fastest is known least",
        edits=_times(
            3.04, 1.74, 1.75, epoch_s_low=[2.24, 1.19, 1.58], epoch_s_high=[3.94, 2.39, 2.04]
        ),
        says=[
            "falls from 3.04 s at b = 32 to 1.75 s (1.58 to 2.04) at b = 512; from b = 128 on "
            "no size is told apart. Launches",
            "The shortest epoch takes 1.74 s, at b = 128, against 3.04 s at b = 32; the largest "
            "batch that fits is b = 1280",
        ],
    ),
    Case("rises in no phase", edits=_times(2.0, 3.0, 4.0), never=["What the epoch gains"]),
    Case(
        "one batch size",
        edits=_times(2.0),
        says=[
            "One batch size has a time.",
            "Only one batch size has a time: the epoch takes 2.00 s",
            "One batch size alone cannot show",
        ],
    ),
    Case(
        "one repeat",
        edits={"sweep": where(repeats=1, epoch_s_low=NAN, epoch_s_high=NAN)},
        says=[
            "Too few repeats tell no two",
            "The epoch takes 5.13 s at b = 32 and 2.20 s at b = 512, from too few repeats",
            "that of one repeat in one launch",
            "Without intervals no difference can be told",
            "The highest throughput seen is",
        ],
        never=["brackets hold"],
    ),
    Case(
        "launches",
        edits={"sweep": where(launches=5, launch_spread_frac=0.125)},
        says=["median of 5 launches", "Launches of one cell lie up to 12.5% apart."],
    ),
    Case(
        "why it falls",
        says=[
            "trains the network resnet_8x8, which has 1 000 000 trainable parameters",
            "exactly $D$ samples (10 000), so",
            "is the median of 5 repeats in one launch",
            "An epoch makes 312 iterations at b = 32 and 19 at b = 512",
            "One iteration takes 16.4 ms at b = 32 and 116 ms at b = 512: 16.0 times the "
            "samples in 6.85 times the time.",
            "all updates of an epoch take 256 ms at b = 32 and 110 ms at b = 512. Of the time "
            "saved per epoch, by phase: the backward pass 1.61 s, the forward pass 879 ms, the "
            "update 146 ms and the copy to the device 146 ms.",
        ],
        never=["were repeated"],
    ),
    Case(
        "one iteration",
        edits={"sweep": where({"per_worker_batch": 32}, steps_per_epoch=1)},
        says=["An epoch makes 1 iteration at b = 32"],
    ),
    Case(
        "repeated data",
        lab=_repeated_data,
        says=["the training images were repeated, which makes $D$ larger"],
    ),
    Case(
        "memory ends it",
        says=[
            "In 572 MiB, b = 1280 always fits, 1281 never.",
            "b = 1280 trained in two fresh processes, and b = 1281 ran out of memory in two "
            "fresh processes.",
            "The memory budget is 572 MiB, and",
            "in which the device is busy, is 90.0%;",
            "out of memory",
            "b = 1280 is the largest batch that always fits.",
        ],
        never=["In between", "out_of_memory", "not always"],
    ),
    Case(
        "a wide boundary",
        edits=_boundary(smallest_failed_batch=1600, memory_budget_bytes=pd.NA),
        says=[
            "In memory, b = 1280 always fits, 1281 not always, 1600 never.",
            "They are 25.0% apart. In between, a batch may train in "
            "one process and fail in another (b = 1281 is the smallest",
        ],
        never=["memory budget"],
    ),
    Case(
        "no size failed",
        edits=_boundary(smallest_failed_batch=pd.NA),
        says=["In 572 MiB, b = 1280 always fits.", "b = 1280 trained in two fresh processes."],
        never=["never.", "not measured"],
    ),
    Case(
        "no size fits",
        edits=_boundary(largest_fit_batch=pd.NA, smallest_failed_batch=32),
        says=["No batch of the sweep fits.", "already runs out of memory at b = 32, the"],
    ),
    Case(
        "the dataset ends it",
        edits=_boundary(limit="dataset", smallest_failed_batch=pd.NA),
        says=[
            "Every batch up to b = 1280 fits in memory.",
            "The number of training images, not memory, ends the sweep: b = 1280 ran in two "
            "fresh processes, and no batch within",
        ],
        never=["bisected", "would need more images"],
    ),
    Case(
        "a busier device with larger batches",
        edits={"sweep": where({"per_worker_batch": 32}, utilisation_frac=0.4)},
        says=["in which the device is busy, is 40.0% to 90.0%;", "108 MiB 40.0% "],
    ),
    Case(
        "no utilisation",
        edits={"sweep": where(utilisation_frac=NAN)},
        says=["Device utilisation was not measured on this machine"],
    ),
]


test_what_q1_says = says("Q1", CASES)


def test_the_largest_batch_is_a_value() -> None:
    assert questions()["Q1"](Case("").inputs).values["largest_fit_batch"].value == 1280


def test_numbers_of_two_batch_sizes_lead_to_the_runs_of_both() -> None:
    answer = questions()["Q1"](Case("").inputs)
    runs = dict(numbers(answer.said.paragraphs[0]))
    assert runs["6.85"] == ["sweep-b32", "sweep-b512"]
    assert runs["16.4\u00a0ms"] == ["sweep-b32"]
