"""E2: what it recommends, blames and says of its own advice follows times, verdicts and limits."""

from collections.abc import Callable
from typing import Any

import pandas as pd

import choose_builders
from builders import Tables, empty_lab, run_row, table, without_runs
from cases import Case, Edit, around, both, only, says, where
from dpscale.derive.columns import as_table
from dpscale.records.quiet import COLUMNS
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of
from dpscale.studies.assignment.derive import TRAINING_COLUMNS
from dpscale.studies.choose.derive.goal import GOAL_COLUMNS


def lab(**options: Any) -> Tables:
    rows = choose_builders.with_search(run_row, **options)
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


def made(**options: Any) -> Callable[[], Tables]:
    return lambda: lab(**options)


def with_buffers() -> Tables:
    tables = lab()
    return tables | {"runs": tables["runs"].assign(buffer_bytes=100)}


def without_buffers() -> Tables:
    tables = lab()
    return tables | {"runs": tables["runs"].assign(buffer_bytes=0)}


def four_missed() -> Tables:
    """Four of the five trainings of the advised cell end before the goal, in each launch."""
    tables = lab()
    trials = tables["trials"]
    of_advised = (trials["learners"] == 1) & (trials["per_learner_batch"] == 64)
    lost = (trials["role"] == "goal") & of_advised & (trials["trial"] < 4)
    status = trials["status"].mask(lost, "incomplete")
    nulls = {name: trials[name].mask(lost) for name in ("wall_s", "steps_to_goal")}
    return tables | {"trials": trials.assign(status=status, **nulls)}


def by_samples(n: int, b: int) -> float:
    """Seconds of a step that are those of its samples alone."""
    return 1e-4 * b


def predicted(workers: int, ratio: float, width: float | None = 0.1) -> Edit:
    """A cell more, of so many workers: predicted in a ratio of the time of the fastest.

    width: of the interval either way, in parts of the ratio; None: without one.
    """

    def edit(rows: pd.DataFrame) -> pd.DataFrame:
        """The table with the cell, judged as the table's own cells are."""
        fastest = rows.loc[rows["time_to_goal_s"].idxmin()]
        ends = (1, 1) if width is None else (1 - width, 1 + width)
        low, high = (None, None) if width is None else [ratio * end for end in ends]
        cell = fastest.to_dict() | {
            "workers": workers,
            "per_worker_batch": 64,
            "global_batch": 64 * workers,
            "predicted": True,
            "on_front": False,
            "best_of_workers": False,
            "to_fastest_ratio": ratio,
            "to_fastest_ratio_low": low,
            "to_fastest_ratio_high": high,
            "to_fastest": None,
            **{
                f"time_to_goal_s{end}": fastest[f"time_to_goal_s{end}"] * ratio
                for end in ("", "_low", "_high")
            },
        }
        return pd.concat([rows, as_table([cell], GOAL_COLUMNS)], ignore_index=True)

    return edit


def beside(**runs: list[str]) -> Edit:
    """The machine was so quiet while these ran, by quietness."""
    found = [{"run": run, "quietness": kind} for kind, own in runs.items() for run in own]
    return lambda rows: as_table(found, COLUMNS)


def started(startup_s: float) -> Edit:
    """H3 started one worker in so many seconds."""
    row = {"workers": 1, "rule": "linear", "startup_s": startup_s}
    return lambda rows: as_table([row], TRAINING_COLUMNS)


def a_launch_apart() -> Tables:
    """Four workers are fastest with b = 256; of its launches one is faster by half, one slower."""
    tables = lab(
        step_s=lambda n, b: by_samples(n, b) + 2e-4, **SILENT, **MANY, limits={"deadline_s": 90.0}
    )
    grid = tables["grid"]
    best = grid["run"].str.startswith("choose-n4") & (grid["per_worker_batch"] == 256)
    apart = {1: 0.98, 2: 0.49, 3: 1.47}
    factor = grid["run"].str.extract(r"launch(\d)")[0].fillna("1").astype(int).map(apart)
    return tables | {"grid": grid.assign(step_s=grid["step_s"].mask(best, grid["step_s"] * factor))}


def equal_losses() -> Tables:
    """From one to two workers sharing, communication and larger batches cost 1.4 or so each."""
    return lab(
        step_s=lambda n, b: choose_builders.compute_s(n, b) * (1 if n == 1 else 1.4**2),
        silent_s=lambda n, b: choose_builders.compute_s(n, b) * (1 if n == 1 else 1.4),
        b_crit=96.0,
    )


NAN = float("nan")
SILENT = {"silent_s": by_samples}
BOUND = {"step_s": by_samples} | SILENT
MANY = {"b_crit": 1e5}
TRAINED_LONGER = {"goal_trainings": where({"workers": [2, 4]}, **around("to_advised_ratio", 1.5))}
TOO_SHORT = where(
    {"workers": 1, "next_workers": 2},
    too_short=True,
    shared_s=0.008,
    silent_s=0.009,
    sent_s=0.02,
    added_s=0.02,
    paying_step_s=0.04,
    nearest_batch=128.0,
)
CASES = [
    Case(
        "the cheapest of what is not told apart",
        lab=lab,
        says=[
            "Take one worker with B = 64: trained, it reached 4% validation error in 194 ms, 85.0 "
            "steps of 2.28 ms (predicted: 194 ms), by prediction not measurably behind the "
            "soonest, and cheaper. More workers are not measurably faster: two take 1.30× as long "
            "to the goal (trained 1.30×), mostly by communication, four about 0.950× (0.950×). The",
            "More workers than one are not measurably faster, by prediction. Times are steps times "
            "seconds of a step. Darker",
            "Perfect sharing would leave the worker-seconds (predicted time to the goal times "
            "workers) the same; two workers spend 2.61× those of one. That is a product: with the "
            "same batch a worker 1.88× for communication and 1.39× for the samples that larger "
            "batches add. ",
            "the next number's own best batch. 1 2 2.61× (2.19 to 3.10) the same batch a worker "
            "1.39× (1.17 to 1.65) 1.00× 1.00× (0.97 to 1.03) 1.88× (1.82 to 1.93) 1.00× 2 4 1.46×",
            "Trained, the advised setting took 85.0 steps of 2.28 ms; predicted were 85.0 of 2.28",
            "Five other settings were trained with the same seeds and compared with the advised "
            "one, at 95% for all together:",
            "The goal is a validation error of 4.00% of the network of one hidden layer with "
            "Nesterov momentum",
            "By the predictions the cheapest, one worker with B = 64, takes 194 ms of workers' "
            "time, where the fastest takes",
            "Each verdict is at 95%: if all were alike, chance would set about 0.4 of the eight "
            "cells apart from the fastest, and decide about 0.15 of the three comparisons of two",
        ],
        never=["misses", "the price", "hatched"],
    ),
    Case(
        "one worker is best",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        says=[
            "Take one worker with B = 256: trained, it reached 4% validation error in 430 ms, "
            "43.0 steps of 10.0 ms (predicted: 430 ms), no other measurably sooner"
        ],
        never=["The cheapest, one"],
    ),
    Case(
        "one worker is best, and one other setting was trained",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={"goal_trainings": only(workers=1)},
        says=[
            "), no other measurably sooner. A second worker does not pay: predicted, two take "
            "1.77× as long, mostly by DDP's wrapper and contention, four 3.07×. The",
            "More workers than one take longer to the goal, by prediction. Times",
        ],
    ),
    *(
        Case(
            f"one worker is best, and as good {name}",
            lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
            edits={"time_to_goal": edit},
            says=["; by prediction B = 64 to 256 are not measurably slower. A second", *says],
            never=never,
        )
        for name, edit, says, never in (
            (
                "are other batches",
                where({"workers": 1, "global_batch": 64}, to_fastest="indistinct"),
                [],
                ["No measurable difference from"],
            ),
            (
                "are other batches and two workers",
                where({"workers": [1, 2], "per_worker_batch": 64}, to_fastest="indistinct"),
                ["No measurable difference from the fastest: one worker with B = 64; two w"],
                [],
            ),
        )
    ),
    Case(
        "more workers pay up to two",
        lab=made(step_s=lambda n, b: by_samples(n, b) * (9 if n == 4 else 1), **SILENT, **MANY),
        says=[
            "Take two workers with B = 32 or 128: trained to 4% validation error in 153 s "
            "(predicted: 153 s) and 153 s (predicted: 153 s), no measurable difference. More "
            "workers than two do not pay: trained, four take at best 4.32× as long, mostly by "
            "communication. T"
        ],
    ),
    *(
        Case(
            f"starting a worker takes {startup_s:g} s",
            lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
            edits={"assignment": started(startup_s)},
            says=says,
            never=never,
        )
        for startup_s, says, never in (
            (50.0, ["; start-up apart), no other measurably", "Starting the processes, 50"], []),
            (
                0.5,
                ["Starting the processes, 500 ms with one worker in H3, is in none of these"],
                ["start-up,"],
            ),
        )
    ),
    Case(
        "one worker is best, and two were sooner with the batch that is not their best by steps",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "goal_trainings": where(
                {"workers": 2, "global_batch": 512}, **around("to_advised_ratio", 3.0)
            )
        },
        says=[
            "A second worker does not pay: trained, two take at best 2.74× as long, mostly by "
            "DDP's wrapper and contention, four 3.07×. The goal"
        ],
        never=["sending alone"],  # of four workers
    ),
    Case(
        "one worker is best, and what two send takes longer than they save",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={"doublings": both(TOO_SHORT, where(blame=None))},
        says=[
            "trained, two take at best 1.77× as long, four 3.07×; with B "
            "= 128 sending alone takes 20.0 ms, a step of one worker 8.00 ms. The goal"
        ],
    ),
    Case(
        "one worker is best, and another setting could not be compared",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={"goal_trainings": where({"workers": 4}, to_advised_ratio_low=NAN)},
        says=[
            "), by prediction the soonest and the cheapest timed. A second worker does not pay: "
            "predicted, two take 1.77× as long (trained 1.77×), mostly by DDP's wrapper and "
            "contention, four 3.07×. T"
        ],
        never=["measurably sooner."],
    ),
    Case(
        "one worker is best, another number as fast when trained, and a third not compared",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "goal_trainings": both(
                where({"workers": 2}, **around("to_advised_ratio", 0.98, 0.05)),
                where({"workers": 4}, to_advised_ratio_low=NAN),
            )
        },
        says=["; trained, two did not take measurably longer; for four that is undecided."],
        never=["does not pay", "mostly by DDP"],
    ),
    Case(
        "where cost decides, more workers take longer by prediction alone",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples, limits={"aim": "cost"}),
        says=["More workers than one take longer: predicted, two take 1.77× as long, mostly"],
        never=["does not pay"],
    ),
    Case(
        "steps are to blame",
        lab=made(**BOUND, b_crit=0.01),
        edits={"doublings": where(pays="above"), **TRAINED_LONGER},
        says=["Take one worker with B = 16", "mostly by the samples that larger batches add"],
        never=["more of them pay"],
    ),
    Case(
        "slowed side by side",
        lab=made(
            step_s=lambda n, b: by_samples(n, b) * n**2,
            silent_s=lambda n, b: by_samples(n, b) * n**2,
            **MANY,
        ),
        says=[
            "A second worker does not pay: trained, two take at best 2.08× as long, mostly by "
            "DDP's wrapper and contention, four 4.00×.",
            "4.00× for DDP's wrapper and workers that slow each other down (not separated) and "
            "1.04× for the samples that larger batches add.",
            "DDP that sends nothing was timed too: its steps show what workers lose side by side. "
            "Beside one worker, who trains without DDP, this loss holds DDP's wrapper too. What a "
            "step takes longer when it sends is called communication.",
        ],
    ),
    Case(
        "small batches are to blame",
        lab=lab,
        edits={"doublings": where(blame="batch", pays="above"), **TRAINED_LONGER},
        says=["mostly by steps of fewer samples a worker"],
    ),
    Case(
        "what is sent takes longer than what is saved",
        lab=made(
            step_s=lambda n, b: by_samples(n, b) + (1.0 if n > 1 else 0),
            silent_s=by_samples,
            b_crit=120.0,
        ),
        says=[
            "At no B that both ran are four workers sooner than one worker; they come nearest "
            "at B = 256: a step takes one worker 25.6 ms; four workers compute for 6.40 ms and "
            "send for 1.00 s more. That is 1.00 s more than an even share of that step: adding as "
            "much to a longer one, they would be sooner where it takes one 1.33 s or more."
        ],
    ),
    Case(
        "what is sent takes less than what is saved",
        lab=made(
            step_s=lambda n, b: by_samples(n, b) + (1e-4 if n > 1 else 0),
            silent_s=by_samples,
            b_crit=120.0,
        ),
        never=["cannot pay"],
    ),
    Case(
        "not told to be faster",
        lab=lab,
        edits={"doublings": where(pays="indistinct")},
        says=[
            "workers are not measurably faster: two take about 1.30× as long to the goal (trained "
            "1.30×), four about 0.950× (0.950×)."
        ],
        never=["mostly by"],
    ),
    Case(
        "the most are the fastest, those between are not",
        lab=made(step_s=lambda n, b: by_samples(n, b) * (3 if n == 2 else 1), **SILENT, **MANY),
        says=["The 4 workers, the most measured, are the fastest: two take 1.56× as long to"],
        never=["More workers pay", "measurably faster"],
    ),
    Case(
        "the step is compared at the same global batch",
        lab=made(**BOUND, **MANY),
        edits={"doublings": where(footing="global_batch", retuned_ratio=0.48)},
        says=[
            "the same; two workers spend 1.04× those of one. That is a product: with "
            "the same global batch (B = 16) 1.04× for the samples that larger batches add; for "
            "their best batch, B = 32, 0.480×."
        ],
    ),
    Case(
        "one loss alone",
        lab=made(**BOUND, **MANY),
        edits={"doublings": where(footing="global_batch", retuned_ratio=1.0)},
        says=[
            "two workers spend 1.04× those of one. All of that is, with the same global batch (B = "
            "16), for the samples that larger batches add. "
        ],
        never=["a product"],
    ),
    Case(
        "trainings confirm one of the numbers of workers that are predicted to take longer",
        lab=lab,
        edits={
            "doublings": where(pays="above"),
            "goal_trainings": where({"workers": 4}, **around("to_advised_ratio", 0.99, 0.5)),
        },
        says=[
            "Predicted, two take 1.30× as long to the goal and four 0.950×; trained, two took "
            "1.30× to 1.59×; for four that is undecided."
        ],
        never=["mostly by", "No B from", "with B = 256, the cheapest too"],
    ),
    Case(
        "trainings confirm none of them, and other batches do as well",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "goal_trainings": where({"workers": [2, 4]}, **around("to_advised_ratio", 0.99, 0.5)),
            "time_to_goal": where({"workers": 1, "global_batch": [64]}, to_fastest="indistinct"),
        },
        says=[
            "the cheapest too: trained, it reached",
            "trained, two and four did not take measurably longer. No B from 64 to 256 is "
            "predicted measurably slower.",
        ],
    ),
    Case(
        "trainings confirm a part, and why is known",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "doublings": TOO_SHORT,
            "goal_trainings": where({"workers": 2}, **around("to_advised_ratio", 1.2, 0.7)),
        },
        says=[
            "Take one worker with B = 256: trained, it reached 4% validation error in 430 ms",
            "With B = 128 a step takes one worker 8.00 ms, but sending alone takes two 20.0 ms. "
            "Trained, "
            "four took 3.07× to 4.00× as long; for two that is undecided.",
            "At B = 128, where they come nearest, a step takes one worker 8.00 ms; two workers "
            "compute for 9.00 ms and send for 20.0 ms more. That is 20.0 ms more than an even "
            "share of that step: "
            "adding as much to a longer one, they would be sooner where it takes one 40.0 ms or "
            "more.",
        ],
        never=["No B from", "predicted alike"],
    ),
    Case(
        "trainings confirm a part, why is known, and other batches do as well",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "doublings": TOO_SHORT,
            "goal_trainings": where({"workers": 2}, **around("to_advised_ratio", 1.2, 0.7)),
            "time_to_goal": where({"workers": 1, "global_batch": [64]}, to_fastest="indistinct"),
        },
        says=["Take one worker with B = 256: trained, it reached 4% validation error in 430 ms"],
    ),
    *(
        Case(
            f"trainings confirm a part, why is known, and one other batch is {alike}",
            lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
            edits={
                "doublings": TOO_SHORT,
                "goal_trainings": both(
                    where({"workers": 2}, **around("to_advised_ratio", 1.2, 0.7)),
                    where({"workers": 1}, **around("to_advised_ratio", 1.0, 0.1)),
                    where({"workers": 1}, **around("measured_s", 0.43, 0.1)),
                    where({"workers": 1, "advised": False}, **around("measured_s", other_s, 0.1)),
                ),
                "time_to_goal": where(
                    {"workers": 1, "global_batch": [64]}, to_fastest="indistinct"
                ),
                "assignment": started(5.0),
            },
            says=[f"{says} (start-up apart). With B = 128 a step takes one", short],
        )
        for alike, other_s, says, short in (
            (
                "as soon",
                0.43,
                "trained, each reached 4% validation error in 430 ms",
                ": 430 ms to 4% validation error when trained.",
            ),
            (
                "nearly as soon",
                0.44,
                "trained, they reached 4% validation error in 430 ms and 440 ms",
                ": 430 ms or 440 ms to 4% validation error when trained.",
            ),
        )
    ),
    Case(
        "trainings confirm a part, why is known, and one other batch is as soon but for a seed",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "doublings": TOO_SHORT,
            "goal_trainings": both(
                where({"workers": 2}, **around("to_advised_ratio", 1.2, 0.7)),
                where({"workers": 1}, **around("to_advised_ratio", 1.0, 0.1)),
                where({"workers": 1, "advised": False}, reached=2),
            ),
            "time_to_goal": where({"workers": 1, "global_batch": [64]}, to_fastest="indistinct"),
        },
        says=[
            "Take one worker with B = 256: trained, it reached",
            "In short: Take one worker with B = 256: ",
        ],
        never=["each reached", "B = 256 or 64"],
    ),
    Case(
        "trainings confirm a part, and a step is longer than sending",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "doublings": both(TOO_SHORT, where({"workers": 1}, sent_s=0.005)),
            "goal_trainings": where({"workers": 2}, **around("to_advised_ratio", 1.2, 0.7)),
        },
        says=[
            "Take one worker with B = 256: trained",
            "Predicted, two gain at no B that both ran: with B = 128 sending takes 5.00 ms, "
            "a step of one 8.00 ms. Trained, four took 3.07×",
        ],
        never=["too short to share"],
    ),
    *(
        Case(
            f"predictions: {words}",
            lab=lab,
            edits={"goal_trainings": both(*edits)},
            says=["were 85.0 of 2.28 ms.", f"{words}. The network"],
        )
        for words, *edits in (
            ("All six predicted times hold within a factor of 2", where()),
            ("All six predicted times are off by more", where(holds="no")),
            (
                "Of six predicted times four hold within a factor of 3, one is off by more and one "
                "is undecided",
                where(prediction_factor=3.0),
                where({"workers": 2, "global_batch": 512}, holds="no"),
                where({"workers": 4, "global_batch": 256}, holds="undecided"),
            ),
        )
    ),
    Case(
        "one prediction, and none",
        lab=lab,
        edits={
            "goal_trainings": both(where(holds=None), where({"advised": True}, holds="undecided"))
        },
        says=["of 2.28 ms.", "The predicted time is undecided. The network"],
    ),
    Case(
        "more workers than those advised were trained, and took longer",
        lab=made(**BOUND, **MANY),
        edits={
            "advice": where({"role": "recommended"}, workers=2, per_worker_batch=64),
            "goal_trainings": both(
                where({"workers": 1}, **around("to_advised_ratio", 2.0)),
                where({"workers": 4}, **around("to_advised_ratio", 1.3, 0.05)),
            ),
        },
        says=[
            "Predicted, more workers than one pay",
            "; trained, four workers took 1.30× as long.",
        ],
    ),
    Case(
        "with one batch two and four workers took longer, with the other not",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        edits={
            "goal_trainings": both(
                where({"workers": [2, 4]}, **around("to_advised_ratio", 1.05, 0.1)),
                where({"workers": 2, "global_batch": 128}, **around("to_advised_ratio", 1.6, 0.1)),
            )
        },
        says=[
            "trained, two took 1.60× with B = 128, 1.05× with 512 (not measurably longer); four "
            "did not take measurably longer."
        ],
    ),
    *(
        Case(
            f"trained with one batch two workers took longer, with the other {name}",
            lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
            edits={
                "goal_trainings": both(
                    where({"workers": 2}, **around("to_advised_ratio", ratio, width)),
                    where(
                        {"workers": 2, "global_batch": 128}, **around("to_advised_ratio", 2.0, 0.1)
                    ),
                )
            },
            says=[f"four took 3.07× to 4.00×; two took 2.00× with B = 128{words}."],
        )
        for name, ratio, width, words in (
            ("that is undecided", 1.2, 0.7, ", 1.20× with 512 (undecided)"),
            ("did not", 1.0, 0.1, ", 1.00× with 512 (not measurably longer)"),
        )
    ),
    *(
        Case(
            f"two workers were trained with B = 128 in {seconds} s and with 512 in 2 s",
            lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
            edits={
                "goal_trainings": both(
                    where({"workers": 2}, measured_s=2.0, predicted_s=2.0),
                    where({"workers": 2, "global_batch": 128}, measured_s=seconds, predicted_s=2.5),
                )
            },
            says=says,
            never=never,
        )
        for seconds, says, never in (
            (
                1.5,
                [
                    "Two workers are the soonest with B = 512 by prediction; trained, by the "
                    "medians, with 128 (1.50 s, not 2.00 s)."
                ],
                [],
            ),
            (2.5, ["All six"], ["Two workers are the soonest"]),
            (1.85, ["All six"], ["Two workers are the soonest"]),
        )
    ),
    Case(
        "not known to be faster",
        lab=lab,
        edits={"doublings": where(pays="unknown")},
        says=["two take perhaps 1.30× as long to the goal (trained 1.30×), four perhaps 0.950×"],
    ),
    Case(
        "the deadline is missed",
        lab=made(limits={"deadline_s": 0.01}),
        says=[
            "Nothing that was trained keeps to the limits: four workers with B = 256, the choice "
            "by prediction, took 184 ms to 4% validation error, 19.1× the deadline (upper ends "
            "decide).",
            "In short: Nothing keeps to the limits: four workers with B = 256 takes up to 19.1× "
            "the deadline, trained.",
        ],
        never=["Take"],
    ),
    Case(
        "the deadline is missed, and nothing was trained",
        lab=made(limits={"deadline_s": 0.01}),
        edits={"goal_trainings": where(measured_s=NAN, status="unavailable", obeys=False)},
        says=[
            "Nothing measured keeps to the limits: four workers with B = 256 comes nearest, at "
            "20.8× the deadline (upper ends decide)."
        ],
        never=["Take"],
    ),
    Case(
        "the deadline is kept by prediction, and missed by all trainings",
        lab=made(trained_ratio=lambda n, b: 5.0, limits={"deadline_s": 0.3}),
        says=[
            "Nothing that was trained keeps to the limits: one worker with B = 64, the choice by "
            "prediction, took 969 ms to 4% validation error, 3.35× the deadline",
            "In short: Nothing keeps to the limits: one worker with B = 64 takes up to 3.35×",
        ],
        never=["Take", "the soonest", "within the limits"],
    ),
    Case(
        "the deadline is missed by little by prediction, by far by all trainings",
        lab=made(trained_ratio=lambda n, b: 5.0, limits={"deadline_s": 0.19}),
        says=["B = 256, the choice by prediction, took 920 ms to 4% validation error, 5.03× the"],
        never=["Take", "1.09×"],
    ),
    Case(
        "seeds of the advised one missed the goal, and no other does better",
        lab=lab,
        edits={
            "goal_trainings": where(
                {"advised": True}, reached=3, measured_s_high=NAN, ratio_high=NAN, against="unknown"
            )
        },
        says=["85.0 steps of 2.28 ms (two of five seeds missed it), by prediction not"],
    ),
    *(
        Case(
            f"more workers pay by prediction, and trained {name}",
            lab=made(**BOUND, **MANY),
            edits={"goal_trainings": where({"workers": 1}, **edit)},
            says=[words],
            never=never,
        )
        for name, edit, words, never in (
            (
                "too",
                around("to_advised_ratio", 3.0),
                "no measurable difference. More workers than one pay, up to the 4 measured: two",
                ["Predicted, more", "; trained"],
            ),
            (
                "one is as soon",
                around("to_advised_ratio", 1.02, 0.1),
                "Predicted, more workers than one pay, up to the 4 measured: two take 0.520× as "
                "long to the goal, four 0.250×; trained, one worker took 1.02× as long, undecided.",
                [],
            ),
            (
                "one is sooner, beyond a limit",
                around("to_advised_ratio", 0.8, 0.1) | {"obeys": False},
                "four 0.250×; trained, one worker took 0.800× as long.",
                [],
            ),
            (
                "one could not be compared",
                dict.fromkeys(("to_advised_ratio", "to_advised_ratio_low"), NAN),
                "four 0.250×; trained, one worker cannot be compared.",
                [],
            ),
        )
    ),
    Case(
        "the budget is missed",
        lab=made(limits={"worker_hours": 1e-6}),
        says=["took 194 ms to 4% validation error, 55.8× the budget of worker-hours (upper ends"],
    ),
    Case(
        "the memory is missed",
        lab=made(limits={"memory_bytes": 2_000_000}),
        edits={
            name: where(misses="memory", obeys=False, excess_ratio=1.5)
            for name in ("advice", "goal_trainings")
        },
        says=["1.50× the memory of a worker (upper ends decide)."],
    ),
    Case(
        "limits decide",
        lab=made(**BOUND, **MANY, limits={"deadline_s": 1e9}),
        says=[
            "Take four workers with B = 64 or 256: trained to 4% validation error in 73.5 s "
            "(predicted: 73.5 s) and 73.7 s (predicted: 73.7 s), no measurable difference.",
            "In short: Take four workers with B = 64 or 256: 73.5 s or 73.7 s to 4% validation "
            "error when trained.",
        ],
        never=["the soonest"],
    ),
    Case(
        "two batches do as well, of which one took longer than predicted; starting takes long",
        lab=made(**BOUND, **MANY),
        edits={
            "goal_trainings": where(
                {"workers": 4, "global_batch": 256}, **around("ratio", 3.0), found="above"
            ),
            "assignment": started(5000.0),
        },
        says=[
            "Take four workers with B = 64 or 256: trained to 4% validation error in 73.5 s "
            "(predicted: 73.5 s; start-up apart) and 73.7 s (longer than the 73.7 s predicted), no "
            "measurable difference. More"
        ],
    ),
    Case(
        "cheaper than the soonest within the limits",
        lab=made(**BOUND, **MANY, limits={"deadline_s": 1e9}),
        edits={"advice": where({"role": "recommended"}, chosen_as="alike")},
        says=["not measurably behind the soonest within the limits, and cheaper."],
    ),
    Case(
        "the cheapest is chosen",
        lab=made(limits={"aim": "cost"}),
        says=[
            "Take one worker with B = 64: trained, it reached 4% validation "
            "error in 194 ms, 85.0 steps of 2.28 ms (predicted: 194 ms), no other "
            "measurably cheaper.",
            "at 95% for all together: five took more workers' time.",
        ],
    ),
    Case(
        "sooner than the cheapest",
        lab=made(**BOUND, **MANY, limits={"aim": "cost"}),
        edits={"advice": where({"role": "recommended"}, chosen_as="alike")},
        says=["not measurably dearer than the cheapest, and sooner."],
    ),
    Case(
        "a trained rival is faster",
        lab=made(trained_ratio=lambda n, b: 0.5 if n == 2 else 1.0),
        says=[
            "at 95% for all together: two took more time, two took less time and one (four "
            "workers with B = 256, 184 ms) showed no measurable difference.",
            "Take two workers with B = 128: trained, it took 126 ms to 4% validation error, 0.651× "
            "the time of one worker with B = 64, which the steps and the seconds of a step had "
            "advised.",
            "In short: Take two workers with B = 128: 126 ms",
            "0.651× (0.585 to 0.750)",
        ],
        never=["ake one worker"],
    ),
    Case(
        "the advised took three times as long, its rivals a fifth",
        lab=made(trained_ratio=lambda n, b: 3.0 if n == 1 else 0.2),
        says=[
            "Take four workers with B = 256 (a step takes one worker 6.12 ms): trained, it took "
            "36.8 ms to 4% validation error, 0.0633× the time of one worker with B = 64, which the "
            "steps and the seconds of a step had advised."
        ],
        never=["ake one worker"],
    ),
    Case(
        "two numbers of workers have no batch in common",
        lab=lab,
        edits={
            "doublings": where(
                footing=None,
                **dict.fromkeys(
                    [
                        f"{name}_ratio"
                        for name in ("batch", "sharing", "communication", "samples", "retuned")
                    ],
                    float("nan"),
                ),
            )
        },
        says=["Take one worker with B = 64: trained"],
        never=["Perfect sharing", "a product"],
    ),
    Case(
        "the soonest and cheapest by prediction was slow when trained, its rivals were not",
        lab=made(
            step_s=lambda n, b: 0.01 * n,
            silent_s=by_samples,
            trained_ratio=lambda n, b: 3.0 if n == 1 else 0.2,
        ),
        says=[
            "which the steps and the seconds of a step had advised.",
            "By the predictions one worker with B = 256 is the cheapest too (",
            "trained with the same seeds and compared with one worker with B = 256, at 95% for",
        ],
        never=["The advised setting is", "longer steps to show", "no other setting trades"],
    ),
    Case(
        "four of five seeds of the advised one missed the goal",
        lab=four_missed,
        says=[
            "Take four workers with B = 256 (a step takes one worker 6.12 ms): trained, it took "
            "184 ms to 4% validation error; one worker with B = 64, which the steps and the "
            "seconds of a step had advised, missed it with 4 of 5 seeds."
        ],
    ),
    Case(
        "a rival's trainings are faster in the table",
        lab=lab,
        edits={
            "goal_trainings": where(
                {"workers": 2, "global_batch": 128},
                **around("measured_s", 0.097),
                **around("to_advised_ratio", 0.5),
            )
        },
        says=[
            "Take two workers with B = 128: trained, it took 97.0 ms to 4% validation error, "
            "0.500× the time of one worker with B = 64, which the steps and the seconds of a step "
            "had advised."
        ],
    ),
    Case(
        "a rival's trainings are slower in the table",
        lab=made(trained_ratio=lambda n, b: 0.5 if n == 2 else 1.0),
        edits={"goal_trainings": where({"workers": 2}, **around("to_advised_ratio", 1.5))},
        says=["Take one worker with B = 64: trained, it reached"],
    ),
    Case(
        "a deadline that the second batch keeps and the best may miss",
        lab=a_launch_apart,
        says=[
            "with B = 256 (a step takes one worker 25.8 ms): trained, it reached 4% validation "
            "error in 76.0 s (predicted: 76.0 s), no other measurably sooner"
        ],
    ),
    Case(
        "trainings keep a deadline that steps and seconds of a step may miss",
        lab=made(limits={"deadline_s": 0.2}),
        says=[
            "Take four workers with B = 256 (a step takes one worker 6.12 ms): trained, it took "
            "184 ms to 4% validation error, within the limits; by prediction it might have missed "
            "the deadline by 1.04×.",
            "In short: Take four workers with B = 256: 184 ms to 4% validation error when trained.",
        ],
        never=["Nothing measured"],
    ),
    Case(
        "losses that are equal have no cause",
        lab=equal_losses,
        says=[
            "two take 1.43× as long to the goal (trained 1.43×), four",
            "1.46× for the samples that larger batches add, 1.40× for DDP's wrapper and workers "
            "that slow each other down (not separated) and 1.40× for communication. ",
        ],
        never=["mostly by"],
    ),
    Case(
        "a trained rival is cheaper",
        lab=made(trained_ratio=lambda n, b: 0.3 if n == 2 else 1.0, limits={"aim": "cost"}),
        says=["Take two workers with B = 128", "the workers' time of one worker with B = 64"],
    ),
    Case(
        "a faster rival that costs more is none where cost decides",
        lab=made(trained_ratio=lambda n, b: 0.6 if n == 2 else 1.0, limits={"aim": "cost"}),
        says=["in 194 ms, 85.0 steps of 2.28 ms (predicted: 194 ms), no other measurably cheaper"],
        never=["had advised"],
    ),
    Case(
        "the advised one misses the deadline when it is trained",
        lab=made(
            trained_ratio=lambda n, b: 1.3 if n == 1 else 1.0,
            limits={"deadline_s": 0.23, "aim": "cost"},
        ),
        says=[
            "Take four workers with B = 256 (a step takes one worker 6.12 ms): trained, it took "
            "184 ms",
            "one worker with B = 64, which the steps and the seconds of a step had advised, missed "
            "the deadline by 1.14× (upper ends decide).",
        ],
    ),
    Case(
        "memory that was not measured keeps to no limit",
        lab=made(limits={"memory_bytes": 2_000_000}),
        edits={
            name: where(misses="memory", obeys=False, excess_ratio=None)
            for name in ("advice", "goal_trainings")
        },
        says=[
            "Nothing is known to keep to the limits: of one worker with B = 64 (194 ms to 4% "
            "validation error) the memory of a worker cannot be judged.",
            "In short: Nothing is known to keep to the limits: of one worker with B = 64 (194",
        ],
        never=["least", "by not measured"],
    ),
    Case(
        "it takes longer than predicted",
        lab=made(trained_ratio=lambda n, b: 3.0),
        says=[
            "in 581 ms, 85.0 steps of 6.84 ms (longer than the 194 ms predicted), by "
            "prediction not measurably behind"
        ],
    ),
    Case(
        "it takes less than predicted",
        lab=made(trained_ratio=lambda n, b: 0.3),
        says=[
            "in 58.1 ms, 85.0 steps of 684 µs (sooner than the 194 ms predicted), by "
            "prediction not measurably behind"
        ],
    ),
    Case(
        "without an interval of the check",
        lab=lab,
        edits={
            "goal_trainings": where(
                ratio_low=NAN, ratio_high=NAN, to_advised_ratio_low=NAN, holds=None
            )
        },
        says=[
            "in 194 ms, 85.0 steps of 2.28 ms (predicted: 194 ms, not comparable), by "
            "prediction not measurably behind",
            "at 95% for all together: five could not be compared.",
        ],
    ),
    Case(
        "the check did not reach the goal",
        lab=lab,
        edits={"goal_trainings": where(measured_s=NAN, reached=0)},
        says=[
            "One worker with B = 64, by prediction the soonest (194 ms to 4% validation error), "
            "missed the goal when trained, with 5 of 5 seeds, and no setting that was trained "
            "stands in for it: take none of them yet.",
            "In short: No advice stands: trained, one worker with B = 64,",
        ],
        never=["was trained to the goal with", "It was not checked", "Take one", "as long to the"],
    ),
    Case(
        "there was nothing to train",
        lab=lab,
        edits={"goal_trainings": where(measured_s=NAN, status="unavailable")},
        says=["nothing to train"],
    ),
    Case(
        "the best of other numbers without an interval",
        lab=lab,
        edits={"time_to_goal": where({"workers": [1, 2]}, to_fastest="unknown")},
        says=[") no interval"],
        never=[") no measurable difference"],
    ),
    Case(
        "longer than the fastest",
        lab=made(step_s=lambda n, b: 0.01 * n, silent_s=by_samples),
        says=[") longer"],
    ),
    Case(
        "some seeds did not reach it",
        lab=lab,
        edits={"goal_trainings": where({"workers": 4, "global_batch": 256}, reached=3)},
        says=["Four workers with B = 256: 2 of 5 seeds did not reach the goal, and count as"],
    ),
    Case(
        "other cells are as fast",
        lab=lab,
        edits={
            "time_to_goal": where({"workers": 2, "per_worker_batch": 64}, to_fastest="indistinct")
        },
        says=["No measurable difference from the fastest: two workers with B = 128."],
    ),
    Case("batch normalisation", lab=with_buffers, says=["The network has buffers, such as"]),
    Case(
        "the luck of the search is known", lab=lab, says=["and the luck of the search, by how the"]
    ),
    Case(
        "the luck of the search is unknown",
        lab=lab,
        edits={"steps_to_goal": where(searched_steps_low=NAN)},
        says=["and not the luck of the search, which fewer than three batch sizes do not show"],
    ),
    Case("no batch normalisation", lab=without_buffers, never=["The network has buffers"]),
    Case(
        "launches beside others",
        lab=lab,
        edits={
            "quiet": beside(
                disturbed=["choose-goal-n2"],
                unknown=["choose-goal-n1", "choose-goal-n1-launch2", "choose-n1"],
                quiet=["choose-goal-n1-launch3"],
            )
        },
        says=[
            "Of the 18 launches that were trained, one (one of two workers with B = 128) ran "
            "beside other programs; two (two of one worker with B = 64) may have run beside other "
            "programs, which is not known."
        ],
    ),
    Case(
        "all launches of the advised setting and one that timed steps beside others",
        lab=lab,
        edits={
            "quiet": beside(
                disturbed=["choose-n1-launch2"],
                unknown=["choose-goal-n1", "choose-goal-n1-launch2", "choose-goal-n1-launch3"],
            )
        },
        says=[
            "Other programs ran beside one of the nine launches that timed steps. Of the 18 "
            "launches that were trained, three (three of one worker with B = 64) may have run "
            "beside other programs, which is not known."
        ],
    ),
    Case(
        "launches of which nothing was seen",
        lab=lab,
        never=["launches that were trained", "Other programs"],
    ),
    Case(
        "a price",
        lab=made(limits={"price_per_worker_hour": 3600.0}),
        says=["The recommended training costs"],
    ),
    Case(
        "predictions are refused",
        lab=lab,
        says=["Other numbers of workers are not predicted where the link has no fit at N = 2."],
    ),
    Case(
        "predictions are made",
        lab=lab,
        edits={"step_prediction": where(status="predicted", note=None)},
        says=["Predicted steps are by the ring model, with the largest error of their b"],
        never=["are not predicted where"],
    ),
    Case(
        "a number of workers is predicted",
        lab=lab,
        edits={"time_to_goal": where({"workers": 2}, predicted=True)},
        says=[") predicted", ") no measurable difference", ") the fastest"],
    ),
    Case(
        "more workers are predicted to be sooner than all measured",
        lab=made(**BOUND, **MANY),
        edits={"time_to_goal": predicted(16, 0.6)},
        says=[
            "from the fastest; hatched: predicted",
            "and 73.7 s (predicted: 73.7 s), no measurable difference. More workers than one pay, "
            "up to the 4 measured: two take 0.520× as long to the goal, four 0.250×; 16 are "
            "predicted sooner.",
            ") predicted The advice",
            "Predicted, and not measured, 16 workers with B = 1 024 reach the goal in 44.1 s (40.3 "
            "to 48.3), 0.600× (0.540 to 0.660) the time of the fastest that was measured, if the "
            "link between 16 workers is that between two",
        ],
        never=[") sooner"],
    ),
    Case(
        "more workers are predicted to take about as long",
        lab=made(**BOUND, **MANY),
        edits={"time_to_goal": predicted(16, 1.0)},
        says=["four 0.250×. The goal", ") predicted The advice"],
        never=["predicted sooner", ") no measurable difference"],
    ),
    Case(
        "a prediction without an interval",
        lab=made(**BOUND, **MANY),
        edits={"time_to_goal": predicted(16, 0.6, width=None)},
        says=["four 0.250×. The goal", ") predicted The advice"],
        never=["without an interval", "predicted sooner"],
    ),
    Case(
        "a prediction of more workers that may be sooner or later",
        lab=made(**BOUND, **MANY),
        edits={"time_to_goal": predicted(16, 0.99, width=0.4)},
        says=["four 0.250×. The goal"],
        never=["predicted sooner"],
    ),
    Case(
        "predictions were scored",
        lab=lab,
        edits={
            "step_prediction": where({"workers": 4}, status="scored", error_frac=-0.2, note=None)
        },
        says=["at worst it is −20.0% off (N = 4, b = "],
    ),
    Case(
        "plain SGD",
        lab=lab,
        edits={"time_to_goal": where(optimizer="sgd")},
        says=["of the network of one hidden layer with plain SGD"],
    ),
    Case(
        "momentum",
        lab=lab,
        edits={"time_to_goal": where(optimizer="momentum")},
        says=["of the network of one hidden layer with momentum"],
    ),
]


test_says = says("E2", CASES)


def test_a_run_that_is_missing_is_named() -> None:
    tables = without_runs(lab(), ["choose-n2", "choose-n2-launch2", "choose-n2-launch3"])
    answer = answer_one("E2", Inputs(derived_of(tables), tables))
    assert "choose, N = 2: not run yet" in answer.missing


def test_every_value_has_a_unit_and_runs() -> None:
    tables = lab()
    answer = answer_one("E2", Inputs(derived_of(tables), tables))
    assert answer.values["time_to_goal_s_recommended"].unit == "s"
    assert "choose-goal-n4" in answer.values["measured_s_n4_b64"].runs
    assert pd.notna(answer.values["measured_to_predicted_n1_b64"].value)
