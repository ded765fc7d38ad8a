"""S3: what it says of averaged learners follows the arms, the learners timed and the rates."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

import model_averaging_builders as made
from builders import Tables, empty_lab, run_row, table
from cases import Case, Edit, around, both, check, only, where, without
from dpscale.studies import questions

NAN = float("nan")
SAME, SAME_OTHER = "sma α = 1/k", "sma α = 0.1"
OWN, OTHER = "sma_tuned α = 1/k", "sma_tuned α = 0.1"
EQUAL_RATES = "With γ = 0.2 and α = 0.125 the effective rates of both are nearly the same, and"
AT_SAME = "at the rate of SGD with the small batch (γ = 0.02) they"


def trained(
    reached: Mapping[str, int | None] | None = None,
    run: Mapping[str, Any] | None = None,
    **how: Any,
) -> Callable[[], Tables]:
    """A lab of the study alone: when first seeds reach the target, and what its runs say else."""

    def tidy() -> Tables:
        """Its tidy tables."""
        rows = made.study_rows(made.REACHED | (reached or {}), **how)
        rows["runs"] = [run_row(**{**row, **(run or {})}) for row in rows["runs"]]
        return empty_lab() | {name: table(name, own) for name, own in rows.items()}

    return tidy


def _pair(arm: str, against: str, **columns: float) -> dict[str, Edit]:
    return {"averaging_pairs": where({"arm": arm, "against": against}, **columns)}


def _alphas(**columns: float) -> dict[str, Edit]:
    return _pair(OTHER, OWN, **columns)


def _chosen(**columns: float) -> dict[str, Edit]:
    return {"learners": where({"model": "mlp", "per_learner_batch": 16, "learners": 3}, **columns)}


def _rate(optimizer: str, lr: float, **columns: Any) -> Edit:
    return where({"optimizer": optimizer, "lr": lr}, **columns)


CASES = [
    # 5 epochs of 1.5 s; unscaled 7 epochs of 1 s, scaled 4; each seed an epoch later.
    Case("averaging beside both rates of SGD",
         says=["For a test accuracy of 95.0% eight averaged learners with batches of 16, at a rate "
               "of their own (γ = 0.2, α = 0.125) need fewer epochs and more seconds compared with "
               "SGD of B = 128 at the unscaled rate and more epochs and seconds compared with SGD "
               f"of B = 128 at the linearly scaled rate; {AT_SAME} do not reach it in 12 epochs "
               "with any seed; tuned by throughput, the learners on one device are 3 for mlp with "
               "b = 16, 3 for mlp with b = 128 and 3 for resnet_8x8 with b = 16. Every arm",
               "at γ = 0.02 with α = 0.1 with 0 of 3 seeds; at γ = 0.2 with α = 0.125 after 6.00 "
               "(5.00 to 7.00) epochs and 9.00 s (7.50 to 10.50), fewer epochs and more seconds "
               "compared with SGD of B = 128 at the unscaled rate and",
               "by itself (B = 16) they need more epochs and seconds that cannot be told apart, "
               "with γ = 0.2 and α = 0.125. Where"]),
    Case("the protocol",
         says=["12 epochs of them, with three seeds;", "With three seeds an interval spans",
               "The target, a test accuracy of 95.0%, was", "in one process, so",
               "averaged after every step; the momentum μ = 0.9 is"]),
    Case("averaging every few steps", edits={"model_averaging": where(tau=4)},
         says=["averaged every 4 steps; the momentum"]),
    Case("two processes", lab=trained(run={"workers": 2}), says=["in two processes, so"]),
    Case("five seeds", edits={"model_averaging": where(seeds=5)},
         says=["with five seeds;", "0 of 5 seeds"], never=["seeds an interval spans"]),
    Case("one seed", lab=trained(seeds=(0,)),
         says=["epochs and seconds that cannot be compared", "With one seed there is no interval",
               "with 0 of 1 seed;"],
         never=["fewer", "seeds an interval spans"]),
    Case("averaging sooner", lab=trained({OWN: 2, OTHER: 2, SAME: 3, SAME_OTHER: 3}),
         says=["(γ = 0.2, α = 0.125) need fewer epochs and seconds compared with SGD",
               f"{AT_SAME} need, with α = 0.125, fewer"],
         never=["more epochs"]),
    Case("averaging as soon",
         edits=_pair(OWN, "sgd_large", **around("epochs_difference", 0.0)
                     | {"epochs_difference_low": -1.0, "epochs_difference_high": 1.0}),
         says=["(γ = 0.2, α = 0.125) need epochs that cannot be told apart and more seconds",
               f"{EQUAL_RATES} their epochs cannot be told apart."]),
    Case("epochs that cannot be compared",
         edits=_pair(OWN, "sgd_large", epochs_difference_low=NAN),
         says=["(γ = 0.2, α = 0.125) need epochs that cannot be compared and more seconds"]),
    Case("one seed reaches the target", lab=trained({SAME: 12}),
         says=[f"{AT_SAME} reach it with 1 of 3 seeds where α = 0.125 and with 0 of 3 seeds where "
               "α = 0.1; tuned"]),
    Case("no rate of its own", edits={"model_averaging": without(arm=[OWN, OTHER])},
         says=[f"with batches of 16, {AT_SAME} do not reach it in 12 epochs with any seed; tuned",
               "0 of 3 seeds. Compared with SGD of the small batch by itself (B = 16) they need "
               "more epochs and seconds, with γ = 0.02 and α = 0.125. Where"],
         never=["a rate of their own", "nearly the same"]),
    Case("no rate of SGD", edits={"model_averaging": without(arm=[SAME, SAME_OTHER])},
         says=["at the linearly scaled rate; tuned by throughput"],
         never=[AT_SAME, "At γ = 0.02, with", "at the same rate they come"]),
    Case("an arm of SGD is missing", edits={"model_averaging": without(arm="sgd_large")},
         says=["Model averaging cannot be compared with SGD: its trainings ended without a result.",
               "Every arm saw"],
         never=["The averaged learners reach", "A rate does not mean", "Published is nothing"]),
    Case("no averaging", edits={"model_averaging": only(optimizer="sgd")},
         says=["cannot be compared with SGD: its"], never=["Every arm saw", "α is 1/k"]),
    *(Case(f"equal rates and {order}", lab=trained({OWN: epochs}), says=[f"{EQUAL_RATES} {order}"])
      for epochs, order in [
          (5, "they need fewer epochs: a gain of averaging that longer steps do not explain."),
          (9, "they need more epochs: averaging gains nothing beyond its longer steps."),
          (7, "their epochs cannot be told apart."),
      ]),
    Case("unequal effective rates",
         edits={"model_averaging": where({"arm": OWN}, effective_lr=0.1)},
         says=["at γ = 0.02 as at 0.0198 and at γ = 0.2 as at 0.198. That"], never=[EQUAL_RATES]),
    Case("the drift explains the same rate",
         says=["At γ = 0.02 SGD so goes as far as plain SGD at the rate 0.2, and averaged learners",
               "later in epochs than SGD with the large batch is what this predicts."],
         never=["is not what decides"]),
    Case("the drift does not explain the same rate", lab=trained({SAME: 2, SAME_OTHER: 2}),
         says=["Yet at the same rate they come sooner in epochs than SGD with the large batch, so "
               "the length of the steps is not what decides here."], never=["this predicts"]),
    Case("α, and a target that tells nothing",
         says=["the authors' scripts. At γ = 0.02, with α = 0.125 and 0.1, the target tells "
               "nothing of them, since not every seed reached it, and the final accuracy cannot be "
               "told apart; at γ = 0.2, with α = 0.125 and 0.1, the second needs more epochs and "
               "seconds compared with the first, and the final accuracy cannot be told apart."]),
    Case("the second α is sooner", lab=trained({OTHER: 3}),
         says=["the second needs fewer epochs and seconds compared with the first"]),
    Case("the second α ends higher", edits=_alphas(**around("accuracy_difference_frac", 0.02)),
         says=["the final accuracy of the second is higher by 2.00 percentage points."]),
    Case("the second α ends lower", edits=_alphas(**around("accuracy_difference_frac", -0.02)),
         says=["the final accuracy of the second is lower by 2.00 percentage points."]),
    Case("the second α has no accuracy", edits=_alphas(accuracy_difference_frac_low=NAN),
         says=["compared with the first, and the final accuracy cannot be compared."]),
    Case("no two settings of α", edits={"averaging_pairs": without(arm=[SAME_OTHER, OTHER])},
         never=["α is 1/k"]),
    Case("learners, and a better number beyond the choice",
         says=["raises throughput by more than 5%, and",
               "For mlp with b = 16 it settles on 3, at 1 800 samples/s (1 782 to 1 818), since "
               "one more changes throughput by 2.78% (2.78 to 2.78); 5 would give 22.2% more. That "
               "is 1.50× (1.50 to 1.50) the throughput of the network by itself. For mlp with b"],
         never=["in which the threshold lies", "the most that were tried"]),
    Case("all learners that were tried", lab=trained(speeds={1: 1000.0, 2: 2000.0}),
         says=["2 for mlp with b = 16", "(1 980 to 2 020), the most that were tried. That is"],
         never=["since one more", "would give"]),
    Case("a gain about the threshold",
         edits={"learners": where({"learners": 4}, **around("gain_frac", 0.05))},
         says=["by 5.00% (4.95 to 5.05), an interval in which the threshold lies; 5 would"]),
    Case("slower than the network by itself", edits=_chosen(**around("against_plain_ratio", 0.5)),
         says=["That is only 0.500× (0.495 to 0.505) the throughput of the network by itself."]),
    Case("as fast as the network by itself", edits=_chosen(**around("against_plain_ratio", 1.0)),
         says=["From the network by itself it cannot be told apart (1.00× (0.99 to 1.01))."]),
    Case("no network by itself", edits={"learners": where(against_plain_ratio_low=NAN)},
         says=["would give 22.2% more. For mlp with b = 128"], never=["That is", "From the"]),
    Case("no learners timed", edits={"learners": where(samples_per_s=NAN)},
         says=["12 epochs with any seed. Every arm"],
         never=["tuned by throughput", "Learners are added", "Throughput against the number"]),
    Case("rates that were used",
         says=["with one seed that no arm has. It is highest for SGD with the small batch, of the "
               "rates 0.01, 0.02 and 0.05, γ = 0.02; this is the rate that was used. It is highest "
               "for model averaging, of the rates 0.1, 0.2 and 0.5, γ = 0.2; this is the rate"],
         never=["at the border", "below it"]),
    Case("a better rate, at the border",
         edits={"averaging_rates": both(
             _rate("sgd", 0.02, best=False),
             _rate("sgd", 0.05, best=True, at_border=True, validation_mean_frac=0.96))},
         says=["γ = 0.05 (at the border: a rate beyond it may be better still); γ = 0.02 was used, "
               "which is 2.00 percentage points below it. It is highest for model averaging"]),
    Case("a rate in use that was not tried",
         edits={"averaging_rates": where(configured=False)},
         says=["γ = 0.02; the rate that was used is not among them. It is highest for model"]),
    Case("no rates tried", edits={"averaging_rates": where(best=False)},
         never=["Rates were judged", "It is highest"]),
    Case("what was expected, and published",
         says=[f"Expected before the run: {made.EXPECTED} Published is that averaging small "
               "batches reaches", "against TensorFlow). Of eight comparisons, eight disagree. "
               "Published is that throughput rises with the learners on a device. Of six "
               "comparisons, six agree."]),
    Case("some comparisons undecided",
         edits={"published_model_averaging": where({"arm": OWN}, verdict="not decidable")},
         says=["Of eight comparisons, six disagree and two are not decidable."]),
    Case("nothing expected or published", lab=trained(run={"expected": None}),
         edits={"published_model_averaging": only(claim="none")},
         never=["Expected before", "Published is"]),
    Case("tables",
         says=["8 learners, b = 16, γ = 0.2, α = 0.125 0.198 3 of 3 seeds 6.00 (5.00 to 7.00) 9.00 "
               "s (7.50 to 10.50) 97.0% (97.0 to 97.0)",
               "α = 0.125 SGD, B = 128, γ = 0.16 1.3 to 4 × 0.556× (0.533 to 0.571) disagrees",
               "mlp, b = 16 5 learners against the network by itself more 1.83× (1.83 to 1.83) ",
               "mlp, b = 16, by itself 1 1 200 samples/s (1 188 to 1 212) None  mlp, b = 16 1",
               "mlp, b = 16 3 1 800 samples/s (1 782 to 1 818) 20.0", ") yes mlp, b = 16 4 1"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_s3_says(case: Case) -> None:
    check("S3", case)


@pytest.mark.parametrize("edits", [
    {"model_averaging": without(arm=[OWN, OTHER])},
    {"learners": where(against_plain_ratio_low=NAN)},
])  # fmt: skip
def test_what_is_left_out_breaks_no_paragraph(edits: dict[str, Edit]) -> None:
    assert len(questions()["S3"](Case("", edits=edits).inputs).paragraphs) == 7


def test_seconds_beside_large_batches_and_chosen_learners_are_values() -> None:
    values = questions()["S3"](Case("").inputs).values
    ratio = values["seconds_ratio_sma_tuned_alpha_1_k_against_sgd_large"]
    assert ratio.value == pytest.approx(8 / 9)
    reached, chosen = values["reached_seeds_sma_alpha_0_1"], values["chosen_learners_mlp_b128"]
    assert (reached.value, reached.n, chosen.value, chosen.n) == (0, 3, 3, 5)


def test_a_gap_of_rates_leads_to_the_runs_of_both() -> None:
    def apart(rates: pd.DataFrame) -> pd.DataFrame:
        return both(_rate("sma", 0.2, configured=False, runs="best"),
                    _rate("sma", 0.1, configured=True, runs="used"))(rates)  # fmt: skip

    answer = questions()["S3"](Case("", edits={"averaging_rates": apart}).inputs)
    text, gap = answer.paragraphs[5], answer.printed[6][-1]
    assert text[gap.start : gap.end] == "10.0 percentage points"
    assert gap.runs == ["used", "best"]
