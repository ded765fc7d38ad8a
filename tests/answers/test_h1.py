"""H1: on a CPU it speaks of throughput, on a GPU of utilisation, and follows the launches."""

import pandas as pd
import pytest

from cases import Case, Edit, around, both, only, says, where, without
from dpscale.reporting.answer import Value
from dpscale.studies.assignment.answers import gain_without, steps_of_batches

NAN = float("nan")
FIRST, LARGEST = {"per_worker_batch": 128}, {"per_worker_batch": 1024}
QUOTED = {"claim": "utilisation_frac"}


def _batches(*edits: Edit) -> dict[str, Edit]:
    return {"assignment_utilisation": both(*edits)}


def _fastest(share: float, width: float = 0.01) -> Edit:
    """The largest batch trains 2,000 samples a second, the first so large a share of that."""
    first = around("rate_to_best_ratio", share, width)
    return both(
        where(LARGEST, **around("samples_per_s", 2000.0), **around("rate_to_best_ratio", 1.0, 0.0)),
        where(FIRST, **first),
    )


def _between(share: float, width: float = 0.01, rate_width: float = 0.01) -> Edit:
    """The assignment's batch as the second of three: the first, half of it, is much slower.

    rate_width: of the interval of the samples a second of the second.
    """

    def edit(table: pd.DataFrame) -> pd.DataFrame:
        rows = where(FIRST, **around("samples_per_s", 1000.0))(_fastest(0.5)(table))
        first = rows[rows["per_worker_batch"] == 128]
        second = where(
            None,
            **around("rate_to_best_ratio", share, width),
            **around("samples_per_s", 2000 * share, rate_width),
            **around("load_frac", 0.1),
        )(first)
        first = first.assign(per_worker_batch=64)
        return pd.concat([first, second, rows[rows["per_worker_batch"] == 1024]])

    return edit


def _gpu(load: float, to_first: float = 0.45, ends: float = 0.01) -> dict[str, Edit]:
    return _batches(
        where(device="NVIDIA H1", **around("load_frac", load)),
        where(LARGEST, **around("utilisation_difference_frac", to_first, ends)),
        _fastest(0.6),
    )


def _loading(
    ratio: float,
    width: float = 0.01,
    base: int = 0,
    more: int = 1,
    waits: float = 0.03,
    busy: float = NAN,
    waits_width: float = NAN,
) -> dict[str, Edit]:
    """One worker was trained with b = 128 and further loading processes too."""

    def edit(table: pd.DataFrame) -> pd.DataFrame:
        row = {"per_worker_batch": 128, "loader_workers": base + more, "base_loader_workers": base}
        row |= {"status": "complete", "samples_per_s": 1300.0}
        row |= around("load_frac", waits, waits_width)
        row |= around("more_loading_ratio", ratio, width) | around("utilisation_frac", busy)
        return pd.DataFrame([row], columns=list(table))

    return {"assignment_loading": edit}


def _learns(batch: int, by: float, width: float = 0.01) -> Edit:
    """A batch has another test accuracy than the first after as many epochs, 95.0%."""
    found = around("test_accuracy_frac", 0.95 + by) | {"compared_epochs": 3}
    return where(
        {"per_worker_batch": batch}, **found, **around("test_accuracy_difference_frac", by, width)
    )


FIRST_OF_THREE = where(
    {"per_worker_batch": 64}, compared_epochs=3, **around("test_accuracy_frac", 0.95)
)
# A GPU whose fastest batch, the largest, learns less.
GPU_LEARNS_LESS = (
    where(device="NVIDIA H1"),
    _between(0.8),
    FIRST_OF_THREE,
    _learns(128, 0.0),
    _learns(1024, -0.2),
)
AROUND_ZERO = {"utilisation_difference_frac_low": -0.01, "utilisation_difference_frac_high": 0.01}
CASES = [
    *(
        Case(
            f"the fastest batch learns less, the assignment's {name}",
            edits=_batches(_between(0.8), FIRST_OF_THREE, _learns(128, *as_assigned), LESS),
            says=[
                "The CPU is 50.3% to 95.3% busy at every batch, loading included: judge by "
                f"samples/s. {speed} b from 64 to the assignment's 128: 1 000 samples/s become 1 "
                f"600{words}; b = 1024 reaches 2 000 but learns less in three epochs: "
                "75.0% (at 64: 95.0%). It waits for the loader 1.00% of the time. A step",
                "With rates in proportion to b the test accuracy after three epochs is 95.0% at b "
                f"= 64, {printed} and 75.0% at b = 1024 (measurably lower).",
                f"In short: Take the assignment's b = 128, not 64: 1 000 samples/s become 1 600"
                f"{words}; b = 1024 learns less.",
            ],
            never=["was not measured with"],
        )
        for LESS in [both(_learns(1024, -0.2), where(**around("load_frac", 0.01)))]
        for name, as_assigned, speed, words, printed in (
            (
                "as much",
                (0.0,),
                "Raise",
                ", no measurable loss of accuracy",
                "95.0% at b = 128 (no measurable difference)",
            ),
            (
                "more",
                (0.02,),
                "Raise",
                ", with measurably higher accuracy",
                "97.0% at b = 128 (measurably higher)",
            ),
            ("undecided", (0.01, NAN), "For speed raise", "", "96.0% at b = 128 (undecided)"),
        )
    ),
    Case(
        "the fastest batch learns less and is not measurably faster",
        edits=_batches(_between(0.95, 0.1), FIRST_OF_THREE, _learns(128, 0.0), _learns(1024, -0.2)),
        says=[
            "become 1 900, no measurable loss of accuracy; b = 1024 is not measurably faster and "
            "learns less in three epochs: 75.0% (at 64: 95.0%)."
        ],
    ),
    *(
        Case(
            f"a CPU that is as busy at every batch, the assignment's {name}",
            edits=_batches(
                _between(0.8),
                FIRST_OF_THREE,
                _learns(128, *as_assigned),
                _learns(1024, -0.2),
                where(
                    {"per_worker_batch": [128, 1024]},
                    **around("utilisation_difference_frac", 0.0) | AROUND_ZERO,
                ),
            )
            | _loading(1.02, 0.1),
            says=[
                "Busy, not fast: the CPU is 50.3% to 95.3% busy at every batch, loading "
                "included, yet b = 1024 trains 2.00× the samples/s of b = 64. "
                f"{take} the assignment's b = 128: 1 600 samples/s{words}; b = 1024 reaches 2 000 "
                "but learns less in three epochs: 75.0% (at 64: 95.0%). A step"
            ],
            never=[
                "judge by",
                "aise b from 64 to the assignment's 128: 1 000 samples/s become 1 600 ",
            ],
        )
        for name, as_assigned, take, words in (
            (
                "as much by little",
                (0.01, 3.0),
                "Take",
                ", no measurable loss of accuracy (up to 2.00 points may hide)",
            ),
            ("more", (0.02,), "Take", ", with measurably higher accuracy"),
            ("undecided", (0.01, NAN), "For speed take", ""),
        )
    ),
    Case(
        "the training with more loading processes failed",
        edits={"assignment_loading": both(*_loading(1.0).values(), where(status="failed"))},
        says=["withheld: one result that it needs is missing", "assignment_loading, b = 128: fail"],
    ),
    Case(
        "every larger batch learns less",
        edits=_batches(_between(0.8), FIRST_OF_THREE, _learns(128, -0.1), _learns(1024, -0.2)),
        says=[
            "judge by samples/s. At b = 64 one worker trains 1 000 samples/s, only 50.0% of what b "
            "= 1024 reaches, which learns less. Load ahead, on another core (not tried): it waits "
            "for its loader 20.0% of the time and could be 1.25× as fast at most. A"
        ],
        never=["aise b", "not measured with"],
    ),
    Case(
        "a GPU whose fastest batch learns less",
        edits=_batches(*GPU_LEARNS_LESS, where(**around("load_frac", 0.01))),
        says=[
            "Raise b from 64 to the assignment's 128: 1 000 samples/s become 1 600, no "
            "measurable loss of accuracy; b = 1024 reaches 2 000 but learns less. Its idle time "
            "at b = 64 is"
        ],
        never=["75.0% accuracy", "judge by"],
    ),
    Case(
        "a GPU that is half busy with the first batch, as an H100 was",
        edits=_batches(
            *GPU_LEARNS_LESS,
            where({"per_worker_batch": 64}, **around("utilisation_frac", 0.51)),
            where({"per_worker_batch": 128}, **around("utilisation_frac", 0.8)),
            where(LARGEST, **around("utilisation_frac", 0.99)),
        )
        | _loading(1.02, 0.1),
        says=[
            "The GPU is 51.0% busy at b = 64, 80.0% at the assignment's 128, rising to 99.0% at "
            "1024. Raise b from 64 to the assignment's 128: 1 000 samples/s become 1 600, no "
            "measurable loss of accuracy; b = 1024 reaches 2 000 but learns less. At b = 128 one "
            "more loading process made training not measurably faster (1.02×). A",
            "In short: The GPU is 51.0% busy at b = 64, 80.0% at the assignment's 128, rising to "
            "99.0% at 1024: raise b to 128.",
        ],
    ),
    Case(
        "a GPU of two batches, the larger the assignment's",
        edits=_batches(
            where(device="NVIDIA H1"), _between(1.0, 0.0), without(per_worker_batch=1024)
        ),
        says=[
            "The GPU is 50.3% busy at b = 64 and 50.3% at the assignment's 128, one launch each. "
            "For speed raise b from 64 to the assignment's 128"
        ],
    ),
    Case(
        "a GPU of one batch",
        edits=_batches(where(device="NVIDIA H1"), only(per_worker_batch=128)),
        says=["The GPU is 50.3% busy at the assignment's b = 128. At b = 128 one worker trains"],
    ),
    Case(
        "a single core",
        edits=_batches(where(device="CPU core", compute_frac=0.5)),
        says=["The core is 50.3% to 95.3% busy at every batch, loading included"],
        never=["The CPU"],
    ),
    *(
        Case(
            f"more loading processes, {name}",
            edits=_batches(_fastest(0.624)) | _loading(ratio, width),
            says=[
                "Raise b from 128 to 1024: 1 248 samples/s become 2 000, no measurable loss of "
                "accuracy (up to 0.191 points may hide). A step",
                "At b = 128 one worker waits for the loader 20.0% of the time with no loading "
                f"process and 3.00% with one. With one, training is {gain}; training that "
                "never waited would be 1.25× as fast as with none at most.",
            ],
            never=["not tried", "one more loading process"],
        )
        for name, ratio, width, gain in (
            ("faster", 1.12, 0.01, "1.12× (1.11 to 1.13) as fast as with none"),
            ("slower", 0.85, 0.01, "0.850× (0.842 to 0.858) as fast as with none"),
            (
                "alike",
                1.02,
                0.1,
                "1.02× (0.92 to 1.12) as fast as with none, no measurable difference",
            ),
            ("one launch", 1.02, NAN, "1.02× as fast as with none"),
        )
    ),
    *(
        Case(
            f"a CPU where the first batch is the fastest, and more loading processes, {name}",
            edits=_loading(ratio, width),
            says=[
                "At b = 128 one worker trains 1 248 samples/s, more than at any larger batch. At b "
                f"= 128 one more loading process made {words} At b"
            ],
            never=["not tried", "Load ahead"],
        )
        for name, ratio, width, words in (
            ("faster", 1.2, 0.01, "training 1.20× as fast."),
            ("slower", 0.85, 0.01, "training slower (0.850×)."),
            ("alike", 1.02, 0.1, "training not measurably faster (1.02×)."),
            ("one launch", 1.02, NAN, "one launch 1.02× as fast."),
        )
    ),
    *(
        Case(
            f"as busy at every batch, and {busy:.0%} busy where another process loads",
            edits=_batches(
                _between(0.8),
                FIRST_OF_THREE,
                _learns(1024, -0.2),
                where(device="CPU core", compute_frac=0.5),
                where(
                    {"per_worker_batch": [128, 1024]},
                    **around("utilisation_difference_frac", 0.0) | AROUND_ZERO,
                ),
            )
            | _loading(1.02, 0.1, busy=busy),
            says=["busy at every batch, loading included, yet b = "],
            never=["% with one loading process), yet"],
        )
        for busy in (0.3, 0.9)
    ),
    *(
        Case(
            f"another process loads, and the core is busy {busy:.0%} of the time",
            edits=_batches(where(device="CPU core", compute_frac=0.5), _fastest(0.624))
            | _loading(1.02, 0.1, busy=busy),
            says=["and 3.00% with one" + words],
            never=never,
        )
        for busy, words, never in (
            (0.3, ", and the core is 30.0% busy, since loading is another's work. With one,", []),
            (0.9, ". With one, training is", ["another's work"]),
        )
    ),
    Case(
        "the assignment's batch is fast enough, and was tried with more loading processes",
        edits=_batches(_between(0.9, 0.2)) | _loading(0.85),
        says=[
            "b = 1024 is not measurably faster. A step",
            "With one, training is 0.850× (0.842 to 0.858) as fast as with none;",
        ],
        never=["of its rate", "not tried", "one more loading process"],
    ),
    *(
        Case(
            f"more loading processes, of which the wait is {name}",
            edits=_loading(1.02, 0.1, more=more, waits=waits, waits_width=width),
            says=[
                "On a GPU utilisation differs: published are 20% at b = 128 and 54% at b = 1024; a "
                "larger b gives a launch of a kernel more work, and more loading processes may "
                f"shorten waits{words}."
            ],
        )
        for name, more, waits, width, words in (
            ("shorter", 2, 0.03, 0.01, ", as two more did here"),
            ("alike", 1, 0.21, 0.3, " (here one more made no measurable difference)"),
            ("longer", 1, 0.4, 0.01, " (here one more lengthened them)"),
            ("undecided", 1, 0.03, NAN, ""),
        )
    ),
    Case("without more loading processes", says=["and more loading processes may shorten waits."]),
    Case(
        "more loading processes, and no shorter wait",
        edits=_loading(1.02, 0.1, waits=0.25),
        says=[
            "and 25.0% with one. With one, training is 1.02× (0.92 to 1.12) as fast as with none, "
            "no measurable difference; training that never waited would be"
        ],
    ),
    Case(
        "a GPU with more loading processes",
        edits=_gpu(0.4, -0.1) | _loading(1.3, base=2, more=2),
        says=[
            "At b = 128 two more loading processes made training 1.30× as fast. A step",
            "of it: without that wait they would be at most 1.67× as fast.",
            "of the time with two loading processes and 3.00% with four. With four, training is "
            "1.30× (1.29 to 1.31) as fast as with two;",
        ],
        never=["not tried"],
    ),
    Case(
        "a GPU that does not wait for its loader, with more loading processes",
        edits=_gpu(0.01) | _loading(1.02, 0.1),
        says=[
            "no measurable loss of accuracy (up to 0.191 points may hide). At b = 128 one more "
            "loading process made training not measurably faster (1.02×). A step"
        ],
        never=["Its idle time"],
    ),
    Case(
        "a GPU that is always busy, with more loading processes",
        edits=_batches(where(device="NVIDIA H1"), where(FIRST, **around("utilisation_frac", 0.98)))
        | _loading(0.85),
        says=["At b = 128 one more loading process made training slower (0.850×)."],
        never=["left to win"],
    ),
    Case(
        "a CPU where the first batch is the fastest",
        says=[
            "The CPU is 50.3% to 95.3% busy at every batch, loading included: judge by samples/s. "
            "At b = 128 one worker trains 1 248 samples/s, more than at any larger batch. Load "
            "ahead, on another core (not tried): it waits for its loader 20.0% of the time and "
            "could be 1.25× as fast at most.",
            "In short: At b = 128 one worker trains 1 248 samples/s, more than at any",
            "No larger batch trains measurably faster than b = 128.",
            "Trained is a small convolutional network with Adam on scikit-learn's digits.",
            "the median over three launches",
        ],
        never=["NVML", "Without a number", "raise b to", "assignment's batch", "A step takes"],
    ),
    *(
        Case(
            f"a larger batch waits {side}",
            edits=_batches(where(LARGEST, **around("load_difference_frac", by, width))),
            says=[words],
        )
        for side, by, width, words in (
            (
                "longer",
                0.05,
                0.01,
                "At b = 1024 one worker waits for the loader a larger share of the time, 20.0% "
                "against 20.0%. A larger",
            ),
            ("less", -0.05, 0.01, "At b = 1024 one worker waits for the loader a smaller share of"),
            ("alike", 0.05, 9.0, "20.0% of the time, no measurable difference to 20.0%."),
            ("undecided", NAN, 0.0, "of the time, against 20.0%, each in one launch."),
        )
    ),
    Case(
        "a larger batch spares computing more than loading",
        edits=_batches(
            where(FIRST, compute_frac=0.8, load_frac=0.1),
            where(
                LARGEST,
                compute_frac=0.6,
                **around("load_frac", 0.3),
                **around("load_difference_frac", 0.2),
                **around("samples_per_s", 2496.0),
            ),
        ),
        says=[
            "a larger share of the time, 30.0% against 10.0%: computing an image takes 0.375× "
            "as long as at b = 128, loading it 1.50×. A larger"
        ],
    ),
    Case(
        "a smaller batch than the assignment's",
        edits=_batches(where(FIRST, per_worker_batch=64)),
        says=[
            "The assignment's batch is b = 128, with which the 10 000 images here would make 78 "
            "steps an epoch; b = 64 makes 156."
        ],
        never=["the assignment's 128", "train with it"],
    ),
    Case(
        "a smaller batch than the assignment's, in the other trainings too",
        edits=_batches(where(FIRST, per_worker_batch=64))
        | {"assignment": where(per_worker_batch=64)},
        says=[
            "steps an epoch, 19 with four workers; H2 to H6 train with b = 64, which makes 156 "
            "and 39."
        ],
        never=["which is why"],
    ),
    *(
        Case(
            f"a smaller batch, since the assignment's leaves {workers} workers few steps",
            edits=_batches(where(FIRST, per_worker_batch=64))
            | {
                "assignment": both(
                    where(per_worker_batch=64), where({"workers": 4}, workers=workers)
                )
            },
            says=[
                f"steps an epoch, {left} with {workers} workers, which is why H2 to H6 train with "
                f"b = 64: that makes 156 and {more}."
            ],
        )
        for workers, left, more in ((16, "only 4", 9), (80, "none", 1))
    ),
    Case(
        "a larger batch than the assignment's, in the other trainings too",
        edits=_batches(where(FIRST, per_worker_batch=256))
        | {"assignment": where(per_worker_batch=256)},
        says=["steps an epoch; b = 256 makes 39."],
    ),
    Case(
        "a CPU where a larger batch is faster",
        edits=_batches(_fastest(0.624)),
        says=[
            "Raise b from 128 to 1024: 1 248 samples/s become 2 000, no measurable loss of "
            "accuracy (up to 0.191 points may hide). At b = 1024 loading ahead (not tried) would "
            "gain 1.25× at most. A step",
            "A step takes 103 ms at b = 128 and 512 ms at b = 1024, 4.99× as long "
            "for 8 times the images: part of a step does not grow with its images (Q1 says "
            "what). At b = 1024 one worker waits",
            "b = 1024 trains faster than b = 128, whatever the utilisation says.",
            "In short: Raise b from 128 to 1024: 1 248 samples/s become 2 000, no measurable loss "
            "of accuracy.",
        ],
        never=["gains nothing", "too little to win back"],
    ),
    Case(
        "a CPU where a larger batch is faster, and little is lost to the loader",
        edits=_batches(_fastest(0.624), where(**around("load_frac", 0.01))),
        says=[
            "become 2 000, no measurable loss of accuracy (up to 0.191 points may hide). It waits "
            "for the loader 1.00% of the time. A"
        ],
        never=["oad ahead", "oading ahead", "raise b to", "too little"],
    ),
    Case(
        "the assignment's batch is fast enough, and little is lost to the loader",
        edits=_batches(_between(0.9, 0.2), where(**around("load_frac", 0.01))),
        says=["of its rate. It waits for the loader 1.00% of the time. A"],
    ),
    Case(
        "a CPU where the first batch is the fastest, and little is lost to the loader",
        edits=_batches(where(**around("load_frac", 0.01))),
        says=["more than at any larger batch. It waits for the loader 1.00% of the time, too"],
        never=["oad ahead", "raise b"],
    ),
    Case(
        "the assignment's batch is faster, and none is measurably faster than it",
        edits=_batches(_between(0.9, 0.2)),
        says=[
            "For speed raise b from 64 to the assignment's 128: 1 000 samples/s become 1 800; b = "
            "1024 is not measurably faster: 128 reaches 90.0% (72.0 to 108.0) of its rate. At 128 "
            "loading ahead (not tried) would gain 1.11× at most. A",
            "images here make 78 steps an epoch; b = 64 makes 156. Trained",
            "In short: Take the assignment's b = 128, not 64: 1 000 samples/s become 1 800; b = "
            "1024 is not measurably faster.",
        ],
        never=["not measurably less", "batch reaches", "would make"],
    ),
    Case(
        "the assignment's batch is the fastest",
        edits=_batches(_between(1.0, 0.0), without(per_worker_batch=1024)),
        says=[
            "For speed raise b from 64 to the assignment's 128: 1 000 samples/s become 2 000. At b "
            "= 128 loading"
        ],
        never=["not measurably", "; at the assignment's"],
    ),
    *(
        Case(
            f"the assignment's batch between, {words}",
            edits=_batches(_between(share, width, rate_width)),
            says=[
                "Raise b from 64 to 1024: 1 000 samples/s become 2 000, no measurable loss of "
                "accuracy (up to 0.191 points may hide); the assignment's 128 reaches "
                f"{words}. At b = 1024 loading",
                f"b = 64 makes 156. {slower}",
                "In short: Raise b from 64 to 1024: 1 000 samples/s become 2 000, no measurable "
                "loss of accuracy.",
            ],
            never=[] if "reaches" in slower else ["batch reaches"],
        )
        for share, width, rate_width, words, slower in (
            (
                0.8,
                0.01,
                0.01,
                "80.0% of that",
                "The assignment's batch reaches 80.0% (79.2 to 80.8) of the samples/s of b = 1024. "
                "Trained",
            ),
            # Nor is it measurably faster than the first.
            (0.9, 0.2, 0.6, "90.0% of that (not measurably less)", "Trained"),
            (0.9, NAN, 0.01, "90.0% of that (in one launch)", "Trained"),
        )
    ),
    Case(
        "no measurable difference",
        edits=_batches(_fastest(0.95, 0.1)),
        says=[
            "95.0% of what b = 1024 reaches and not measurably less.",
            "b = 1024 does not train measurably faster than b = 128.",
        ],
        never=["raise b to", "speed raise b"],
    ),
    Case(
        "one launch each",
        edits=_batches(_fastest(0.6), where(FIRST, rate_to_best_ratio_low=NAN)),
        says=[
            "60.0% of what b = 1024 reaches, undecided by one launch.",
            "b = 1024 and b = 128, each of a single launch.",
        ],
        never=["raise b to", "speed raise b"],
    ),
    Case(
        "one batch",
        edits=_batches(only(per_worker_batch=128)),
        says=["one worker trains 1 248 samples/s; no larger batch has a result."],
    ),
    Case(
        "a GPU that a larger batch keeps busier",
        edits=_gpu(0.01),
        says=[
            "The GPU is 50.3% busy at the assignment's b = 128, rising to 95.3% at 1024. Raise b "
            "from 128 to 1024: 1 248 samples/s become 2 000, no measurable loss of accuracy (up to "
            "0.191 points may hide). Its idle time at b = 128 is mostly not the loader's: try "
            "longer kernels. A",
            "In short: The GPU is 50.3% busy at the assignment's b = 128, rising to 95.3% at 1024: "
            "raise b to 1024.",
            "NVML",
        ],
        never=["processor time", "on a CPU", "loading processes", "not tried"],
    ),
    Case(
        "a GPU whose wait for the loader is wide",
        edits=_batches(
            where(
                device="NVIDIA H100 80GB HBM3 (700 W)",
                **around("utilisation_frac", 0.6),
                load_frac=0.22,
                load_frac_low=0.02,
                load_frac_high=0.42,
            )
        ),
        says=["Whether its idle time at b = 128 is mostly the loader's is undecided: try more"],
        never=["mostly not the loader's"],
    ),
    *(
        Case(
            f"a CPU that may wait for its loader, {name}",
            edits=_batches(where(load_frac=0.3, load_frac_low=low, load_frac_high=high)),
            says=["it waits for its loader 30.0% of the time and could be 1.43× as fast at most."],
            never=["too little to win back"],
        )
        for name, low, high in (("or not", 0.04, 0.5), ("in one launch", NAN, NAN))
    ),
    Case(
        "a CPU where no batch is measurably faster than the first",
        edits=_batches(
            where({"per_worker_batch": [512, 1024]}, **around("rate_to_best_ratio", 0.99, 0.1))
        ),
        says=["trains 1 248 samples/s, no larger batch measurably more. Load"],
        never=["more than at any"],
    ),
    Case(
        "a GPU that a larger batch keeps less busy",
        edits=_gpu(0.4, -0.1),
        says=[
            "b = 128, falling to 95.3% at 1024. Raise",
            "Its idle time at b = 128 is mostly the loader's: try more loading processes. A",
            "of it: without that wait they would be at most 1.67× as fast, which was not tried.",
        ],
        never=["longer kernels"],
    ),
    Case(
        "a GPU as busy",
        edits=_gpu(0.4, 0.001, 9.0),
        says=[
            "and 95.3% at 1024, no measurable difference. Raise",
            "and 95.3% at 1024, no measurable difference: raise b to 1024.",
        ],
    ),
    Case(
        "a GPU of one launch",
        edits=_gpu(0.4, NAN),
        says=["and 95.3% at 1024, one launch each. Raise"],
    ),
    Case(
        "a GPU that is always busy",
        edits=_batches(where(device="NVIDIA H1"), where(FIRST, **around("utilisation_frac", 0.98))),
        says=["Little of its time at b = 128 is left to win. At"],
        never=["is idle"],
    ),
    Case(
        "other programs had the core",
        edits=_batches(where(device="CPU core", **around("compute_frac", 0.99))),
        says=[
            "The core was 50.3% to 95.3% busy with this worker, but other programs held it "
            "meanwhile: measure again on a quiet machine. At b = 128 one worker trains 1 248",
            "The worker was 99.0% of the time in its steps and 50.3% on a core at b = 128 and",
        ],
        never=["waits for the loader", "so what counts"],
    ),
    Case(
        "two without a number",
        edits=_batches(where({"per_worker_batch": [512, 1024]}, status="out_of_memory")),
        says=["their outcomes, are b = 512 (out of memory) and b = 1024 (out of memory)."],
    ),
    Case(
        "published",
        says=[
            "Published, and not judged here (other data, digits): utilisation 20% (19.5 to 20.5) "
            "at b = 128 and 54% (53.5 to 54.5) at b = 1024."
        ],
        never=["Published figures, quoted", "Of the published"],
    ),
    Case(
        "published and so here",
        edits={"assignment_published": where(QUOTED, verdict="agrees", reason="")},
        says=["all agree."],
        never=["(other data", "agrees:", "not judged"],
    ),
]


test_what_h1_says = says("H1", CASES)


def test_the_gain_without_a_share_is_one_over_what_is_left() -> None:
    gain = gain_without(Value(value=0.2, unit="fraction", low=0.0, high=0.5))
    assert (gain.value, gain.low, gain.high) == (1.25, 1.0, 2.0)


@pytest.mark.parametrize(
    ("samples", "batches", "steps"),
    [
        (1293, (32, 128), [40, 10]),
        (60, (32, 128), [1, 0]),
        (1293, (128, 128), None),
        (None, (32, 128), None),
    ],
)
def test_steps_of_an_epoch_are_of_full_batches(
    samples: int | None, batches: tuple[int, ...], steps: list[int] | None
) -> None:
    assert steps_of_batches(samples, *batches) == steps
