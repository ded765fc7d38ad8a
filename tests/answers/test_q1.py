"""Q1: what it says of the epoch's time and of the largest batch follows the measured sweep."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd
import pytest

from builders import full_lab
from cases import Case, Edit, numbers, says, where
from dpscale.reporting.inputs import Row
from dpscale.studies import questions
from dpscale.studies.sweep.answers import fewer_iterations, fixed_share, levels

NAN = float("nan")
BATCHES = (32, 128, 512, 2048)


def _times(*epoch_s: float, undecided: Sequence[int] = (), **more: Any) -> dict[str, Edit]:
    """The complete batches take these seconds, and their ratios are known within a hundredth.

    undecided: batches whose ratios to each other are known within a factor of four alone.
    """

    def sweep(rows: pd.DataFrame) -> pd.DataFrame:
        times = pd.Series(epoch_s, index=rows.index[: len(epoch_s)])
        ends = {"epoch_s_low": times * 0.99, "epoch_s_high": times * 1.01}
        made = {"epoch_s": times, "samples_per_s": 10_000 / times} | ends | more
        return rows.iloc[: len(epoch_s)].assign(**made)

    def pairs(rows: pd.DataFrame) -> pd.DataFrame:
        made = []
        for (batch, one_s), (to_batch, other_s) in combinations(
            zip(BATCHES, epoch_s, strict=False), 2
        ):
            wide = {batch, to_batch} <= set(undecided)
            ratio, factor = other_s / one_s, 4.0 if wide else 1.01
            ends = {"epoch_ratio_low": ratio / factor, "epoch_ratio_high": ratio * factor}
            made.append({"per_worker_batch": batch, "to_batch": to_batch} | ends)
            made[-1] |= {"epoch_ratio": ratio, "runs": f"sweep-b{batch} sweep-b{to_batch}"}
        return pd.DataFrame(made).reindex(columns=list(rows))

    return {"sweep": sweep, "sweep_pairs": pairs}


def _scattered(*epoch_s: float) -> dict[str, Edit]:
    """The complete batches take these seconds, which no launches tell apart."""
    return _times(*epoch_s, undecided=BATCHES)


SCATTERED = _times(9.0, 2.0, 1.9, undecided=(128, 512))


def _beside_load(*runs: str) -> dict[str, Edit]:
    """These launches ran beside another load, and the other batch sizes of the sweep alone."""

    def edit(quiet: pd.DataFrame) -> pd.DataFrame:
        judged = [{"run": f"sweep-b{b}", "quietness": "quiet"} for b in (32, 128, 512)] + [
            {"run": run, "quietness": "disturbed"} for run in runs
        ]
        made = pd.DataFrame(judged).drop_duplicates("run", keep="last")
        return made.reindex(columns=list(quiet))

    return {"quiet": edit}


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
            "The largest batch has the shortest epoch, and the curve has not levelled off.",
            "The largest batch has the shortest epoch: from 9.00 s at b = 32 to 2.00 s at b = "
            "512. Fixed costs: 16 times the samples make an iteration only 3.56 times",
            "ends before the device is saturated: its last step, from b = 128 to 512, still "
            "saves 50.0% of the epoch, where the first saved 55.6%: the curve flattens.",
            "Throughput rises to 5 000 samples/s.",
        ],
        never=["told", "lengthen", "up and down"],
    ),
    Case(
        "most of the fall comes early",
        edits=_times(9.0, 3.7, 2.0),
        says=["By b = 128 75.7% of the gain is made."],
    ),
    Case(
        "falls, by the line with little left to save",
        edits=_times(3.14, 1.13, 1.07),
        says=[
            "The largest batch has the shortest epoch. Band",
            "; that is why the curve falls and then flattens (saturation). Of the",
            "The sweep's last step, from b = 128 to 512, still saves 5.31% of the epoch, where "
            "the first saved 64.0%: the curve flattens.",
        ],
        never=["before the device is saturated", "has not levelled off"],
    ),
    Case(
        "falls once",
        edits=_times(9.0, 4.0),
        says=["Part of it does not grow with the batch: operators are", "still saves 55.6%"],
        never=["flattens", "A fit, off"],
    ),
    Case(
        "rises again, by the line with little left to save",
        edits=_times(1.625, 1.07, 1.3),
        says=["at b = 128 10.7%; that is why the curve falls. Of the"],
        never=["then flattens"],
    ),
    Case(
        "flat at the end",
        edits=_times(9.0, 2.01, 2.0),
        says=[
            "For speed take b = 128: larger batches shorten the epoch from 9.00 s at b = 32 to "
            "2.01 s "
            "there, and beyond by nothing measurable. Fixed",
            "From b = 128 on the fixed part is small beside the work on the samples, nearly "
            "the same for every batch size; throughput levels off at about 5 000 samples/s. Before",
            "The curve levels off at b = 128.",
        ],
    ),
    Case(
        "the rise by phase",
        edits=_times(9.0, 2.0, 3.0, copy_s=[1.0, 0.5, 0.75]),
        says=[
            "For speed take b = 128: larger batches shorten the epoch from 9.00 s at b = 32 to "
            "2.00 s "
            "there, and "
            "still larger ones lengthen it to 3.00 s at b = 512. Fixed",
            "Throughput peaks at b = 128 with 5 000 samples/s",
            "The time added, by phase: the copy to the device 250 ms (25.0%).",
            "; that is why the curve falls. ",
            "The epoch is shortest at b = 128.",
        ],
    ),
    Case(
        "launches that scatter",
        edits=_scattered(3.4, 1.7, 1.3),
        says=[
            "Whether the batch size matters is undecided: an epoch takes 3.40 s at b = 32 and "
            "1.30 s at b = 512, and launches of one batch scatter too much to call these "
            "different. More launches, or a quieter machine, decide.",
            "The launches scatter too much for a verdict on any two batch sizes.",
            "In short: Whether the batch size matters is undecided: an epoch takes 3.40 s at b = "
            "32 and 1.30 s at b = 512;",
        ],
        never=["no measurable difference", "work already"],
    ),
    Case(
        "launches that scatter beyond the knee",
        edits=SCATTERED,
        says=[
            "Larger batches shorten the epoch from 9.00 s at b = 32 to 2.00 s at b = 128; "
            "b = 512 takes 0.950× (0.237 to 3.800) as long, a further gain undecided. Fixed",
            "Beyond b = 128 the launches scatter too much for a verdict.",
            "samples/s, at b = 512; its epoch is 0.950× (0.237 to 3.800) as long as at b = 128, "
            "which leaves open whether it is shorter, all pairs of batches compared together.",
        ],
        never=["levels off", "nothing measurable", "another load"],
    ),
    Case(
        "launches of each batch beside another load",
        edits=SCATTERED | _beside_load("sweep-b32", "sweep-b128", "sweep-b512"),
        says=[
            "as long, a further gain undecided. Fixed",
            "leaves open whether it is shorter, all pairs of batches compared together; one in "
            "one launches ran beside another load. The",
        ],
        never=["since launches scatter", "then flattens"],
    ),
    Case(
        "a launch beside another load",
        edits=_scattered(3.4, 1.7, 1.3) | _beside_load("sweep-b128"),
        says=["1.30 s at b = 512; one of three launches ran beside another load. More launches"],
        never=["one in", "scatter too much to call"],
    ),
    Case(
        "phases that level off, and one that falls",
        edits=_times(
            9.0,
            4.0,
            3.9,
            forward_s=[4.0, 1.0, 1.05],
            backward_s=[4.0, 1.9, 1.8],
            update_s=[2.0, 1.0, 0.5],
            copy_s=[0.01, 0.005, 0.001],
        ),
        says=[
            "the update 1.50 s (29.4%). From b = 128 on the forward pass and the backward pass "
            "vary by 5.56% at most per image; shorter by the medians: the update (1.00 s to 500 "
            "ms of an epoch)."
        ],
    ),
    Case(
        "a phase that falls and rises again falls no longer",
        edits=_times(
            9.0,
            4.0,
            3.9,
            forward_s=[4.0, 1.0, 2.0],
            backward_s=[2.0, 2.0, 2.0],
            update_s=[2.0, 1.0, 0.5],
        ),
        says=[
            "From b = 32 on the backward pass varies by 0% at most per image; shorter by the "
            "medians: the copy to the device (256 ms to 110 ms of an epoch) and the update (2.00 "
            "s to 500 ms of an epoch)."
        ],
    ),
    Case("no phase levels off", edits=_times(9.0, 4.0, 2.0), never=["at most per image"]),
    Case(
        "iterations on a line",
        # 2 ms and 100 µs a sample: 10 000 samples in 312.5, 78.125 and 19.53 iterations
        edits=_times(1.625, 1.15625, 1.0390625),
        says=[
            "19 of 53.2 ms at b = 512. A fit, off by 0% at the most, gives 2.00 ms for each "
            "iteration, whose operators are issued one by one whatever b is (Paszke et al., 2019), "
            "and 100 µs for each image: at b = 32 the fixed part is 38.5% of an iteration, at b = "
            "512 3.76%; that is why the curve falls and then flattens (saturation). Of the 586 ms "
            "saved 586 ms are the fixed part of 293 fewer iterations."
        ],
        never=["Part of it does not grow"],
    ),
    Case(
        "iterations on a line of a larger fixed cost",
        # 20 ms and 100 µs a sample: 20 ms of 71.2 ms at b = 512
        edits=_times(7.25, 2.5625, 1.390625),
        says=["of an iteration, at b = 512 28.1%; that is why the curve falls. Of the"],
        never=["saturation"],
    ),
    Case(
        "iterations on a line without fixed cost",
        edits=_times(1.0, 1.0, 1.0),
        never=["A fit, off", "the fixed part is"],
    ),
    Case(
        "alike",
        edits=_times(2.02, 2.01, 2.0),
        says=[
            "No batch size is measurably faster than another.",
            "The batch size makes no measurable difference: an epoch takes 2.02 s at b = 32 and "
            "2.00 s at b = 512. What fewer iterations may save does not show.",
            "In short: No measurable difference between batch sizes: an epoch takes 2.02 s at b "
            "= 32;",
            "The device may have enough work already at b = 32.",
            "By the medians the highest throughput is 5 000 samples/s, at b = 512.",
        ],
        never=["shorten", "lengthen"],
    ),
    Case(
        "rises",
        edits=_times(2.0, 3.0, 4.0, update_s=[0.1, 0.2, 0.4]),
        says=[
            "The smallest batch has the shortest epoch.",
            "What fewer iterations save, larger batches cost per image.",
            "Larger batches lengthen the epoch, from 2.00 s at b = 32 to 4.00 s at b = 512.",
            "the device may be busy already at b = 32.",
            "The time added, by phase: the update 300 ms (15.0%).",
            "By the medians the highest throughput is 5 000 samples/s, at b = 32.",
        ],
    ),
    Case(
        "up and down",
        edits=_times(5.0, 9.0, 5.01),
        says=[
            "No trend: the time goes up and down with the batch size.",
            "No reason for that was isolated.",
            "goes up and down with the batch size, 5.00 s at b = 32 at the least and 9.00 s at b "
            "= 128",
        ],
        never=["shorten", "lengthen"],
    ),
    Case(
        "down, up and down",
        edits=_times(9.0, 3.0, 6.0, 2.0),
        lab=_one_size_more,
        says=["goes up and down with the batch size, 2.00 s"],
        never=["shorten"],
    ),
    Case(
        "the fastest is known least",
        edits=_times(3.04, 1.74, 1.75, undecided=(128, 512)),
        says=[
            "from 3.04 s at b = 32 to 1.74 s at b = 128; b = 512 takes 1.01× (0.25 to "
            "4.02) as long, a further gain undecided.",
            "An epoch takes 1.74 s at b = 128, 3.04 s at b = 32, beyond that "
            "undecided; within 572 MiB the largest that fits is b = 1280",
        ],
    ),
    Case("rises in no phase", edits=_times(2.0, 3.0, 4.0), never=["The time added"]),
    Case(
        "one batch size",
        edits=_times(2.0),
        says=[
            "One batch size has a time.",
            "Only one batch size has a time: an epoch takes 2.00 s",
            "One batch size alone cannot show",
        ],
    ),
    Case(
        "one repeat",
        edits={
            "sweep": where(repeats=1, epoch_s_low=NAN, epoch_s_high=NAN),
            "sweep_pairs": where(epoch_ratio_low=NAN, epoch_ratio_high=NAN),
        },
        says=[
            "Too few launches for a verdict on any two batch sizes.",
            "An epoch takes 5.13 s at b = 32 and 2.20 s at b = 512, measured too few times",
            "that of one repeat in one launch",
            "One launch shows no difference beside the spread",
            "By the medians the highest throughput is",
        ],
        never=["brackets hold", "launch by launch"],
    ),
    Case(
        "launches",
        edits={"sweep": where(launches=5, launch_spread_frac=0.125)},
        says=[
            "median of 5 launches",
            "Launches of one cell lie up to 12.5% apart.",
            "Batch sizes are compared launch by launch, ",
        ],
    ),
    Case(
        "why it falls",
        says=[
            "trains the network resnet_8x8, which has 1 000 000 trainable parameters",
            "exactly $D$ samples (10 000 images), so",
            "is the median of 5 repeats in one launch",
            "One epoch of 10 000 images on one device, without data loading and after a warm-up",
            # 5.125 s and 2.195 s of 312.5 and 19.53 iterations, of which 312 and 19 are whole
            "An epoch is 312 iterations of 16.4 ms at b = 32 and 19 of 112 ms at b = 512. A fit",
            "16 times the samples make an iteration only 6.85 times as long.",
            "The time saved, by phase: the backward pass 1.61 s (55.0%), the forward "
            "pass 879 ms (30.0%), the copy to the device 146 ms (5.00%) and the update 146 ms "
            "(5.00%).",
        ],
        never=["were repeated", "aunches and updates"],
    ),
    Case(
        "a phase that saves next to nothing",
        edits={"sweep": where(copy_s=0.001)},
        says=["the forward pass 879 ms (30.0%) and the update 146 ms (5.00%)."],
    ),
    Case(
        "repeated data",
        lab=_repeated_data,
        says=["the training images were repeated, which makes $D$ larger"],
    ),
    Case(
        "memory ends it",
        says=[
            "In a budget set to 572 MiB the largest that fits is b = 1280.",
            "b = 1280 trained in each of two processes, b = 1281 ran out of memory in each of "
            "two processes.",
            "The budget, 572 MiB, limits the data that a process adds, and an allocation beyond it "
            "really fails; a peak is all",
            "The device is busy for 90.0% of the time",
            "out of memory",
            "Of the batches tried the largest that fits is b = 1280. A",
        ],
        never=["in another", "out_of_memory"],
    ),
    Case(
        "a wide boundary",
        edits=_boundary(smallest_failed_batch=1600, memory_budget_bytes=pd.NA),
        says=[
            "In memory b = 1280 fits, b = 1600 does not.",
            "; b = 1280 fits, b = 1600 does not.",
            "Of the batches tried b = 1280 fits, b = 1600 does not. A",
            "They are 25.0% apart. From b = 1281 on a batch trains in one process and fails in",
        ],
        never=["The budget"],
    ),
    Case(
        "no size failed",
        edits=_boundary(smallest_failed_batch=pd.NA),
        says=[
            "In a budget set to 572 MiB the largest that fits is b = 1280.",
            "in each of two processes. ",
        ],
        never=["ran out of", "not measured"],
    ),
    Case(
        "one process each",
        edits=_boundary(fit_confirmations=1, failure_confirmations=1),
        says=["b = 1280 trained in one process, b = 1281 ran out of memory in one process."],
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
            "The number of training images, not memory, ends the sweep.",
        ],
        never=["bisected", "would need more images"],
    ),
    Case(
        "a busier device with larger batches",
        edits={"sweep": where({"per_worker_batch": 32}, utilisation_frac=0.4)},
        says=["is busy for 40.0% to 90.0% of the time", "108 MiB 40.0% "],
    ),
    Case(
        "no utilisation",
        edits={"sweep": where(utilisation_frac=NAN)},
        says=["How busy the device is was not measured on this machine"],
    ),
]


test_what_q1_says = says("Q1", CASES)


def test_phases_that_level_off_do_so_from_the_batch_on_after_which_all_of_them_stay() -> None:
    seconds = {
        "epoch_s": (9.0, 4.0, 3.9, 3.8),
        "forward_s": (4.0, 1.0, 1.05, 1.0),
        "backward_s": (4.0, 2.5, 1.9, 1.8),
        "update_s": (1.0, 0.5, 0.4, 0.2),
        "copy_s": (0.01, 0.005, 0.001, 0.0005),  # nowhere a percent of the epoch
    }
    batches = (16, 64, 256, 1024)
    rows = [
        Row({name: of[i] for name, of in seconds.items()} | {"per_worker_batch": batch, "runs": ""})
        for i, batch in enumerate(batches)
    ]
    found = levels(rows)
    assert found["from_batch"] == 256
    assert [row["phase"] for row in found["level"]] == ["forward", "backward"]
    assert found["varies"].value == pytest.approx(1.9 / 1.8 - 1)
    assert [
        (row["phase"], row["before"].value, row["after"].value) for row in found["falling"]
    ] == [("update", 0.4, 0.2)]


def test_a_line_above_an_iteration_gives_no_share_of_it() -> None:
    line, row = Row(fixed_s=2e-3), Row(iteration_s=4e-3, runs=["a"])
    assert fixed_share(line, row).share.value == 0.5
    assert fixed_share(line, Row(iteration_s=1e-3, runs=["a"])) is None


def test_the_largest_batch_is_a_value() -> None:
    assert questions()["Q1"](Case("").inputs).values["largest_fit_batch"].value == 1280


def test_numbers_of_two_batch_sizes_lead_to_the_runs_of_both() -> None:
    answer = questions()["Q1"](Case("").inputs)
    runs = dict(numbers(answer.said.sentence)) | dict(numbers(answer.said.paragraphs[0]))
    assert runs["6.85"] == ["sweep-b32", "sweep-b512"]
    assert runs["16.4\u00a0ms"] == ["sweep-b32"]


def test_a_line_that_misses_what_was_saved_explains_none_of_it() -> None:
    # ResNet-18 on an H100 at b = 512 and 8192: 110 iterations of 6.69 ms, and 344 ms saved
    line = Row(fixed_s=6.688e-3)
    first = Row(epoch_s=6.7711, iteration_s=57.780e-3, runs=["a"])
    end = Row(epoch_s=6.4267, iteration_s=877.453e-3, runs=["b"])
    assert fewer_iterations(line, first, end) is None
    assert fewer_iterations(Row(fixed_s=3.0e-3), first, end) is not None
