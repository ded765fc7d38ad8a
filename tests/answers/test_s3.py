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
EQUAL_RATES = (
    "With γ = 0.2 and α = 0.125 the effective rates of both differ by less than 10%, and in "
    "epochs the learners are"
)
AT_SAME = "learners with b = 16 at the rate of SGD with the small batch (γ = 0.02, α = 0.125)"
LATER = "sooner than it at the unscaled and later than it at the linearly scaled rate"
GPUS = {"device": "NVIDIA H200", "workers": 8, "workers_per_machine": 8, "devices_per_machine": 8}


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
    # 5 epochs of 1.75 s; unscaled 7 epochs of 1 s, scaled 4; each seed an epoch later.
    Case("averaging beside both rates of SGD",
         says=["The target is a test accuracy of 95.0%: eight averaged learners with b = 16 at a "
               "rate of their own (γ = 0.2, α = 0.125) reach it after 6.00 (3.91 to 9.03) epochs "
               "and 10.5 s (6.8 to 15.8) of training; beside SGD with as many samples a step "
               f"(B = 128) they are, in epochs, {LATER}; in seconds, later than it at either rate. "
               "Every arm",
               "With γ = 0.02 and α = 0.125 they do not reach it in 12 epochs with any seed; with "
               "γ = 0.02 and α = 0.1 they do not reach it in 12 epochs with any seed; with γ = 0.2 "
               "and α = 0.1 they reach it after 7.00",
               "by itself (B = 16) learners with γ = 0.2 and α = 0.125 are, in epochs, later than "
               "it and, in seconds, not told apart from it. Where",
               "Of 24 such comparisons without any effect, about 1.2 would be told apart"]),
    Case("the protocol",
         says=["12 epochs of them, with three seeds;", "holds the error of the test set, and",
               "The target, a test accuracy of 95.0%, was", "of the last 1 evaluation reaches",
               "in one process, so", "averaged after every step; the momentum μ = 0.9 is"],
         never=["With one seed", "bootstrap"]),
    Case("averaging every few steps", edits={"model_averaging": where(tau=4)},
         says=["averaged every 4 steps; the momentum"]),
    Case("two processes", lab=trained(run={"workers": 2}), says=["in two processes, so"]),
    Case("five seeds", edits={"model_averaging": where(seeds=5)}, says=["with five seeds;"]),
    Case("one seed", lab=trained(seeds=(0,)),
         says=["in epochs, not comparable with it at either rate; in seconds, not comparable with "
               "it at either rate.", "With one seed there is no interval"],
         never=["sooner than it", "later than it", "by chance"]),
    Case("averaging sooner", lab=trained({OWN: 2, OTHER: 2, SAME: 3, SAME_OTHER: 3}),
         says=["in epochs, sooner than it at either rate; in seconds, sooner than it at the"],
         never=["in epochs, later than it at"]),
    Case("averaging as soon",
         edits=_pair(OWN, "sgd_large", **around("epochs_difference", 0.0)
                     | {"epochs_difference_low": -1.0, "epochs_difference_high": 1.0}),
         says=["in epochs, not told apart from it at the unscaled and later than it at the linear",
               f"{EQUAL_RATES} not told apart from SGD with the large batch."]),
    Case("epochs that cannot be compared",
         edits=_pair(OWN, "sgd_large", epochs_difference_low=NAN),
         says=["in epochs, not comparable with it at the unscaled and later than it at the linear",
               "Of 23 such comparisons"]),
    Case("one seed reaches the target", lab=trained({SAME: 12}),
         says=["With γ = 0.02 and α = 0.125 they reach it in 12 epochs with 1 of 3 seeds; with γ"]),
    Case("a seed diverged", edits={"model_averaging": where({"arm": OWN}, status="diverged")},
         says=["(γ = 0.2, α = 0.125) do not all come to an end: a seed diverged; beside"]),
    Case("no rate of its own", edits={"model_averaging": without(arm=[OWN, OTHER])},
         says=[f"eight averaged {AT_SAME} do not reach it in 12 epochs with any seed; beside SGD "
               "with as many samples a step (B = 128) they are, in epochs, later than it at either "
               "rate; in seconds, later than it at either rate. Every",
               "(B = 16) learners with γ = 0.02 and α = 0.125 are, in epochs, later than it and, "
               "in seconds, later than it. Where"],
         never=["a rate of their own", "differ by less than"]),
    Case("no rate of SGD", edits={"model_averaging": without(arm=[SAME, SAME_OTHER])},
         says=["and α = 0.125 are, in epochs"],
         never=[AT_SAME, "At γ = 0.02, with", "at the same rate they come"]),
    Case("an arm of SGD is missing", edits={"model_averaging": without(arm="sgd_large")},
         says=["Model averaging cannot be compared with SGD: its trainings ended without a result.",
               "Every arm saw"],
         never=["Where a seed does not", "A rate does not mean", "What came out"]),
    Case("no averaging", edits={"model_averaging": only(optimizer="sgd")},
         says=["cannot be compared with SGD: its"], never=["Every arm saw", "α is 1/k"]),
    *(Case(f"equal rates and {order}", lab=trained({OWN: epochs}),
           says=[f"{EQUAL_RATES} {order} SGD with the large batch{more}."])
      for epochs, order, more in [
          (5, "sooner than", ", which the length of the steps does not explain"),
          (9, "later than", ", which the length of the steps does not explain either"),
          (7, "not told apart from", ""),
      ]),
    Case("unequal effective rates",
         edits={"model_averaging": where({"arm": OWN}, effective_lr=0.1)},
         says=["at γ = 0.02 as at 0.0198 and at γ = 0.2 as at 0.198. That"], never=[EQUAL_RATES]),
    Case("the same rate both ways",
         edits=_pair(SAME_OTHER, "sgd_large", **around("epochs_difference", -2.0)),
         says=["as at 0.198. With"], never=["this predicts", "does not predict"]),
    Case("the drift explains the same rate",
         says=["At γ = 0.02 SGD so goes as far as plain SGD at the rate 0.2, and averaged learners",
               "later in epochs than SGD with the large batch is what this predicts."],
         never=["does not predict"]),
    Case("the drift does not explain the same rate", lab=trained({SAME: 2, SAME_OTHER: 2}),
         says=["Yet at the same rate they come sooner in epochs than SGD with the large batch, "
               "which this does not predict."], never=["this predicts"]),
    Case("α, and a target that tells nothing",
         says=["the authors' scripts. At γ = 0.02, with α = 0.125 and 0.1, the target tells "
               "nothing of them, since not every seed reached it, and the final accuracy is not "
               "told apart; at γ = 0.2, with α = 0.125 and 0.1, the second is, in epochs, later "
               "than the first and, in seconds, later than it, and the final accuracy is not told "
               "apart."]),
    Case("the second α is sooner", lab=trained({OTHER: 3}),
         says=["in epochs, sooner than the first and, in seconds, sooner than it, and"]),
    Case("the second α ends higher", edits=_alphas(**around("accuracy_difference_frac", 0.02)),
         says=["the final accuracy of the second is higher by 2.00 percentage points."]),
    Case("the second α ends lower", edits=_alphas(**around("accuracy_difference_frac", -0.02)),
         says=["the final accuracy of the second is lower by 2.00 percentage points."]),
    Case("the second α has no accuracy", edits=_alphas(accuracy_difference_frac_low=NAN),
         says=["later than it, and the final accuracy cannot be compared."]),
    Case("no two settings of α", edits={"averaging_pairs": without(arm=[SAME_OTHER, OTHER])},
         never=["α is 1/k"]),
    Case("learners, and a better number beyond the choice",
         says=["was timed apart from these trainings.", "raises throughput by more than 5%, and",
               "For mlp with b = 16 it settles on 3, at 1 800 samples/s (1 782 to 1 818); one "
               "more changes throughput by 2.7778% (2.7778 to 2.7778); the highest median is that "
               "of 5, 22.2% higher. That is 1.5000× (1.5000 to 1.5000) the throughput of the "
               "network by itself. For mlp with b"],
         never=["in which the threshold lies", "the most that were tried"]),
    Case("all learners that were tried", lab=trained(speeds={1: 1000.0, 2: 2000.0}),
         says=["it settles on 2", "(1 980 to 2 020), the most that were tried. That is"],
         never=["one more changes", "highest median"]),
    Case("a gain about the threshold",
         edits={"learners": where({"learners": 4}, **around("gain_frac", 0.05))},
         says=["by 5.00% (4.95 to 5.05), an interval in which the threshold lies; the highest"]),
    Case("no number chosen", edits={"learners": where(chosen=False)},
         never=["it settles on", "Learners are added"]),
    Case("slower than the network by itself", edits=_chosen(**around("against_plain_ratio", 0.5)),
         says=["That is only 0.500× (0.495 to 0.505) the throughput of the network by itself."]),
    Case("as fast as the network by itself", edits=_chosen(**around("against_plain_ratio", 1.0)),
         says=["From the network by itself it is not told apart (1.00× (0.99 to 1.01))."]),
    Case("no network by itself", edits={"learners": where(against_plain_ratio_low=NAN)},
         says=["5, 22.2% higher. For mlp with b = 128"], never=["That is", "From the"]),
    Case("no learners timed", edits={"learners": where(samples_per_s=NAN)},
         never=["Throughput is that", "Learners are added", "Throughput against the number"]),
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
    Case("what was expected, came out, and published on GPUs", lab=trained(run=GPUS),
         says=[f"Expected before the run: {made.EXPECTED} What came out: at γ = 0.2 with α = 0.125 "
               "the learners reach it after 6.00 (3.91 to 9.03) epochs and 10.5 s (6.8 to 15.8) of "
               f"training; beside SGD with as many samples a step (B = 128) they are, in epochs, "
               f"{LATER}; in seconds, later than it at either rate. An expectation failed where",
               "Published is that averaging small batches",
               "against TensorFlow). Of four comparisons, four disagree. "
               "Published is that throughput rises with the learners on a device. Of three "
               "comparisons, three agree."]),
    Case("a speed-up within the published range", lab=trained(averaged_epoch_s=0.5, run=GPUS),
         says=["Of four comparisons, three agree and one is not decidable."]),
    Case("speeds of CPU cores are not judged",
         says=["Of four comparisons, four are not judged (measured on CPU cores, published on "
               "GPUs).", "Of three comparisons, three are not judged (measured on"]),
    Case("nothing expected or published", lab=trained(run={"expected": None}),
         edits={"published_model_averaging": only(claim="none")},
         never=["Expected before", "Published is"]),
    Case("tables",
         says=["8 learners, b = 16, γ = 0.2, α = 0.125 0.198 3 of 3 seeds 6.00 (3.91 to 9.03) 10.5 "
               "s (6.8 to 15.8) 97.0% (96.2 to 97.7)",
               "γ = 0.2, α = 0.125 SGD, B = 16, γ = 0.02 3.00 (3.00 to 3.00) later 1.50 s (−1.61 "
               "to 4.61) not told apart 8",
               "α = 0.125 SGD, B = 128, γ = 0.02 −2.00 (−2.00 to −2.00) sooner 2.50 s (0.64 to "
               "4.36) later 8",
               "α = 0.125 SGD, B = 128, γ = 0.16 1.3 to 4 × 0.476× (0.435 to 0.517) not judged",
               "mlp, b = 16 5 learners against one more 2.2000× (2.2000 to 2.2000) ",
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
    assert ratio.value == pytest.approx(8 / 10.5)
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
