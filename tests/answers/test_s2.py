"""S2: what it says of rates and warm-ups follows the errors of the arms."""

from collections.abc import Callable
from functools import cache

import pytest

import lr_scaling_builders as study
from builders import Tables, full_lab, run_row, table
from cases import Case, around, both, only, says, where
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one

NAN = float("nan")
FLAT = (2.1, 2.3, 2.2)
LARS = study.Way(64, "fixed", optimizer="lars", searched_lr=2.0)
NO_WARMUP = study.LARGE._replace(warmup="none")
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


BASE = trained()
SHARE = {"claim": "efficiency"}
CLAIM = {"claim": "gradual_none"}
CASES = [
    Case(
        "what kept the error and what lost it",
        lab=BASE,
        says=[
            "The linear rule keeps the reference's 2.10% (B = 32) up to B = 256; at B = 1024, 32 "
            "times the reference, the fixed rate's 41.0% test error beats the linear rule's "
            "61.0%. Of five zero-gain recipes at B = 256 gradual warm-up keeps "
            "the error (2.30%) and four fail (4.30% to 9.10%).",
            "in one process, whose loss averages",
            "In short: At B = 1024 the fixed rate ends at 41.0% test error and the linear rule at "
            "61.0%; the reference has 2.10%.",
            "hold the sampling of the 100 000 test images beside the seeds; a difference is paired",
            "Of 25 such comparisons, each by a 95% interval, chance alone decides about 1.2 where",
            "256 linear none zero 4.00 4.30% (4.02 to 4.58) 2.20% (2.05 to 2.35) 256",
            "256 fixed gradual zero 0.500 9.10%",
        ],
        never=["cannot judge"],
    ),
    Case(
        "a linear rule that keeps the error to 32 times the batch, as on a cluster",
        lab=trained((study.Way(64), FLAT)),
        says=[
            "With gradual warm-up the linear rule keeps the reference's test error, 2.10% (B "
            "= 32), "
            "up to B = 1024, 32 times the batch. Of five zero-gain recipes at "
            "B = 256 gradual warm-up keeps",
            "What came out: the error was kept up to the largest batch, B = 1024.",
        ],
    ),
    Case(
        "an error that is lost at once",
        lab=trained((study.Way(8), (9.0, 9.2, 9.1))),
        says=[
            "beats the linear rule's 61.0%; the reference has 2.10% (B = 32). Of",
            "What came out: no larger batch is shown to keep the error; it was lost from B = 128.",
        ],
    ),
    Case(
        "a linear rule that beats the fixed rate",
        lab=trained((study.Way(64), (20.0, 22.0, 21.0))),
        says=["the linear rule's 21.0% test error beats the fixed rate's 41.0%. Of"],
    ),
    Case(
        "a linear rule beside a fixed rate with the same error",
        lab=trained((study.Way(64), (40.0, 42.0, 41.0))),
        says=["the fixed rate and the linear rule do not differ measurably, 41.0% and 41.0% test"],
    ),
    Case(
        "a fixed rate without an interval, and a course that is undecided",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"rule": "fixed", "global_batch": 1024}, linear_difference_frac_low=NAN
            ),
            "lr_scaling_elbow": where(course="undecided", lost_batch=NAN),
        },
        says=[
            "the fixed rate ends at 41.0% test error and the linear rule at 61.0%; whether "
            "the linear "
            "rule keeps the reference's 2.10% (B = 32) is undecided.",
            "What came out: whether a larger batch keeps the error is undecided.",
        ],
    ),
    Case(
        "what was expected beside what came out",
        lab=BASE,
        says=[
            f"Expected before the run: “{study.EXPECTED}” What came out: the error was kept up to "
            "B = 256; it was lost from B = 1024."
        ],
    ),
    Case(
        "warm-ups and gains by their paired differences",
        lab=BASE,
        says=[
            "At B = 256 with zero gains, against no warm-up, gradual warm-up lowers the test "
            "error by "
            "2.00 percentage points and constant warm-up raises it by 4.00 percentage "
            "points. With gains of one gradual warm-up lowers the test error by 9.10 percentage "
            "points. A reason may be that a gradual warm-up gives the weights time to grow "
            "with the "
            "rate and a constant one makes the rate jump where it ends, and the loss with it",
            "gains of one, a zero gain, with which every residual block starts as its shortcut, "
            "lowers the test error by 0.300 percentage points at the reference batch and "
            "lowers it by 0.700 percentage points with gradual warm-up at B = 256.",
            "256 linear none one",
        ],
    ),
    Case(
        "zero gains that change nothing at either batch are one sentence",
        edits={
            "published_lr_scaling": where(
                {"claim": ["gamma_reference", "gamma_large"]},
                **{"measured": 0.0, "measured_low": -0.01, "measured_high": 0.01},
            )
        },
        lab=BASE,
        says=[
            "its shortcut, changes nothing measurable at the reference batch and with gradual "
            "warm-up at B = 256."
        ],
    ),
    Case(
        "gains of one that keep the error",
        lab=trained((study.LARGE._replace(zero_gamma=False), (2.3, 2.5, 2.4))),
        says=["256 linear gradual one 4.00 2.40% (2.13 to 2.67) 0.300% (0.170 to 0.430)"],
    ),
    Case(
        "the rules at the largest batch",
        lab=BASE,
        says=[
            "At B = 1024 an epoch has nine updates, and the test error is 61.0% with the linear "
            "rule, 31.0% with the square-root rule and 41.0% with the fixed rate.",
            "At B = 256 the fixed rate loses the error.",
        ],
        never=["the rate has to grow"],
    ),
    Case(
        "LARS and the rates tried",
        lab=BASE,
        says=[
            "with the rate 2 chosen on validation data, ends at a test error of 6.10% (5.81 to "
            "6.39), lower than the 61.0% of the linear rule, whose rate was not searched; it "
            "loses the reference's error.",
            "0.5, gives a validation error of 1.10%; 1.60% with 0.25, over three seeds. The "
            "least is that of 0.5; how certainly, is not said",
            "LARS, chosen",
            "LARS, tried",
            "linear, tried",
        ],
    ),
    Case(
        "a diverged seed",
        lab=BASE,
        says=[
            "The loss was not finite in linear-constant-unit_gamma at B = 256 (1 of three "
            "seeds). Such an arm"
        ],
        never=["No loss became infinite"],
    ),
    Case(
        "published results",
        lab=BASE,
        says=[
            "Of 12 published results with a counterpart here, eight agree, one disagrees and "
            "three are not judged (gains of one here, zero in the publication; judged above).",
            "Otherwise than published: error at 32 times the reference batch (Figure 1). A "
            "published verdict",
            "nothing is decided. Of 9 such comparisons, each by a 95% interval, chance alone "
            "decides about "
            "0.45 where",
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
            "gradual warm-up against none, gains of one here Table 1 23.74% against "
            "24.84% −1.10% −9.10% (−9.33 to −8.87)",
            "constant warm-up against none, gains of one here Table 1 25.88% against "
            "24.84% 1.04% gains of one here, zero in the publication gradual warm-up "
            "against the reference batch Table 1 23.74% against 23.60% 0.140% 0.200%",
            "square-root rule against linear Table 2a 26.22% against 23.74% 2.48% 2.80%",
            "fixed rate against linear rule Table 2a 41.67% against 23.74% 17.9% 6.80%",
            "zero gains against gains of one, reference batch Table 2b 23.60% against "
            "23.84% −0.240% −0.300%",
            "zero gains against gains of one, large batch Table 2b 23.74% against 24.11% "
            "−0.370% −0.700%",
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
            "fixed rate against linear rule (Table 2a), error at 4 times",
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
        says=[
            "at 352 GPUs: disagrees.",
            "throughput per worker kept with many workers (Section 5.5)",
        ],
    ),
    Case(
        "no warm-up needed",
        lab=trained((study.LARGE, (5.0, 5.2, 5.1)), (NO_WARMUP, FLAT)),
        says=[
            "no warm-up keeps the error (2.20%) and four fail (5.10% to 9.10%).",
            "keeps the reference's 2.10% (B = 32) up to B = 128; at B = 1024",
            "256 linear gradual zero 4.00 5.10%",
            "against no warm-up, gradual warm-up raises the test error",
        ],
    ),
    Case(
        "nothing decided",
        lab=trained((study.LARGE, (1.0, 9.0, 2.5))),
        says=[
            "Of five zero-gain recipes at B = 256 four fail (4.30% to 9.10%). Three seeds "
            "cannot judge the other one.",
            "gradual warm-up changes nothing measurable and constant warm-up raises the test error "
            "by",
        ],
    ),
    Case(
        "no difference of a comparison",
        lab=BASE,
        edits={"published_lr_scaling": where(CLAIM, measured=NAN)},
        says=["gradual warm-up is not compared and constant warm-up raises"],
    ),
    Case(
        "a fixed rate that suffices",
        lab=trained((study.Way(16, "fixed"), FLAT)),
        says=[
            "At B = 256 the fixed rate keeps the error too",
            "gradual warm-up and the fixed rate keep the error (2.20% to 2.30%) and three fail",
        ],
        never=["the rate has to grow"],
    ),
    Case(
        "LARS worse",
        lab=trained(
            (LARS, (70.0, 72.0, 71.0)), (LARS._replace(searched_lr=4.0), (80.0, 82.0, 81.0))
        ),
        says=["higher than the 61.0%"],
    ),
    Case(
        "LARS as good",
        lab=BASE,
        edits={
            "lr_scaling": where(
                {"optimizer": "lars"}, kept="kept", **around("linear_difference_frac", 0.001, 3)
            )
        },
        says=["not measurably different from the 61.0%", "; it keeps the reference's error."],
    ),
    Case(
        "LARS lower than the reference",
        lab=BASE,
        edits={"lr_scaling": where({"optimizer": "lars"}, kept="kept or lowered")},
        says=["; it keeps the reference's error or lowers it."],
    ),
    Case(
        "LARS diverged",
        lab=trained((LARS, (6.0, None, 6.1)), (LARS._replace(searched_lr=4.0), None)),
        says=["with the rate 2, has no test error (diverged)."],
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
        says=["ends at a test error of 6.10% (5.81 to 6.39). Of"],
        never=["it keeps"],
    ),
    Case(
        "a better rate",
        lab=trained((study.REFERENCE._replace(searched_lr=0.25), (1.2, 1.3, 1.25))),
        says=["over three seeds. The least is that of 0.25;", "linear, chosen"],
    ),
    Case(
        "the reference diverged",
        lab=trained((study.REFERENCE, (2.0, None, 2.1))),
        says=["No error can be kept or lost, since training with the reference batch diverged."],
    ),
    Case(
        "errors that are lower",
        lab=trained((study.REFERENCE, (6.0, 6.2, 6.1)), (study.Way(16, "fixed"), (2.0, 2.2, 2.1))),
        says=[
            "four keep or lower the error (2.10% to 5.10%) and constant warm-up fails (8.30%).",
            "At B = 256 the fixed rate does not raise the error beyond that either",
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
    ),
    Case(
        "an arm diverged",
        lab=trained((study.LARGE, (2.0, None, 2.1))),
        says=[
            "Of five zero-gain recipes at B = 256 all five fail (4.30% to 9.10%).",
            "256 linear gradual zero 4.00 diverged",
        ],
    ),
    Case(
        "the one arm of a plan diverged",
        lab=trained(
            *((way, None) for way in study.ERRORS if way not in (study.REFERENCE, study.LARGE)),
            (study.LARGE, (2.0, None, 2.1)),
        ),
        says=[
            "At B = 256, 8 times the reference, the linear rule diverges; the reference has 2.10% "
            "(B = 32). With zero gains at B = 256 gradual warm-up fails (diverged)."
        ],
    ),
    Case(
        "one seed",
        lab=BASE,
        edits={"lr_scaling": where(seeds=1, kept="undecided")},
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
            "keeps the reference's test error, 2.10% (B = 32), up to B = 128, 4 times the "
            "batch. With zero gains at B = 128 gradual warm-up keeps the error (2.20%).",
            "an epoch has 78 updates, and the test error is",
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
