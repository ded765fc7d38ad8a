"""Q7: what it says of training and of evaluation follows the replicas and the losses."""

import functools
from collections.abc import Sequence

import pandas as pd

from builders import Tables, full_lab
from cases import Case, Edit, around, both, only, says, where, without

NAN = float("nan")
OFF, ON = {"arm": "no_broadcast"}, {"arm": "broadcast"}


def _off(**columns: object) -> dict[str, Edit]:
    return {"replicas": where(OFF, **columns)}


def _on(**columns: object) -> dict[str, Edit]:
    return {"replicas": where(ON, **columns)}


def _at_first(drift: float) -> dict[str, Edit]:
    return {"replicas": where(OFF | {"epoch": 1}, buffer_difference_frac_max=drift)}


def _steps(steps: Edit) -> Tables:
    tables = full_lab()
    return tables | {"steps": steps(tables["steps"])}


def _spreads(off: Sequence[int], on: Sequence[int], images: int | None = 2_000) -> Tables:
    """The lab where each seed's accuracy spreads over so many test images in either arm."""
    tables = full_lab()
    counts = {"replicas-no_broadcast": off, "replicas-baseline": on}
    made = []
    for run, spread in counts.items():
        one = tables["replicas"][lambda rows, run=run: (rows["run"] == run) & (rows["seed"] == 0)]
        for seed, count in enumerate(spread):
            accuracy = 0.85 - one["rank"] * count / 2_000
            made.append(one.assign(seed=seed, test_accuracy_frac=accuracy))
    runs = tables["runs"].assign(test_samples=images if images else pd.NA)
    replicas = pd.concat(made, ignore_index=True).astype(tables["replicas"].dtypes)
    return tables | {"replicas": replicas, "runs": runs.astype(tables["runs"].dtypes)}


def _ends(seconds: float, low: float, high: float) -> dict[str, float]:
    return {"broadcast_s": seconds, "broadcast_s_low": low, "broadcast_s_high": high}


SEVERAL = {"workers": [2, 4]}
WAITS = {"buffer_bytes": 100, "forward_wait_side": "above"}
CASES = [
    *(
        Case(
            f"a forward pass that waits {side}",
            edits={
                "communication": where(broadcast_s=NAN),
                "waiting_phases": both(
                    where(**WAITS, **around("forward_wait_s", wait_s, 0.01)),
                    where({"workers": 2, "per_worker_batch": 32}, forward_wait_s=0.2),
                ),
            },
            says=[words] if words else [],
            never=["eaving it out", *([] if words else ["eaving the broadcast out"])],
        )
        for side, wait_s, words in (
            (
                "where buffers are sent",
                0.1,
                "would save an epoch of two workers 100 ms to 200 ms at most (Q3.1: waiting",
            ),
            ("nowhere", 0.0, None),
        )
    ),
    *(
        Case(
            f"an epoch without the broadcast {name}",
            edits={"waiting_phases": where(**WAITS), "communication": where(SEVERAL, **ends)},
            says=[f"has one result. At b = 32 leaving the broadcast out {words} (Q3.1). The same"],
            never=["which was not timed", "eaving it out"],
        )
        for name, ends, words in (
            (
                "does not measurably differ",
                _ends(0.3, -0.1, 0.4),
                "makes no measurable difference with two workers and with four",
            ),
            (
                "is longer",
                _ends(-0.3, -0.4, -0.2),
                "costs an epoch 300 ms of 3.07 s with two workers and 300 ms of 1.84 s with four",
            ),
            (
                "was timed once",
                _ends(-0.3, NAN, NAN),
                "saves an epoch perhaps −300 ms of 3.07 s with two workers and −300 ms of "
                "1.84 s with four",
            ),
        )
    ),
    *(
        Case(
            f"an epoch without the broadcast is shorter with {workers} workers",
            edits={"communication": where({"workers": workers}, **_ends(0.3, 0.2, 0.4))},
            says=says,
            never=never,
        )
        for workers, says, never in (
            (
                2,
                [
                    "measurably more. Leaving it out saves an epoch 300 ms (200 to 400) at b = "
                    "32, 300 ms at "
                    "512. "
                    "All replicas",
                    "At b = 32 leaving the broadcast out saves an epoch 300 ms (200 to 400) of "
                    "3.07 s with "
                    "two workers; it makes no measurable difference with four workers (Q3.1).",
                ],
                [],
            ),
            (
                4,
                [
                    "two workers; it saves an epoch 300 ms (200 to 400) of 1.84 s with four "
                    "workers (Q3.1)."
                ],
                ["eaving it out"],  # replicas were of two
            ),
        )
    ),
    Case(
        "an epoch without the broadcast is shorter, at batches beside that of the replicas",
        edits={
            "communication": both(
                without(per_worker_batch=32), where(SEVERAL, **_ends(0.3, 0.2, 0.4))
            )
        },
        says=["Leaving it out saves an epoch 300 ms (200 to 400) at b = 128, 300 ms at 512. "],
    ),
    *(
        Case(
            f"an epoch without the broadcast is shorter at the replicas' batch alone: {said}",
            lab=functools.partial(_spreads, [1, 2, 0], [1, 1, 1]),
            edits={
                "communication": both(
                    where({"workers": 2, "per_worker_batch": 32}, **_ends(0.3, 0.2, 0.4)),
                    where({"workers": 2, "per_worker_batch": 512}, **_ends(*ends)),
                )
            },
            says=[f"Leaving it out saves an epoch 300 ms (200 to 400) at b = 32, {said} at 512."],
        )
        for said, ends in (
            ("200 ms", (0.2, 0.1, 0.3)),
            ("nothing measurable", (0.05, -0.1, 0.2)),
            ("costs 200 ms", (-0.2, -0.3, -0.1)),
            ("perhaps 200 ms", (0.2, float("nan"), float("nan"))),
        )
    ),
    Case(
        "an epoch without the broadcast is shorter, but parameters differ",
        edits=_off(parameters_identical=False, parameter_difference_max=0.5)
        | {"communication": where(SEVERAL, **_ends(0.3, 0.2, 0.4))},
        says=["measurably more. Replicas", "leaving the broadcast out saves an epoch 300 ms"],
        never=["eaving it out"],
    ),
    Case(
        "drift and spread",
        says=[
            "Gradients alone are enough for training: without the broadcast of buffers parameters "
            "and losses stay bitwise equal. At the end running statistics differ by "
            "up to 1.00% (0% with it), test accuracy by 1.00 points (0 with it), measurably more. "
            "All "
            "replicas",
            "The same training was run on two workers with and",
            "from the same two seeds.",
            "expected to stay identical, and they do.",
            "All 4 training losses",
            "1.00% without the broadcast and 0% with it, larger without the broadcast in every "
            "seed.",
            "by up to 1.00 percentage points without the broadcast and 0 percentage points",
            "Compared by seed the spread without it is larger (their medians are +1.00 points "
            "apart, interval 1.00 to 1.00; one image is 0.0500). So whose statistics are used "
            "changes what the test finds.",
            "in every seed. Without it that was 1.00% after epoch 1 and is 1.00% after epoch 3: no "
            "measurable growth; a running mean forgets, so it need not grow.",
            "An evaluation takes one set",
            "by seed. not broadcast 0 yes 1.00%",
            "broadcast 1",
            "The drift of running statistics is larger without the broadcast in every seed. Right: "
            "a bar for each seed, from the lowest to the highest test accuracy of the workers.",
            "In short: Gradients alone are enough for training; at the end running statistics "
            "differ by up to 1.00% between workers.",
        ],
        never=["Even with"],
    ),
    Case(
        "the parameters differ",
        edits=_off(parameters_identical=False, parameter_difference_max=0.5),
        says=[
            "Gradients alone are not enough for training: without the broadcast of buffers "
            "parameters differ between workers, by up to 0.500, and the",
            "In short: Gradients alone are not enough for training; at the end",
            "so something else enters the update",
        ],
    ),
    Case(
        "the parameters were not compared",
        edits=_off(parameters_identical=None),
        says=[
            "Whether gradients alone are enough for training is open: without the broadcast of "
            "buffers parameters were not compared, and the training",
            "the same update (Li et al., 2020); these were not compared.",
        ],
    ),
    Case(
        "no drift",
        edits=_off(buffer_difference_frac_max=0.0),
        lab=functools.partial(_spreads, [0, 0], [0, 0]),
        says=[
            "equal. Running statistics stay equal. All",
            "for training; running statistics stay equal.",
            "0% without the broadcast and 0% with it, not clearly changed by the broadcast, since "
            "the ranges over the seeds meet",
            "So whose statistics are used changes no answer of this test set.",
        ],
        never=["An evaluation needs", "measured all the same"],
    ),
    Case(
        "an unequal loss",
        lab=functools.partial(
            _steps, where({"run": "replicas-no_broadcast"}, loss=lambda loss: loss + 0.25)
        ),
        says=[
            "Whether gradients alone are enough for training is open: without the",
            "two workers, and the training loss differs in 4 of 4 steps. At the",
            "so equal losses with and without the broadcast are expected; here the training loss "
            "differs in 4 of 4 steps, by up to 0.250.",
        ],
        never=["bit for bit"],
    ),
    Case(
        "no losses",
        lab=functools.partial(_steps, without(run="replicas-no_broadcast")),
        says=[
            "Whether gradients alone are enough for training is open: without",
            "and the training losses were not recorded. At",
            "expected; here the training losses were not recorded. Each",
        ],
    ),
    Case(
        "drift with the broadcast",
        edits=_on(buffer_difference_frac_max=0.002),
        says=[
            "differ by up to 1.00% (0.200% with it), test",
            "0.200% with it, larger without the broadcast in every seed. Without it",
            "need not grow. Even with the broadcast they differ after the last step",
        ],
    ),
    *(
        Case(
            f"drift {name} from the first epoch to the last",
            edits=_at_first(drift),
            says=[f"after epoch 1 and is 1.00% after epoch 3: {words}."],
            never=["forgets"],
        )
        for name, drift, words in (
            ("grows", 0.005, "so it grows"),
            ("shrinks", 0.02, "so it shrinks"),
        )
    ),
    Case("drift of one epoch", edits={"replicas": only(epoch=3)}, never=["after epoch 3"]),
    Case(
        "more drift with the broadcast",
        edits=_on(buffer_difference_frac_max=0.02),
        says=["2.00% with it, larger with the broadcast in every seed."],
    ),
    Case(
        "drift not measured",
        edits=_off(buffer_difference_frac_max=NAN),
        says=[
            "equal. Running statistics were not compared. All",
            "for training; running statistics were not compared.",
            "A line and a range over the workers for each seed.",
            "The running statistics were not compared with and without the broadcast.",
        ],
        never=["Each worker updates"],
    ),
    Case(
        "images of noise",  # the largest spread is larger, the seeds do not agree
        lab=functools.partial(_spreads, [1, 2, 0], [1, 1, 1]),
        says=[
            ", test accuracy by 0.100 points (0.0500 with it), no measurable difference. All",
            "by up to 0.100 percentage points without the broadcast and 0.0500 percentage points "
            "with it. Compared by seed the spreads do not differ measurably (their medians are 0 "
            "points apart, interval −0.124 to 0.124; one image is 0.0500). So whose "
            "statistics are used matters by up to 0.100 percentage points at the end; whether the "
            "broadcast lessens that is undecided. An",
        ],
        never=["is larger ("],
    ),
    Case(
        "a smaller spread",
        lab=functools.partial(_spreads, [0, 1, 0], [30, 31, 30]),
        says=[
            "Compared by seed the spread without it is smaller (their medians are −1.50 points "
            "apart,",
            ", test accuracy by 0.0500 points (1.55 with it), measurably less. All",
        ],
    ),
    Case(
        "one seed",
        lab=functools.partial(_spreads, [20], [0]),
        edits={"replicas": only(seed=0)},
        says=[
            "from the same seed.",
            ", test accuracy by 1.00 points (0 with it), not compared. All",
            "For want of seeds the spreads are not compared (one image is",
        ],
        never=["after epoch 3"],
    ),
    Case(
        "accuracies with the broadcast not measured",
        edits=_on(test_accuracy_spread_frac=NAN),
        says=["was not measured with and without", "(0% with it). All"],
    ),
    Case(
        "images unknown",
        lab=functools.partial(_spreads, [20, 20], [0, 0], None),
        says=["is larger (their medians are +1.00 points apart, interval 1.00 to 1.00). So"],
        never=["one image"],
    ),
    Case(
        "no replica compared",
        edits={"replicas": without(**OFF)},
        says=["Missing: replicas, no_broadcast: no replica was compared. The"],
    ),
    Case(
        "not trained",
        edits={"accuracy": without(study="replicas", arm="no_broadcast")},
        says=["Missing: replicas, no_broadcast: not run yet. The answer"],
    ),
]


test_what_q7_says = says("Q7", CASES)
