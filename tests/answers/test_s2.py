"""S2: what it says of rates and warm-ups follows the errors of the arms."""

from collections.abc import Callable, Sequence
from functools import cache

import pytest

import lr_scaling_builders as study
from builders import Tables, full_lab, run_row, table
from cases import Case, Edit, around, both, only, says, where
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one

NAN = float("nan")
FLAT, UNSURE = (2.1, 2.3, 2.2), (1.0, 9.0, 2.5)
LARS = study.Way(64, "fixed", optimizer="lars", searched_lr=2.0)
LINEAR_AT_LARGE = {"rule": "linear", "warmup": "gradual", "zero_gamma": True, "global_batch": 256}
AS_GOOD = where(
    {"rule": "fixed", "global_batch": 128}, **around("linear_difference_frac", 0.0, 0.002)
)
SMALLER = {"rule": ["sqrt", "fixed"], "optimizer": "sgd", "global_batch": 256}
NO_WARMUP = study.LARGE._replace(warmup="none")
GAINED = {"rule": "linear", "role": "arm", "zero_gamma": True, "global_batch": 256}
ALIKE = around("unit_difference_frac", 0.0)
NO_GAIN = where(dict(GAINED, warmup=["none", "gradual"]), **ALIKE)
UNIT_CONSTANT = study.LARGE._replace(warmup="constant", zero_gamma=False)


def trained(*changed: tuple[study.Way, study.Errors | None]) -> Callable[[], Tables]:
    """A lab of this study alone, some ways' errors changed; a way without errors is left out."""

    def tidy() -> Tables:
        errors = study.ERRORS | dict(changed)
        return _of({way: values for way, values in errors.items() if values})

    return tidy


def planned(*ways: study.Way) -> Callable[[], Tables]:
    return lambda: _of({way: study.ERRORS[way] for way in ways})


def _of(errors: dict[study.Way, study.Errors]) -> Tables:
    empty = {name: frame.iloc[:0] for name, frame in full_lab().items()}
    rows = study.rows(run_row, errors)
    return empty | {name: table(name, made) for name, made in rows.items()}


def course(way: study.Way, rates: Sequence[float], **errors: Sequence[float]) -> Edit:
    """Give a way's curve other rates and errors, epoch by epoch."""
    run = {"runs": study.name_of(way)}
    return both(
        *(
            where(
                run | {"epoch": epoch},
                lr=rate,
                **{
                    column: value
                    for name, values in errors.items()
                    for column, value in around(f"{name}_error_frac", values[epoch - 1]).items()
                },
            )
            for epoch, rate in enumerate(rates, start=1)
        )
    )


BASE = trained()
BOTH_KEEP = (
    "B = 128, 4× the reference, scale the rate (warm-up: 2.20%) or leave it (2.20%): either "
    "keeps errors within 1 point of 2.10%. At 256"
)
BOTH_GAINS = BOTH_KEEP.replace("warm-up: ", "")
WARM = "There scaling takes gradual warm-up: with gains of one 3.00%"
UNLIKE = "There gradual warm-up helps scaling with gains of one"
FIXED_AT_ELBOW = {"rule": "fixed", "global_batch": 128}
LINEAR_AT_ELBOW = {"rule": "linear", "warmup": "gradual", "zero_gamma": True, "global_batch": 128}
REMEDIED = (  # each remedy of a scaled rate as good as both
    (study.Way(8, "fixed"), FLAT),
    (study.Way(16, "fixed"), FLAT),
    (study.LARGE, (5.0, 5.2, 5.1)),
    (study.LARGE._replace(zero_gamma=False), (5.0, 5.2, 5.1)),
    (study.LARGE._replace(warmup="none"), (5.1, 5.3, 5.2)),
)
RISES = "At 256 scaling with zero gains raises it to 5.10%; "
RAISED = {"lost": "raised"}  # of an error, as the table has it
TAKE_EITHER = "take the unscaled or square-root rate"
LINEAR_KEEPS = (
    "the linear rule keeps the error within 1 point (unscaled: no measurable difference). At 8 "
    "times"
)
CONSTANT, LOST = study.LARGE._replace(warmup="constant"), study.Way(64)
JUMP = (0.5, 0.5, 0.5, 4.0)
LOSING = "With the linear rule, gradual warm-up and zero gains at B = 1024"
SHARE = {"claim": "efficiency"}
CLAIM = {"claim": "gradual_none"}
# Gradual warm-up and zero gains each lower the error of neither, 12.1%, and both no further.
EACH = (
    (study.LARGE, (5.0, 5.2, 5.1)),
    (study.LARGE._replace(zero_gamma=False), (5.1, 5.3, 5.0)),
    (NO_WARMUP, (5.2, 5.1, 5.3)),
)
# At the large batch the rates that are scaled less err less than the linear rule with either gain.
ALL_LESS = (
    (study.Way(8, "fixed"), FLAT),
    (study.Way(16, "fixed"), FLAT),
    (study.LARGE, (5.0, 5.2, 5.1)),
    (study.Way(16, "fixed", zero_gamma=False), FLAT),
)
LIKEWISE = (2.3, 2.5, 2.4)
BOTH_LESS = ((study.Way(16, "sqrt"), LIKEWISE), (study.Way(16, "sqrt", zero_gamma=False), LIKEWISE))
EITHER, EITHER_FIXED = trained(*EACH), trained(*EACH, (study.Way(16, "fixed"), FLAT))
# Rates by epoch that a gradual warm-up and two cuts make, at the reference and at the large batch.
WARMED_UP = both(
    course(study.REFERENCE, (0.5, 0.5, 0.05, 0.005)),
    course(study.LARGE, (0.5, 23 / 12, 10 / 3, 4.0)),
)
CASES = [
    Case(
        "steps of Q2 by workers, with the least b that several have",
        # One worker's epoch of 10,000 samples takes 6.40625 s: 6.40625 * 32 / 10000 = 20.5 ms.
        says=[
            "In Q2's runs with b = 32 a step and an epoch take 20.5 ms and 6.41 s with one worker, "
            "24.6 ms and 3.84 s with two and 29.5 ms and 2.31 s with four."
        ],
    ),
    Case(
        "steps of one worker alone",
        edits={"iteration_times": where({"workers": [2, 4]}, status="failed")},
        never=["a step and an epoch"],
    ),
    *(
        Case(
            f"the unscaled rate errs less with gains of one too: {name}",
            lab=trained(*ALL_LESS, *changed),
            edits={"lr_scaling": edit},
            says=[
                *words,
                "At B = 256 the error of the unscaled rate less that of the linear rule is −2.90 "
                "points (−3.06 to −2.74), with gains of one −0.80 (−0.94 to −0.66)",
            ],
            never=["raises it to 5.10%", "with constant, with gradual"],
        )
        for name, changed, edit, words in (
            (
                "one rule",
                (),
                where(),
                [
                    f"{BOTH_GAINS} take the unscaled rate (kept): 2.20% with gains of one "
                    "(scaled 3.00%), 2.20% with zero gains (5.10%). With gains of one scaling "
                    "needs "
                    "gradual warm-up (12.1% without). A",
                    "In short: Scaling keeps the error up to B = 128; at B = 256 the unscaled rate "
                    "does with either gain (2.20%, 2.20%; scaled 3.00%, 5.10%).",
                    "change nothing measurable at B = 128 with gradual warm-up and with the fixed "
                    "rate.",
                ],
            ),
            (
                "both rules",
                BOTH_LESS,
                where(),
                [
                    f"{BOTH_GAINS} take the unscaled rate (kept): 2.20% with gains of one (scaled "
                    "3.00%), 2.20% with zero gains (5.10%). With"
                ],
            ),
            (
                "undecided",
                (),
                where({"rule": "fixed", "global_batch": 256}, kept="undecided"),
                [
                    f"{BOTH_GAINS} take the unscaled rate (not shown to keep it): 2.20% with "
                    f"gains of "
                    f"one (scaled"
                ],
            ),
            (
                "kept or lowered",
                (),
                where({"rule": "fixed", "global_batch": 256}, kept="kept or lowered"),
                [f"{BOTH_GAINS} take the unscaled rate (kept): 2.20% with gains of one (scaled"],
            ),
            (
                "kept with one gain",
                (),
                where(
                    {"rule": "fixed", "global_batch": 256, "zero_gamma": False}, kept="undecided"
                ),
                [f"{BOTH_GAINS} take the unscaled rate: 2.20% with gains of one (scaled"],
            ),
        )
    ),
    *(
        Case(
            f"the unscaled rate errs less with zero gains alone: {name}",
            lab=trained(*ALL_LESS),
            edits={
                "lr_scaling": where(
                    {"rule": "fixed", "global_batch": 256, "zero_gamma": False}, **to
                )
            },
            says=[f"{RISES}take the unscaled rate, which keeps it (2.20%). {WARM}"],
            never=["either gain", "with gains of one −"],
        )
        for name, to in (
            ("no measurable difference", around("linear_difference_frac", 0.0)),
            ("not on validation data", {"validation_error_frac": 0.09}),
        )
    ),
    Case(
        "the unscaled rate errs less with zero gains, and more with gains of one",
        lab=trained(*ALL_LESS, (study.Way(16, "fixed", zero_gamma=False), (6.0, 6.2, 6.1))),
        says=[
            f"{RISES}the unscaled rate keeps it (2.20%). {WARM}",
            "With gains of one the linear rule keeps the error at B = 128 (2.30%).",
            "At B = 256 the unscaled rate errs more than scaling with gains of one (6.10%, scaled "
            "3.00%).",
        ],
        never=["; take the", "either gain", "less that of the linear rule is"],
    ),
    Case(
        "what kept the error and what lost it",
        lab=BASE,
        says=[
            "Up to B = 256, 8× the reference, scale linearly: that keeps the error within 1 "
            "point (unscaled: worse, 9.10%). At 32 times no rule is shown to keep it (least: "
            "31.0%, reference 2.10%). At B = 256 gradual warm-up helps with gains of one (12.1% to "
            "3.00%) and with zero gains (4.30% to 2.30%).",
            "At B = 256 with zero gains the linear rule with gradual warm-up keeps the error; the "
            "fixed rate, the linear rule without warm-up, with constant warm-up and the "
            "square-root rule with gradual warm-up do not keep it.",
            "The error is kept where the difference's interval lies within ±1 point or below, "
            "raised where",
            "in one process, whose loss averages",
            "In short: The linear rule keeps the error up to B = 256, 8× the reference; at 32 "
            "times nothing is shown to.",
            "hold the sampling of the 100 000 test images beside the seeds; a difference is paired",
            "The interval of an error's difference to the reference's decides. The error is kept "
            "where all of it lies within ±1.00 percentage points, kept or lowered where only its "
            "lower end lies below that, raised where all of it lies above, and otherwise "
            "undecided.",
            "Of 30 such comparisons, each by a 95% interval, chance alone decides about 1.5 where",
            "256 linear gradual one 4.00 3.00% (2.73 to 3.27) 0.900 percentage points (0.762 to "
            "1.038) undecided 256",
            "256 fixed – zero 0.500 9.10%",
            "The linear rule keeps the error up to B = 256 and raises it at B = 1024. All have "
            "zero gains and, scaled beyond the reference, gradual warm-up; grey: the margin. "
            "Published:",
        ],
        never=[
            "undecided with",
            "× where a seed diverged",
            "rate tried",
            "no unscaled",
            "differs from the ref",
        ],
    ),
    Case(
        "the fixed rate keeps the error where the linear rule does not",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        says=[
            "Up to B = 128, 4× the reference, the linear rule keeps the error within 1 point "
            "(no unscaled rate tried). At 8 times take the unscaled rate, which keeps it (2.20%, "
            "scaled 5.10%, reference 2.10%). There gradual warm-up helps scaling with "
            "gains of one (12.1% to 3.00%); with zero gains that raises the error (4.30% to "
            "5.10%).",
            "Scaling the rate keeps the error up to B = 128 (unscaled not tried); at B = 256 the "
            "unscaled rate does (2.20%, scaled with zero gains 5.10%).",
            "The error of the unscaled rate at B = 256 differs from the reference's by +0.10 "
            "points (",
            "), an interval that lies within ±1 point. Gradual warm-up with gains of one is not "
            "shown to keep the error (3.00%). At B",
        ],
    ),
    Case(
        "the fixed rate keeps the test error, and on validation data it does not",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": both(
                where(
                    {"rule": "fixed", "global_batch": 256},
                    validation_difference_frac=0.02,
                    kept_on_validation=False,
                )
            )
        },
        says=["within ±1 point; on validation data it is +2.00 points, which is more."],
    ),
    *(
        Case(
            f"the unscaled rate is as good as the linear rule, then better: {words}",
            lab=trained(
                (study.Way(8, "fixed"), FLAT),
                (study.LARGE, (5.0, 5.2, 5.1)),
                (study.Way(16, "fixed"), FLAT),
            ),
            edits={"lr_scaling": both(as_good, where(LINEAR_AT_LARGE, kept=kept))},
            says=[
                opening
                + (WARM if "scaling with zero gains" in opening else UNLIKE)
                * ("on validation data. " not in opening),
                *said,
            ],
            never=never,
        )
        for words, as_good, kept, opening, said, never in (
            (
                "lost",
                AS_GOOD,
                "lost",
                f"{BOTH_KEEP} scaling with zero gains raises it to 5.10%; take the unscaled "
                f"rate, which keeps it (2.20%). ",
                [
                    "In short: Scaling the rate keeps the error up to B = 128; at B = 256 the "
                    "unscaled rate does (2.20%, scaled with zero gains 5.10%).",
                    "At B = 256 the error of the unscaled rate less that of the linear rule is −",
                ],
                ["unscaled: no", "just keeps", "on test data", "without warm-up and zero"],
            ),
            (
                "undecided",
                AS_GOOD,
                "undecided",
                f"{BOTH_KEEP} scaling with zero gains may raise it (5.10%); take the unscaled "
                f"rate, which keeps it (2.20%). ",
                [],
                ["unscaled: no"],
            ),
            (
                "narrowly",
                both(
                    AS_GOOD,
                    where({"rule": "fixed", "global_batch": 256}, difference_frac_high=0.0095),
                ),
                "lost",
                f"{RISES}take the unscaled rate, which just keeps it (2.20%). ",
                [],
                ["test data alone"],
            ),
            (
                "not on validation data",
                both(
                    AS_GOOD,
                    where(
                        {"rule": "fixed", "global_batch": 256},
                        validation_difference_frac=0.02,
                        kept_on_validation=False,
                    ),
                ),
                "lost",
                f"{RISES}the unscaled rate keeps it on test data (2.20%), not on validation data. ",
                [],
                ["just keeps", "helps scaling"],
            ),
            (
                "and may keep it",
                both(AS_GOOD, where({"rule": "fixed", "global_batch": 256}, kept="undecided")),
                "lost",
                f"{RISES}take the unscaled rate, which may keep it (2.20%). ",
                [
                    "In short: Scaling the rate keeps the error up to B = 128; at B = 256 the "
                    "unscaled rate errs less (2.20%, scaled with zero gains 5.10%)."
                ],
                ["which keeps", "no rule", "differs from the reference's by"],
            ),
            (
                "not shown to keep the error at the smaller",
                both(AS_GOOD, where({"rule": "fixed", "global_batch": 128}, kept="undecided")),
                "lost",
                "(unscaled: no measurable difference). At 8 times take the unscaled rate, which "
                "keeps it (2.20%, scaled 5.10%, reference 2.10%). ",
                [],
                ["may be scaled"],
            ),
            (
                "not keeping the error at the smaller on validation data",
                both(AS_GOOD, where(FIXED_AT_ELBOW, kept_on_validation=False)),
                "lost",
                "(unscaled: no measurable difference). At 8 times take the unscaled rate, which "
                "keeps it (2.20%, scaled 5.10%, reference 2.10%). ",
                [],
                ["may be scaled"],
            ),
            (
                "and the linear rule loses the smaller on validation data",
                both(AS_GOOD, where(LINEAR_AT_ELBOW, kept_on_validation=False)),
                "lost",
                "(unscaled: no measurable difference). At 8 times take the unscaled rate, which "
                "keeps it (2.20%, scaled 5.10%, reference 2.10%). ",
                [],
                ["may be scaled"],
            ),
            (
                "worse at the smaller",
                where(
                    {"rule": "fixed", "global_batch": 128}, **around("linear_difference_frac", 0.01)
                ),
                "lost",
                "(unscaled: worse, 2.20%). At 8 times take the unscaled rate, which keeps it "
                "(2.20%, scaled 5.10%, reference 2.10%). ",
                [],
                ["may be scaled"],
            ),
        )
    ),
    *(
        Case(
            f"the unscaled rate is as good as the linear rule; warm-up {kept}, zero gains {gains}",
            lab=trained(*REMEDIED),
            edits={
                "lr_scaling": both(
                    AS_GOOD,
                    where(LINEAR_AT_LARGE, kept="lost"),
                    where({"large": True, "warmup": "gradual", "zero_gamma": False}, kept=kept),
                    where({"large": True, "warmup": "none", "zero_gamma": True}, kept=gains),
                )
            },
            says=[
                "At 256 scaling with zero gains raises it to 5.10% (12.1% without warm-up and zero "
                "gains); take the unscaled rate, which keeps it (2.20%). A",
                "gradual one 4.00 5.10% (4.82 to 5.38) 3.00 percentage points (2.84 to 3.16) "
                f"{RAISED.get(kept, kept)} ",
                *words,
            ],
            never=[] if words else ["is shown to keep the error", "is not shown to keep"],
        )
        for kept, gains, words in (
            ("undecided", "lost", ["Neither warm-up nor zero gains alone is shown to keep the"]),
            ("lost", "lost", ["Neither warm-up nor zero gains alone is shown to keep the error."]),
            ("kept", "lost", []),
            ("undecided", "kept or lowered", ["with gains of one is not shown to keep the error"]),
            ("kept or lowered", "kept", []),
        )
    ),
    *(
        Case(
            f"the same rule in Q4.2, whose gain is {gain:g}",
            edits={
                "large_batch": where(
                    {"arm": "linear_scaling", "base": "large"},
                    **around("test_accuracy_difference_frac", gain, 0.01),
                )
            },
            says=said,
            never=never,
        )
        for gain, said, never in (
            (
                0.05,
                [
                    "Q4.2 scales by the same rule and gains, but only to 1.6, not to 16: how far a "
                    "rate can be scaled may depend on where it begins. At"
                ],
                [],
            ),
            (0.0, ["At B = 1024, where"], ["Q4.2 scales"]),
        )
    ),
    Case(
        "the same rule in Q4.2, which gains at a higher rate",
        edits={
            "accuracy": where({"study": "large_batch", "arm": "linear_scaling"}, lr=32.0),
            "large_batch": where(
                {"arm": "linear_scaling", "base": "large"},
                **around("test_accuracy_difference_frac", 0.05, 0.01),
            ),
        },
        says=["by the same rule and gains, even to 32, not just to 16: how far a rate"],
    ),
    Case(
        "the unscaled rate is as good as the linear rule, then the square root is better",
        lab=trained(
            (study.Way(8, "fixed"), FLAT),
            (study.LARGE, (5.0, 5.2, 5.1)),
            (study.Way(16, "sqrt"), FLAT),
        ),
        edits={"lr_scaling": both(AS_GOOD, where(LINEAR_AT_LARGE, kept="lost"))},
        says=[f"{RISES}take the square-root rate, which keeps it (2.20%). There scaling"],
    ),
    *(
        Case(
            f"the unscaled rate is as good as the linear rule, then it and the root: {words}",
            lab=trained(
                (study.Way(8, "fixed"), FLAT),
                (study.LARGE, (5.0, 5.2, 5.1)),
                (study.Way(16, "sqrt"), root),
                (study.Way(16, "fixed"), FLAT),
            ),
            edits={"lr_scaling": both(AS_GOOD, where(LINEAR_AT_LARGE, kept="lost"), edit)},
            says=[f"{RISES}{words}"],
        )
        for words, root, edit in (
            (
                f"{TAKE_EITHER}, which keeps it (2.20% each). There",
                FLAT,
                where(SMALLER, kept="kept"),
            ),
            (
                f"{TAKE_EITHER}, which keeps it (2.20%, 2.30%). T",
                (2.2, 2.4, 2.3),
                where(SMALLER, kept="kept"),
            ),
            (
                f"{TAKE_EITHER}, which may keep it (2.20% each). T",
                FLAT,
                where(SMALLER, kept="undecided"),
            ),
            (
                "the unscaled and square-root rates just keep it on test data (2.20% each), not on "
                "validation data. A step",
                FLAT,
                where(SMALLER, difference_frac_low=-0.0095, kept_on_validation=False),
            ),
            (
                "the unscaled rate keeps it on test data (2.20%), not on validation data. A step",
                FLAT,
                where({"rule": "fixed", "global_batch": 256}, kept_on_validation=False),
            ),
        )
    ),
    Case(
        "the unscaled rate is as good as the linear rule, and begins at a rate that another beats",
        lab=trained(*REMEDIED, (study.REFERENCE._replace(searched_lr=0.25), (1.2, 1.3, 1.25))),
        edits={"lr_scaling": both(AS_GOOD, where(LINEAR_AT_LARGE, kept="lost"))},
        says=["keeps it (2.20%). Tune the base rate first: 0.25 or 0.5 is undecided. A step"],
    ),
    Case(
        "the unscaled rate is as good as the linear rule, and keeps the error on test data alone",
        lab=trained(*REMEDIED),
        edits={
            "lr_scaling": both(
                AS_GOOD,
                where(LINEAR_AT_LARGE, kept="lost"),
                where(
                    {"rule": "fixed", "global_batch": 256},
                    validation_difference_frac=0.02,
                    kept_on_validation=False,
                ),
                where({"large": True, "warmup": "gradual", "zero_gamma": False}, kept="undecided"),
            )
        },
        says=[
            "(12.1% without warm-up and zero gains); the unscaled rate keeps it on test data "
            "(2.20%), not on validation data. A"
        ],
    ),
    Case(
        "the unscaled rate is as good as the linear rule, which may then raise the error",
        lab=trained(*REMEDIED),
        edits={
            "lr_scaling": both(
                AS_GOOD,
                where(LINEAR_AT_LARGE, kept="undecided"),
                where(
                    {"rule": "fixed", "global_batch": 256},
                    kept_on_validation=False,
                    validation_difference_frac=0.02,
                ),
                where(
                    {"large": True, "warmup": "none", "zero_gamma": True},
                    kept="undecided",
                    difference_frac_low=0.009996,
                ),
                where(
                    {"large": True, "warmup": "gradual", "zero_gamma": False},
                    kept="undecided",
                    difference_frac_high=0.010004,
                ),
            )
        },
        says=[
            "At 256 scaling with zero gains may raise it (5.10%; 12.1% without warm-up and zero "
            "gains); the unscaled rate",
            "undecided (to 1.0004) ",
        ],
    ),
    Case(
        "the unscaled rate is as good as the linear rule, then nothing keeps the error",
        lab=trained(*EACH, (study.Way(8, "fixed"), FLAT)),
        edits={"lr_scaling": AS_GOOD},
        says=[
            f"{BOTH_KEEP} no rule is shown to keep it (least: 5.10%). There, "
            f"gradual warm-up helps (12.1% to 5.10%), as do zero gains (5.20%). A"
        ],
    ),
    Case(
        "the unscaled rate is as good as the linear rule up to the largest batch",
        lab=trained((study.Way(64), FLAT), (study.Way(64, "fixed"), FLAT)),
        edits={
            "lr_scaling": where(
                {"rule": "fixed", "global_batch": 1024}, **around("linear_difference_frac", 0.0)
            )
        },
        says=[
            "At B = 1024, 32× the reference and the most that was tried, scale the rate "
            "(warm-up, zero gains: 2.20%) or leave it (2.20%): either keeps errors within 1 point "
            "of 2.10%. "
            "At B = 256"
        ],
    ),
    Case(
        "the unscaled rate is as good as the linear rule, which then has no result",
        lab=trained(
            (study.Way(8, "fixed"), FLAT),
            (study.LARGE, (5.0, 5.2, 5.1)),
            (study.Way(16, "fixed"), FLAT),
        ),
        edits={"lr_scaling": both(AS_GOOD, where(LINEAR_AT_LARGE, kept=None))},
        says=[
            "At 256 scaling with zero gains has no result (5.10%); take the unscaled rate, which "
            "keeps it "
            "(2.20%)",
            "256 linear gradual zero 4.00 5.10% (4.82 to 5.38) 3.00 percentage points (2.84 to "
            "3.16) – 256",
        ],
    ),
    *(
        Case(
            f"zero gains without warm-up: accuracy in Q4.2 by {gain}, the error here by {error}",
            edits={
                "lr_scaling": where(
                    dict(GAINED, warmup="none"), **around("unit_difference_frac", error)
                ),
                "large_batch": where(
                    {"arm": "zero_gamma", "base": "warmup"},
                    arm="zero_gamma_alone",
                    base="linear_scaling",
                    **around("test_accuracy_difference_frac", gain),
                ),
            },
            **said,
        )
        for gain, error, said in (
            (-0.1, -0.02, {"says": ["up lower the error here and raise it in Q4.2. At B = 1024"]}),
            (0.1, 0.02, {"says": ["Zero gains without warm-up raise the error here and lower it"]}),
            (0.1, -0.02, {"never": ["it in Q4.2"]}),
            (0.0, -0.02, {"never": ["it in Q4.2"]}),
            (-0.1, 0.0, {"never": ["it in Q4.2"]}),
        )
    ),
    Case(
        "the fixed rate just keeps the error",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": both(
                where({"rule": "fixed", "global_batch": 256}, difference_frac_low=-0.0095),
                where({"large": True, "warmup": "gradual", "zero_gamma": False}, kept="lost"),
            )
        },
        says=[
            "an interval that lies just within ±1 point. Gradual warm-up with gains of one does "
            "not keep the error (3.00%)."
        ],
    ),
    Case(
        "an unscaled rate that keeps the error, which validation data do not prefer to the linear",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": where(
                {"rule": "linear", "warmup": "gradual", "zero_gamma": True, "global_batch": 256},
                validation_error_frac=0.012,
            )
        },
        says=["At 8 times the unscaled rate still keeps it (2.20%, scaled 5.10%, reference 2.10%)"],
        never=["take the"],  # a test error chooses no rate
    ),
    Case(
        "an unscaled rate that keeps the error where the linear rule diverged",
        lab=trained((study.LARGE, (5.0, None, 5.1)), (study.Way(16, "fixed"), FLAT)),
        says=[
            "At 8 times take the unscaled rate, which keeps it (2.20%, scaled diverged, reference "
            "2.10%). There"
        ],
    ),
    Case(
        "an unscaled rate whose validation error is unknown",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": where({"rule": "fixed", "global_batch": 256}, validation_error_frac=NAN)
        },
        says=["At 8 times the unscaled rate still keeps it"],
        never=["take the"],
    ),
    Case(
        "a linear rule that keeps the error, which validation data do not prefer to none",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"rule": "fixed", "global_batch": 256, "optimizer": "sgd"},
                validation_error_frac=0.012,
            )
        },
        says=[
            "Up to B = 256, 8× the reference, the linear rule keeps the error within 1 point "
            "(unscaled: worse, 9.10%). At 32"
        ],
        never=["scale linearly"],
    ),
    Case(
        "a warm-up that lowers the test error, which validation data do not prefer",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"warmup": "none", "zero_gamma": True, "large": True}, validation_error_frac=0.012
            )
        },
        says=[
            "At B = 256 gradual warm-up helps with gains of one (12.1% to 3.00%); with zero gains "
            "that lowers the error (4.30% to 2.30%)."
        ],
    ),
    Case(
        "a warm-up that lowers the test error with both gains, which validation data do not prefer",
        lab=BASE,
        edits={"lr_scaling": where({"warmup": "none", "large": True}, validation_error_frac=0.01)},
        says=[
            "At B = 256 gradual warm-up lowers the error with gains of one (12.1% to 3.00%) and "
            "with zero gains (4.30% to 2.30%)."
        ],
        never=["warm up"],
    ),
    Case(
        "a constant warm-up that lowers the error, and a gradual one that is not compared",
        lab=trained((CONSTANT, (2.1, 2.3, 2.2))),
        edits={
            "published_lr_scaling": where(
                {"claim": ["gradual_none", "gradual_none_unit"]}, measured_low=NAN
            )
        },
        says=["At B = 256 a constant warm-up helps with zero gains (4.30% to 2.20%). A step"],
    ),
    Case(
        "a fixed rate that keeps the error or lowers it",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": where(
                {"rule": "fixed", "global_batch": 256},
                kept="kept or lowered",
                **around("difference_frac", -0.012),
            )
        },
        says=[
            "reference's by −1.20 points (−1.21 to −1.19), an interval that ends within ±1 point."
        ],
    ),
    Case(
        "a fixed rate that keeps the error, whose difference has no interval",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (study.Way(16, "fixed"), FLAT)),
        edits={
            "lr_scaling": where({"rule": "fixed", "global_batch": 256}, difference_frac_low=NAN)
        },
        says=["At 8 times take the unscaled rate, which keeps it (2.20%"],
        never=["differs from the reference's"],
    ),
    Case(
        "a fixed rate that keeps the error that the linear rule loses at once",
        lab=trained((study.Way(8), (9.0, 9.2, 9.1)), (study.Way(8, "fixed"), FLAT)),
        says=[
            "At 4 times the reference batch (B = 128) take the unscaled rate, which keeps the "
            "error within 1 point (2.20%, scaled 9.10%, reference 2.10%). At B = 256 gradual "
            "warm-up helps scaling with gains of one",
            "In short: At 4 times the reference batch the unscaled rate keeps the error (2.20%, "
            "scaled 9.10%).",
        ],
        never=["still", "rate tried", "no unscaled"],
    ),
    Case(
        "the square root keeps the error where the linear rule is undecided",
        lab=trained((study.LARGE, (1.0, 9.0, 2.5)), (study.Way(16, "sqrt"), FLAT)),
        says=[
            "At 8 times take the square-root rate, which keeps it (2.20%, linear undecided, "
            "2.50%, reference 2.10%).",
            "at B = 256 the square-root rate does (2.20%, linear with zero gains 2.50%).",
            "The error of the square-root rate at B = 256 differs",
        ],
    ),
    Case(
        "one larger batch, undecided",
        lab=lambda: _of({study.REFERENCE: study.ERRORS[study.REFERENCE], study.Way(8): UNSURE}),
        says=[
            "At 4 times the reference batch (B = 128) the linear rule is not shown to keep the "
            "reference's error within 1 point (2.50%, reference 2.10%).",
            "The linear rule is at no batch beyond the reference shown to keep its error. All have",
            "gradual warm-up is undecided with three seeds.",
            "In short: At 4 times the reference batch nothing is shown to keep the error.",
        ],
    ),
    Case(
        "zero gains that cost accuracy with a constant warm-up",
        lab=trained(
            (UNIT_CONSTANT, (4.0, 4.2, 4.1)),
            (NO_WARMUP._replace(zero_gamma=False), (4.2, 4.4, 4.3)),
            (study.LARGE._replace(zero_gamma=False), (2.2, 2.4, 2.3)),
        ),
        says=[
            "At B = 256 gradual warm-up helps with gains of one (4.30% to 2.30%) and with zero "
            "gains (4.30% to 2.30%).",
            "zero gains raise the test error by 4.20 percentage points with constant warm-up, "
            "lower it by 0.300",
            "zero gains raised the error with constant warm-up and changed nothing measurable with "
            "gradual and without;",
        ],
    ),
    Case(
        "a gradual warm-up that raises the error with gains of one",
        lab=trained((study.LARGE._replace(zero_gamma=False), (30.0, 31.0, 32.0))),
        says=[
            "At B = 256 gradual warm-up helps with zero gains (4.30% to 2.30%); with gains of one "
            "that raises the error (12.1% to 31.0%)."
        ],
    ),
    Case(
        "a gradual warm-up that lowers the error with either gain",
        lab=BASE,
        edits={"lr_scaling": NO_GAIN},
        says=[
            "At B = 256 gradual warm-up helps with gains of one (12.1% to 3.00%) and with zero",
            "zero gains changed nothing measurable with gradual warm-up and without;",
        ],
    ),
    Case(
        "a gradual warm-up that is not compared",
        lab=BASE,
        edits={
            "lr_scaling": where(unit_difference_frac_low=NAN),
            "published_lr_scaling": where(
                {"claim": ["gradual_none", "gradual_none_unit"]}, measured_low=NAN
            ),
        },
        says=[
            "At B = 256 a constant warm-up raises the error with zero gains (4.30% to 8.30%).",
            "Against gains of one, zero gains are not compared at",
            "zero gains are not compared with gradual warm-up and without;",
            "gradual warm-up is not compared and a constant one ended worse",
        ],
    ),
    Case(
        "warm-up or zero gains, of which each lowers the error and both no further",
        lab=EITHER,
        says=[
            "keep it (least: 5.10%, reference 2.10%). There, gradual warm-up helps (12.1% to "
            "5.10%), as do zero gains (5.20%). A step",
            "Test error with the linear rule at B = 256: gradual warm-up or zero gains alone lower "
            "it, both together not measurably more than either; constant warm-up raises it with "
            "zero gains. Medians",
        ],
        never=["warm up grad", "alone is shown"],
    ),
    Case(
        "warm-up or zero gains, where the unscaled rate keeps the error",
        lab=EITHER_FIXED,
        says=[
            "scaled 5.10%, reference 2.10%). Scaled there, gradual warm-up helps (12.1% to 5.10%), "
            "as do zero gains (5.20%). A step",
            "within ±1 point. Neither warm-up nor zero gains alone is shown to keep the error. At "
            "B",
        ],
    ),
    Case(
        "warm-up or zero gains, of which zero gains keep the error",
        lab=EITHER_FIXED,
        edits={"lr_scaling": where(dict(GAINED, warmup="none"), kept="kept")},
        says=["Gradual warm-up with gains of one does not keep the error (5.10%)."],
        never=["alone is shown"],
    ),
    Case(
        "warm-up or zero gains, of which warm-up keeps the error",
        lab=EITHER_FIXED,
        edits={"lr_scaling": where(dict(GAINED, warmup="gradual", zero_gamma=False), kept="kept")},
        says=["(12.1% to 5.10%), as do zero gains (5.20%)."],
        never=["alone is shown", "Gradual warm-up with gains of one"],
    ),
    *(
        Case(
            f"warm-up and zero gains at the large batch: {name}",
            lab=EITHER,
            edits=edits,
            says=[f"keep it (least: 5.10%, reference 2.10%). There{words}"],
            never=["both together measurably", "alone lower it"],
        )
        for name, words, edits in (
            (
                "zero gains change nothing without warm-up",
                " gradual warm-up helps with gains of one (12.1% to 5.10%); with zero gains that "
                "changes nothing measurable. A step",
                {"lr_scaling": where(dict(GAINED, warmup="none"), **ALIKE)},
            ),
            (
                "zero gains are not compared without warm-up",
                " gradual warm-up helps with gains of one (12.1% to 5.10%); with zero gains that "
                "changes nothing measurable. A step",
                {"lr_scaling": where(dict(GAINED, warmup="none"), unit_difference_frac_low=NAN)},
            ),
            (
                "both lower the error further than warm-up alone",
                " gradual warm-up helps with gains of one (12.1% to 5.10%); with zero gains that "
                "changes nothing measurable. A step",
                {
                    "lr_scaling": where(
                        dict(GAINED, warmup="gradual"), **around("unit_difference_frac", -0.01)
                    )
                },
            ),
            (
                "both are not compared with warm-up alone",
                " gradual warm-up helps with gains of one (12.1% to 5.10%); with zero gains that "
                "changes nothing measurable. A step",
                {"lr_scaling": where(dict(GAINED, warmup="gradual"), unit_difference_frac_low=NAN)},
            ),
            (
                "both lower the error further than zero gains alone",
                " gradual warm-up helps with gains of one (12.1% to 5.10%) and with zero gains "
                "(5.20% to 5.10%). A step",
                {"published_lr_scaling": where(CLAIM, **around("measured", -0.01))},
            ),
            (
                "warm-up changes nothing with gains of one",
                " gradual warm-up changes nothing measurable with gains of one and with zero "
                "gains. A step",
                {
                    "published_lr_scaling": where(
                        {"claim": "gradual_none_unit"}, **around("measured", 0.0)
                    )
                },
            ),
            (
                "warm-up is not compared with gains of one",
                " gradual warm-up changes nothing measurable with zero gains. A step",
                {
                    "published_lr_scaling": where(
                        {"claim": "gradual_none_unit"}, measured_low=NAN, measured_high=NAN
                    )
                },
            ),
        )
    ),
    Case(
        "a constant warm-up or zero gains, of which each lowers the error",
        lab=trained(*EACH, (UNIT_CONSTANT, (5.1, 5.3, 5.0)), (CONSTANT, (5.2, 5.1, 5.3))),
        edits={
            "lr_scaling": where(dict(GAINED, warmup="constant"), **ALIKE),
            "published_lr_scaling": where(
                {"claim": ["gradual_none", "gradual_none_unit"]}, measured_low=NAN
            ),
        },
        says=[
            "There a constant warm-up helps with gains of one (12.1% to 5.10%); with zero gains "
            "that changes nothing measurable. A step"
        ],
        never=["both together measurably", "alone lower it"],
    ),
    Case(
        "no effect decided",
        lab=BASE,
        edits={"lr_scaling": NO_GAIN, "published_lr_scaling": where(**around("measured", 0.0))},
        says=[
            "At B = 256 gradual warm-up changes nothing measurable with gains of one and with zero "
            "gains.",
            "gradual warm-up changed nothing measurable and a constant one changed nothing "
            "measurable",
            "B = 256: gradual warm-up changes nothing measurable with gains of one and with zero "
            "gains; constant warm-up changes nothing measurable with gains of one and with zero "
            "gains. Medians",
        ],
        never=["weights time to grow"],
    ),
    Case(
        "a linear rule that keeps the error to 32 times the batch, as on a cluster",
        lab=trained((study.Way(64), FLAT)),
        says=[
            "Up to B = 1024, 32× the reference and the most that was tried, scale linearly: "
            "that keeps the error within 1 point (2.20%, reference 2.10%; unscaled: worse, 41.0%).",
            "What came out: the linear rule kept the error up to the largest batch, B = 1024;",
            "In short: The linear rule keeps the error up to B = 1024, 32× the reference, the "
            "most that was tried.",
        ],
        never=["rate tried"],
    ),
    Case(
        "an error that is lost at once",
        lab=trained((study.Way(8), (9.0, 9.2, 9.1))),
        says=[
            "At 4 times the reference batch (B = 128) the linear rule does not keep the "
            "reference's error within 1 point (9.10%, reference 2.10%).",
            "What came out: no larger batch is shown to keep the error; it was raised from B = "
            "128;",
        ],
    ),
    Case(
        "a course that is undecided",
        lab=BASE,
        edits={"lr_scaling_elbow": where(course="undecided", lost_batch=NAN)},
        says=["What came out: whether a larger batch keeps the error is undecided;"],
    ),
    Case(
        "with gains of one alone warm-up changes something at the batch that scaling loses",
        lab=trained(*ALL_LESS),
        edits={
            "published_lr_scaling": where(
                {"claim": "gradual_none"}, measured=0.0, measured_low=-0.01, measured_high=0.01
            )
        },
        says=["(12.1% without); with zero gains warm-up changes nothing measurable. A step"],
    ),
    Case(
        "what was expected beside what came out",
        lab=BASE,
        says=[
            f"Expected before the run: “{study.EXPECTED}” What came out: the linear rule kept "
            f"the error up to B = 256 and with zero gains raised it from B = 1024; with zero "
            f"gains at B = 256 "
            f"gradual warm-up "
            f"ended better and a constant one ended worse; zero gains lowered the error with "
            f"gradual warm-up and "
            f"without; LARS beat the linear rule at B = 1024.",
            "With a zero gain a residual block starts as its shortcut;",
        ],
    ),
    Case(
        "warm-ups and gains by their paired differences",
        lab=BASE,
        says=[
            "Gradual warm-up may lower the error by giving the weights time to grow with the rate "
            "(section 2.2).",
            "Test error with the linear rule at B = 256: gradual warm-up lowers it with gains of "
            "one and with zero gains; constant warm-up raises it with zero gains. Medians over the "
            "seeds with 95% intervals; with zero gains residual blocks begin as shortcuts. none "
            "12.1% (11.8 to 12.4) 4.30% (4.02 to 4.58) constant diverged 8.30% (8.00 to 8.60) "
            "gradual 3.00% (2.73 to 3.27) 2.30% (2.04 to 2.57) The",
            "Against gains of one, zero gains lower the test error by 0.300 percentage points at "
            "the reference batch, by 0.700 percentage points with gradual warm-up and by 7.80 "
            "percentage points without warm-up and change nothing measurable at B = 128 with",
            "256 linear none one",
        ],
    ),
    Case(
        "zero gains that change nothing at the reference batch and with gradual warm-up",
        edits={
            "lr_scaling": both(
                where({"reference": True}, **ALIKE), where(dict(GAINED, warmup="gradual"), **ALIKE)
            )
        },
        lab=BASE,
        says=[
            "zero gains lower the test error by 7.80 percentage points without warm-up and change "
            "nothing measurable at the reference batch, at B = 128 with gradual warm-up and with "
            "gradual warm-up."
        ],
    ),
    *(
        Case(
            f"gains of one at a batch that the linear rule keeps with zero gains: {errors}",
            lab=trained(
                (study.Way(8, "fixed"), FLAT),
                (study.LARGE, (5.0, 5.2, 5.1)),
                (study.Way(8, zero_gamma=False), errors),
            ),
            edits={"lr_scaling": AS_GOOD},
            says=says,
            never=never,
        )
        for errors, says, never in (
            (
                FLAT,
                ["With gains of one the linear rule keeps the error at B = 128 (2.20%)."],
                ["zero gains) or"],
            ),
            (
                (5.0, 5.2, 5.1),
                [
                    "scale the rate (warm-up, zero gains: 2.20%) or leave it (2.20%)",
                    "With gains of one the linear rule raises the error at B = 128 (5.10%).",
                ],
                [],
            ),
            (UNSURE, ["With gains of one the linear rule is undecided at B = 128 (2.50%)."], []),
            (
                None,
                ["scale the rate (warm-up, zero gains: 2.20%) or leave it (2.20%)"],
                ["the linear rule keeps the error at"],
            ),
        )
    ),
    *(
        Case(
            f"a margin of one point beside an error of the reference of {error}%",
            lab=trained(
                (study.REFERENCE, (error - 0.1, error + 0.1, error)),
                (study.Way(8), (error, error + 0.2, error + 0.1)),
            ),
            says=says,
            never=never,
        )
        for error, says, never in (
            (0.9, ["The margin exceeds the reference's error (0.900%): kept may hide twice"], []),
            (2.1, ["keeps the error"], ["The margin exceeds"]),
        )
    ),
    Case(
        "an unscaled rate that surely raises the error, by less than the linear rule",
        lab=trained(
            (study.Way(8, "fixed"), FLAT),
            (study.LARGE, (5.0, 5.2, 5.1)),
            (study.Way(16, "fixed"), FLAT),
        ),
        edits={
            "lr_scaling": both(
                AS_GOOD,
                where(
                    {"rule": "fixed", "global_batch": 256},
                    kept="undecided",
                    **around("difference_frac", 0.009, 0.003),
                ),
            )
        },
        says=[f"{RISES}take the unscaled rate, which raises it less (2.20%; undecided). {WARM}"],
    ),
    Case(
        "gains of one that keep the error",
        lab=trained((study.LARGE._replace(zero_gamma=False), (2.3, 2.5, 2.4))),
        says=[
            "256 linear gradual one 4.00 2.40% (2.13 to 2.67) 0.300 percentage points (0.170 to "
            "0.430)"
        ],
    ),
    *(
        Case(
            f"the fixed rate at a batch that the linear rule kept: {kept}",
            lab=trained((study.Way(8, "fixed"), FLAT), (study.LARGE, (5.0, 5.2, 5.1))),
            edits={"lr_scaling": where({"rule": "fixed", "global_batch": 128}, kept=kept)},
            says=[
                f"At B = 128 the fixed rate {words}. Against gains",
                f"{opening} no rule is shown to keep it (least: 5.10%{reference}). "
                + ("There gradual warm-up helps with gains of one" if reference else WARM),
                "up to B = 128, 4× the reference; at 8 times nothing",
            ],
            never=["rate tried", "no unscaled"],
        )
        for kept, words, opening, reference in (
            ("kept", "keeps the error", BOTH_KEEP, ""),
            ("kept or lowered", "keeps the error or lowers it", BOTH_KEEP, ""),
            ("lost", "does not keep the error", LINEAR_KEEPS, ", reference 2.10%"),
            ("undecided", "is undecided", LINEAR_KEEPS, ", reference 2.10%"),
        )
    ),
    *(
        Case(
            f"the unscaled rate where the linear rule keeps the error: {words}",
            lab=trained((study.Way(8, "fixed"), FLAT), (study.LARGE, (5.0, 5.2, 5.1))),
            edits={"lr_scaling": where({"rule": "fixed", "global_batch": 128}, **differing)},
            says=[f"keeps the error within 1 point (unscaled: {words}). At 8 times no rule"],
            never=["scale linearly"],
        )
        for words, differing in (
            ("better, 2.20%", around("linear_difference_frac", -0.01)),
            ("worse, 2.20%", around("linear_difference_frac", 0.01)),  # alike on valid.
            ("not compared", {"linear_difference_frac_low": NAN}),
        )
    ),
    Case(
        "an unscaled rate tried at a smaller batch than the largest that the linear rule keeps",
        lab=trained((study.Way(8, "fixed"), (9.0, 9.2, 9.1)), (study.Way(16, "fixed"), None)),
        says=[
            "Up to B = 256, 8× the reference, scale linearly: that keeps the error within 1 "
            "point (unscaled at B = 128: worse, 9.10%). At 32 times"
        ],
    ),
    *(
        Case(
            f"the rules at the largest batch, of which the least is {words}",
            lab=trained((LARS, None), (LARS._replace(searched_lr=4.0), None), *least),
            says=[
                f"At B = 1024, where an epoch has nine updates, the least test error is {words}."
            ],
        )
        for words, *least in (
            ("31.0%, with the square-root rule",),
            ("20.0%, with the linear rule", (study.Way(64), (20.0, 20.1, 19.9))),
            ("20.0%, with the fixed rate", (study.Way(64, "fixed"), (20.0, 20.1, 19.9))),
        )
    ),
    Case(
        "the schedule",
        lab=BASE,
        edits={"lr_scaling_curves": WARMED_UP},
        says=[
            "At B = 256 a warm-up takes 96 of 156 updates.",
            "fewer updates; the rate falls to 10% of its highest in epoch 3 and to 1% in epoch 4. "
            "A warm-up takes 2.47 epochs. Weights",
        ],
    ),
    Case(
        "a warm-up and the end of a constant one",
        lab=BASE,
        edits={
            "lr_scaling_curves": both(
                WARMED_UP, course(CONSTANT, JUMP, train=(0.7, 0.33, 0.5, 0.86))
            )
        },
        says=["Where a constant warm-up of 96 of 156 updates with zero gains ends, the rate jumps"],
        never=["a warm-up takes 96"],
    ),
    Case(
        "a rate that never changes",
        lab=BASE,
        says=["so a larger batch makes fewer updates. Weights"],
        never=["the rate falls", "A warm-up takes", "a warm-up takes", "rises with the rate"],
    ),
    *(
        Case(
            f"the end of a constant warm-up, after which the training error is {after}",
            lab=BASE,
            edits={"lr_scaling_curves": course(CONSTANT, JUMP, train=(0.7, 0.33, 0.5, after))},
            says=[f"Where a constant warm-up with zero gains ends, the rate {words}."],
        )
        for after, words in (
            (
                0.86,
                "jumps from 0.5 to 4, and the training error from 33.0% to 86.0%, ending at 86.0%",
            ),
            (
                0.2,
                "jumps from 0.5 to 4, though the training error still falls, from 33.0% to 20.0%",
            ),
            (
                0.331,
                "jumps from 0.5 to 4, with no measurable jump of the training error (33.0% to "
                "33.1%)",
            ),
            (NAN, "jumps from 0.5 to 4; what that does to the training error is unknown"),
        )
    ),
    Case(
        "a constant warm-up that does not raise the error",
        lab=trained((CONSTANT, (2.1, 2.3, 2.2))),
        edits={"lr_scaling_curves": course(CONSTANT, JUMP)},
        never=["Where a constant warm-up"],
    ),
    *(
        Case(
            f"the linear rule at the first batch that it loses: {words}",
            lab=BASE,
            edits={"lr_scaling_curves": course(LOST, rates, train=train, validation=validation)},
            says=[
                " ".join(
                    [
                        "are a large part of the training (Goyal et al., 2017).",
                        *filter(None, [words]),
                        "Gradual",
                    ]
                )
            ],
        )
        for rates, train, validation, words in (
            (
                (0.5, 8.25, 16.0, 1.6),
                (0.6, 0.4, 0.5, 0.1),
                (0.6, 0.6, 0.7, 0.6),
                f"{LOSING} training gets worse while the rate rises: from 8.25 to 16 the median "
                f"training error goes from 40.0% to 50.0%. In the last epoch before the rate is "
                f"cut the "
                f"training error is 50.0%, the validation error 70.0%: running statistics that "
                f"lag may be why; no arm isolates that.",
            ),
            (
                (0.5, 8.25, 16.0, 1.6),
                (0.6, 0.5, 0.4, 0.1),
                (0.6, 0.5, 0.4, 0.1),
                f"{LOSING} the training error does not measurably rise with the rate.",
            ),
            (
                (16.0, 16.0, 16.0, 1.6),
                (0.6, 0.5, 0.4, 0.1),
                (0.6, 0.5, 0.5, 0.1),
                f"{LOSING} in the last epoch before the rate is cut the training error is 40.0%, "
                f"the validation "
                f"error 50.0%: running statistics that lag may be why; no arm isolates that.",
            ),
            ((16.0, 16.0, 16.0, 16.0), (0.6, 0.5, 0.4, 0.1), (0.6, 0.5, 0.5, 0.1), ""),
            ((0.5, 8.25, 16.0, 1.6), (NAN, NAN, NAN, NAN), (0.6, 0.5, 0.5, 0.1), ""),
        )
    ),
    Case("LARS at the largest batch", lab=BASE, never=["the least test error"]),
    Case(
        "LARS and the rates tried",
        lab=BASE,
        says=[
            "At B = 1024, where an epoch has nine updates, LARS (You et al., 2017) with the rate 2 "
            "ends at 6.10%, lower than the 61.0% of the linear rule (unscaled: 41.0%); it does not "
            "keep the error. Of",
            "The rate of LARS is the lowest of two tried, chosen on validation data; that "
            "of the linear rule was not searched.",
            "0.5, gives a validation error of 1.10%; 1.60% with 0.25, over three seeds. The lowest "
            "is that of 0.5, which chance may have decided: how far validation images err is "
            "unknown, since the records do not count them.",
            "LARS, chosen",
            "LARS, tried",
            "linear, tried",
        ],
    ),
    Case(
        "a diverged seed",
        lab=BASE,
        says=[
            "The loss was not finite in linear-constant-unit_gamma at B = 256 (1 of three seeds). "
            "Such an arm",
            "A line ends where a seed diverged.",
        ],
        never=["No loss became infinite"],
    ),
    Case(
        "published results",
        lab=BASE,
        says=[
            "Of 12 published results, eight agree, one disagrees and three are not judged.",
            "Not judged: two (gains of one here, zero in the publication) and one (judged above).",
            "not judged. Where they disagree an epoch has 9 updates here, 156 there. Expected",
            "(judged above). Of 9 such comparisons, each by a 95% interval, chance alone decides "
            "about 0.45 where",
            "Table 1 23.74% against 24.84%",
            "8.00× 2048 256 23.49% −0.110% 0.200% (0.071 to 0.329)",
        ],
        never=["In the timed runs", "not planned"],
    ),
    Case(
        "what each published comparison is of",
        lab=BASE,
        says=[
            "ones. gradual warm-up against none Table 1 23.74% against 24.84% −1.10% −2.00%",
            "constant warm-up against none Table 1 25.88% against 24.84% 1.04% 4.00%",
            "gradual warm-up against none, gains of one here Table 1 23.74% against 24.84% −1.10% "
            "−9.10% (−9.33 to −8.87)",
            "constant warm-up against none, gains of one here Table 1 25.88% against 24.84% 1.04% "
            "gains of one here, zero in the publication not judged gradual warm-up against the "
            "reference batch Table 1 23.74% against 23.60% 0.140% 0.200%",
            "square-root rule against linear Table 2a 26.22% against 23.74% 2.48% 2.80%",
            "fixed rate against linear rule Table 2a 41.67% against 23.74% 17.9% 6.80%",
            "zero gains against gains of one, reference batch Table 2b 23.60% against 23.84% "
            "−0.240% −0.300%",
            "zero gains against gains of one, large batch Table 2b 23.74% against 24.11% −0.370% "
            "−0.700%",
        ],
    ),
    Case(
        "published verdicts turned round",
        lab=BASE,
        edits={
            "published_lr_scaling": both(
                where(verdict="disagrees"),
                where(CLAIM, verdict="agrees"),
                where({"source": "Table 2b"}, verdict="not decidable"),
            )
        },
        says=[
            "one agrees, nine disagree and two are not decidable",
            "Where they disagree an epoch has 9 to 78 updates here, 156 to 1251 there.",
            "fixed rate against linear rule Table 2a 41.67% against 23.74% 17.9% 6.80% (6.60 to "
            "7.00) disagrees",
        ],
    ),
    Case(
        "timed runs",
        says=[
            "In the timed runs of Q2 two workers with b = 32 keep 83.3% (",
            "of the throughput of one each; published is about 90.0% at 352 GPUs: not judged "
            "(measured on CPU cores, published on GPUs).",
            "Of 13 published results",
        ],
    ),
    Case(
        "timed runs of as many GPUs",
        edits={"published_lr_scaling": where(SHARE, verdict="disagrees", reason=None)},
        says=["at 352 GPUs: disagrees."],
    ),
    Case(
        "no warm-up needed",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (NO_WARMUP, FLAT)),
        says=[
            "the linear rule without warm-up keeps the error; the fixed rate",
            "Up to B = 128, 4× the reference, the linear rule keeps the error within 1 point "
            "(no unscaled rate tried). At 8 times no rule is shown",
            "256 linear gradual zero 4.00 5.10%",
            "B = 256: gradual warm-up lowers it with gains of one and raises it with zero gains; "
            "constant",
        ],
    ),
    Case(
        "nothing decided",
        lab=trained((study.LARGE, (1.0, 9.0, 2.5))),
        says=[
            "do not keep the error; the linear rule with gradual warm-up is undecided with three "
            "seeds.",
            "gradual warm-up helps (12.1% to 3.00%), as do zero gains (4.30%). A step",
        ],
    ),
    Case(
        "no difference of a comparison",
        lab=BASE,
        edits={"published_lr_scaling": where(CLAIM, measured=NAN)},
        says=[
            "B = 256: gradual warm-up lowers it with gains of one; constant warm-up raises it with "
            "zero gains. Medians"
        ],
    ),
    Case(
        "a fixed rate that suffices",
        lab=trained((study.Way(16, "fixed"), FLAT)),
        says=[
            "At B = 256 with zero gains the fixed rate and the linear rule with gradual warm-up "
            "keep the error;"
        ],
    ),
    Case(
        "LARS worse",
        lab=trained(
            (LARS, (70.0, 72.0, 71.0)), (LARS._replace(searched_lr=4.0), (80.0, 82.0, 81.0))
        ),
        says=["higher than the 61.0%", "; the linear rule beat LARS at B = 1024."],
    ),
    Case(
        "LARS as good",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"optimizer": "lars"}, kept="kept", **around("linear_difference_frac", 0.001, 3)
            )
        },
        says=[
            "with no measurable difference to the 61.0% of the linear rule",
            "; it keeps the error.",
            "; LARS made no measurable difference to the linear rule at B = 1024.",
        ],
    ),
    Case(
        "LARS lower than the reference",
        lab=BASE,
        edits={"lr_scaling": where({"optimizer": "lars"}, kept="kept or lowered")},
        says=["; it keeps the error or lowers it."],
    ),
    Case(
        "LARS diverged",
        lab=trained((LARS, (6.0, None, 6.1)), (LARS._replace(searched_lr=4.0), None)),
        says=["(You et al., 2017) with the rate 2 has no test error (diverged)."],
        never=["chosen on val"],
    ),
    Case(
        "LARS undecided",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"optimizer": "lars"}, kept="undecided", linear_difference_frac_low=NAN
            )
        },
        says=["ends at 6.10% (unscaled: 41.0%). Of"],
        never=["it keeps"],
    ),
    Case(
        "a better rate",
        lab=trained((study.REFERENCE._replace(searched_lr=0.25), (1.2, 1.3, 1.25))),
        says=[
            "over three seeds. The lowest is that of 0.25, which",
            "linear, chosen",
            "The rule begins at 0.5, which was set before the run; of the rates tried 0.25 has the "
            "lowest validation error (",
            ", so it may begin too high: tune it before scaling.",
        ],
    ),
    Case(
        "a better rate above the reference's",
        lab=trained((study.REFERENCE._replace(searched_lr=1.0), (1.2, 1.3, 1.25))),
        says=["of the rates tried 1 has the lowest validation error"],
        never=["begin too high"],
    ),
    Case(
        "the reference diverged",
        lab=trained((study.REFERENCE, (2.0, None, 2.1))),
        says=["Nothing can be compared, since training with the reference batch diverged."],
    ),
    Case(
        "errors that are lower",
        lab=trained((study.REFERENCE, (6.0, 6.2, 6.1)), (study.Way(16, "fixed"), (2.0, 2.2, 2.1))),
        says=[
            "with gradual warm-up keep the error or lower it; the linear rule with constant "
            "warm-up does not keep it.",
            "zero gains raise the test error by 3.70 percentage points at the reference batch,",
            "256 linear gradual one",
        ],
    ),
    Case(
        "gains of one alone at the large batch",
        lab=planned(study.REFERENCE, UNIT_CONSTANT),
        says=[
            "The linear rule was not tried with gradual warm-up.",
            "What came out: the linear rule has no result.",
        ],
        never=["Test error with the linear rule"],  # of one way
    ),
    Case(
        "an arm diverged",
        lab=trained((study.LARGE, (2.0, None, 2.1))),
        says=[
            "the linear rule with gradual warm-up, without warm-up",
            "256 linear gradual zero 4.00 diverged",
            "grey: the margin; × where a seed diverged.",
        ],
    ),
    Case(
        "the one arm of a plan diverged",
        lab=trained(
            *((way, None) for way in study.ERRORS if way not in (study.REFERENCE, study.LARGE)),
            (study.LARGE, (2.0, None, 2.1)),
        ),
        says=[
            "At 8 times the reference batch (B = 256) the linear rule does not keep the "
            "reference's error within 1 point (diverged).",
            "the linear rule with gradual warm-up does not keep the error.",
        ],
    ),
    Case(
        "one seed",
        lab=BASE,
        edits={
            "lr_scaling": where(
                seeds=1,
                kept="undecided",
                linear_difference_frac_low=NAN,
                linear_difference_frac_high=NAN,
            )
        },
        says=["over one seed with", "With one seed there is no interval", "Of"],
    ),
    Case(
        "many seeds, several workers",
        lab=BASE,
        edits={"lr_scaling": where(seeds=5, workers=4, expected=" ")},
        says=["spread over up to four workers with averaged", "paired by seed. Intervals of"],
        never=["Expected before"],
    ),
    Case(
        "a plan of one larger batch",
        lab=planned(study.REFERENCE, study.Way(8)),
        says=[
            "Up to B = 128, 4× the reference and the most that was tried, the linear rule "
            "keeps the error within 1 point (2.20%, reference 2.10%; no unscaled rate tried).",
            "At B = 128 with zero gains the linear rule with gradual warm-up keeps the error.",
            "At B = 128, where an epoch has 78 updates, the least test error is 2.20%, with the li",
        ],
        never=["LARS", "Against gains of one", "no warm-up", "The rate of the reference batch"],
    ),
    Case(
        "a plan of the reference alone",
        lab=planned(study.REFERENCE),
        says=["Only the reference batch, B = 32, was trained", "No published result"],
        never=["At the largest batch", "None"],
    ),
    Case(
        "warm-ups of which some were not planned",
        lab=planned(study.REFERENCE, study.LARGE, UNIT_CONSTANT),
        says=[
            "Test error with the linear rule at B = 256. Medians over the seeds with 95% "
            "intervals; with zero gains residual blocks begin as shortcuts. constant diverged not "
            "measured gradual not measured 2.30%"
        ],
    ),
    Case(
        "no reference",
        lab=planned(study.LARGE),
        says=["The conclusion is withheld", "lr_scaling: no run of the reference batch"],
    ),
]


test_what_s2_says = says("S2", CASES)


@cache
def answered() -> Answer:
    return answer_one("S2", Case("", lab=BASE).inputs)


def test_published_and_measured_stand_in_columns_of_their_own() -> None:
    (made,) = (one for one in answered().tables if "Comparisons of Goyal" in one.caption)
    first = made.rows[0]
    assert first["published"] == "23.74% against 24.84%"
    assert first["published_difference_frac"].value == pytest.approx(-0.011)
    assert first["published_difference_frac"].runs == []
    assert set(first["difference_frac"].runs) == {
        study.name_of(study.LARGE),
        study.name_of(NO_WARMUP),
    }


def test_an_error_links_to_its_own_runs_and_a_difference_to_both() -> None:
    values = answered().values
    name = study.name_of(study.LARGE)
    assert values["test_error_frac_linear_gradual_zero_gamma_kn256"].runs == [name]
    assert values["difference_frac_gradual_warm_up_against_none"].runs == [
        name,
        study.name_of(NO_WARMUP),
    ]


def test_a_published_comparison_without_an_id_is_an_error() -> None:
    renamed = {"published_lr_scaling": both(only(kind="claim"), where(CLAIM, claim="another"))}
    with pytest.raises(KeyError, match="another"):
        answer_one("S2", Case("", lab=BASE, edits=renamed).inputs)
