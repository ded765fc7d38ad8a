"""S4: what it says of local SGD follows the differences of the arms, their losses and rounds."""

from collections.abc import Callable

import pandas as pd
import pytest

import local_sgd_builders
from builders import Tables, full_lab, run_row, table, without_runs
from cases import Case, Edit, around, both, numbers, only, says, where, without
from dpscale.studies import questions

NAN = float("nan")
NOISY, CLEAN, LARGE = 0.2, 0.0, "A2"


def trained(arm: str = LARGE, noise: float = NOISY, accuracy: float = 0.90) -> Tables:
    """A lab of this study alone, one arm's accuracy changed."""
    found = local_sgd_builders.ACCURACIES
    changed = found | {noise: found[noise] | {arm: accuracy}}
    empty = {name: frame.iloc[:0] for name, frame in full_lab().items()}
    made = local_sgd_builders.rows(run_row, changed)
    return empty | {name: table(name, rows) for name, rows in made.items()}


def arm(name: str, noise: float, accuracy: float) -> Callable[[], Tables]:
    return lambda: trained(name, noise, accuracy)


def diverged(noise: float) -> Callable[[], Tables]:
    """A seed of the large mini-batch diverged in a regime."""
    cell = {"arm": LARGE, "seed": 1, "label_noise_frac": noise}
    edit = where(cell, status="diverged")
    return lambda: (tidy := trained()) | {"trials": edit(tidy["trials"])}


def alike() -> Tables:
    same = dict.fromkeys(local_sgd_builders.ARMS, 0.97)
    rows = local_sgd_builders.rows(run_row, local_sgd_builders.ACCURACIES | {CLEAN: same})
    empty = {name: frame.iloc[:0] for name, frame in full_lab().items()}
    return empty | {name: table(name, own) for name, own in rows.items()}


def level() -> Tables:
    """Post-local SGD is as accurate as the large mini-batch with all labels."""
    return trained(LARGE, NOISY, 0.92)


def uncounted(tidy: Tables) -> Tables:
    return tidy | {"runs": tidy["runs"].assign(test_samples=pd.NA)}


def high_losses() -> Tables:
    """The better an arm the higher its loss."""
    tidy = trained()
    rows = tidy["curves"]
    return tidy | {"curves": rows.assign(train_loss=rows["test_accuracy_frac"])}


def unexpected() -> Tables:
    tidy = trained()
    return tidy | {"runs": tidy["runs"].assign(expected=pd.NA)}


def rates_tried(*shares: float) -> Callable[[], Tables]:
    """After a search among these shares of the rate; the results have the share 1."""

    def tidy() -> Tables:
        found = trained()
        tuning = found["trials"][found["trials"]["role"] == "tuning"]
        more = [
            tuning.assign(rate_factor=share, trial=100 + number)
            for number, share in enumerate(shares)
        ]
        return found | {"trials": pd.concat([found["trials"], *more], ignore_index=True)}

    return tidy


def beyond(gain: float) -> Callable[[], Tables]:
    """Post-local SGD differs by so much from the large mini-batch, on enough images to decide."""
    found = local_sgd_builders.ACCURACIES
    arms = {noise: own | {"A5 H=16": own[LARGE] + gain} for noise, own in found.items()}

    def tidy() -> Tables:
        made = {n: table(n, rows) for n, rows in local_sgd_builders.rows(run_row, arms).items()}
        empty = {name: frame.iloc[:0] for name, frame in full_lab().items()}
        return empty | made | {"runs": made["runs"].assign(test_samples=100_000)}

    return tidy


def local_sgd(noise: float, gain: float = 0.0, lr: float = 0.1, width: float = 0.9) -> Edit:
    """Local SGD with such labels differs so from the large mini-batch, at this rate.

    width: of the interval, in parts of the difference; 0.1 is no chance among all comparisons.
    """
    own = {"arm": "A4 H=4", "label_noise_frac": noise}
    ends = around("over_large_frac", gain, width) if gain else {}
    return where(own, lr=lr, **ends)


UNLEARNED = where({"arm": ["A3", "A4 H=4"], "label_noise_frac": CLEAN}, train_accuracy_frac=0.99)
CASES = [
    *(
        Case(
            f"arms that fit {fit:g} of the labels, of which 0.8 are right",
            edits={
                "local_sgd": both(
                    where({"label_noise_frac": NOISY}, train_accuracy_frac=0.79),
                    where({"label_noise_frac": NOISY, "arm": "A2"}, train_accuracy_frac=fit),
                )
            },
            says=says,
            never=never,
        )
        for fit, says, never in (
            (
                0.81,
                [
                    "With 20% wrong labels every arm fits 79.0% to 81.0% of its labels, about the "
                    "80% that are right: none has learned the wrong ones by heart, which is where "
                    "arms could have differed."
                ],
                [],
            ),
            (0.9, [], ["by heart"]),
        )
    ),
    Case(
        "the regimes apart and what is saved",
        lab=trained,
        says=[
            "Post-local SGD saves 45.0% of the large mini-batch's communication (local SGD 75.0%) "
            "at no measurable loss of test accuracy, higher with 20% wrong labels (+2.00 points). "
            "Huge mini-batch, with 80.0% less, is better with 20% wrong labels, by 5.00 points; "
            "with clean labels it is worse. Half the steps of post-local SGD are synchronous by "
            "design, then one in 16 communicates. With clean",
            "In short: Post-local SGD makes 22 rounds, the large mini-batch 40; its test accuracy "
            "shows no measurable difference with clean labels.",
            "labels clean: the mean network; training loss",
            "labels 20% wrong. A1",
            "clean post-local against large",
            "wrong post-local against large 2.00%",
            "wrong post-local against small 3.00%",
            "wrong small against large −1.00%",
            "wrong more local steps 2.00%",
            "(0.42 to 3.59) +0.14 to +0.22 points not judged",
            "A5 post-local SGD, H = 16 16 128 0.1",
        ],
        never=[
            "so none could differ",
            "nan",
            "What fewer rounds save in time",
            "of its training labels",
        ],
    ),
    Case(
        "the best arm did not learn the other labels, where it is worse",
        lab=trained,
        edits={"local_sgd": UNLEARNED},
        says=[
            "with clean labels, not learned, it is worse.",
            "With clean labels A3, huge mini-batch, fits 99.0% of its training labels (learnt: "
            "from 99.9%); no arm isolates whether slower optimisation alone makes it less "
            "accurate.",
        ],
    ),
    Case(
        "the protocol",
        lab=trained,
        says=[
            "16 learners of b = 8 train the small residual network on digits for four epochs; each",
            "Post-local SGD averages gradients in every step of the first 2 epochs, up to",
            "Medians over three seeds with 95% intervals; differences are paired by seed, and "
            "their intervals hold the error of 2000 test images too.",
        ],
    ),
    Case(
        "a seed, and images that nobody counted",
        lab=lambda: uncounted(trained()),
        edits={"local_sgd": where(seeds=1)},
        says=["Medians over one seed, which have no interval; differences are paired by seed. W"],
        never=["None"],
    ),
    Case(
        "arms that learned all and do not differ",
        lab=alike,
        says=[
            "points). With clean labels every arm learned its labels, so none can stand out.",
            "With clean labels every arm has a training accuracy of 99.9% or more, so that these "
            "labels decide nothing. With 20% wrong labels every arm has a training accuracy of "
            "99.9% or more, so that only generalisation sets them apart.",
        ],
    ),
    Case(
        "arms that did not learn all",
        lab=alike,
        edits={"local_sgd": where({"arm": "A3"}, train_accuracy_frac=0.99)},
        says=[
            "Huge mini-batch, with 80.0% less, is better with 20% wrong labels, by 5.00 points; "
            "with clean labels it shows no measurable difference."
        ],
        never=["learned its labels", "99.9%"],
    ),
    *(
        Case(
            f"post-local SGD differs with neither kind of labels, local SGD is {words}",
            lab=level,
            edits={
                "local_sgd_regimes": where(family=14),
                "published_local_sgd": where(measured=0.0, measured_low=-0.01, measured_high=0.01),
                "local_sgd": both(
                    where(over_large_frac_low=-0.01, over_large_frac_high=0.01, rates_tried=tried),
                    local_sgd(CLEAN, *clean or ()),
                    local_sgd(NOISY, *noisy or ()),
                ),
            },
            says=[
                f"communication at no measurable difference in test accuracy: +0.00 points with "
                f"clean labels and +0.00 with 20% wrong. Local SGD "
                f"saves 75.0% but {words}. Half the"
            ],
            never=["Choose it for", "(local SGD"],
        )
        # of clean labels and of wrong ones: the difference and the rate, of which the large has 0.1
        for clean, noisy, tried, words in (
            (
                (-0.03, 0.1),
                (-0.02, 0.1),
                3,
                "loses 3.00 points with clean labels and 2.00 with wrong; both may be chance",
            ),
            (
                (-0.03, 0.1, 0.1),
                (-0.02, 0.05, 0.1),
                3,
                "loses 3.00 points with clean labels and 2.00 with wrong (rate chosen 2× lower)",
            ),
            (
                (-0.03, 0.0125),
                (-0.02, 0.2, 0.1),
                3,
                "loses 3.00 points with clean labels (rate 8× lower) and 2.00 with wrong (2× "
                "higher); the former may be chance",
            ),
            ((-0.03, 0.1, 0.1), None, 3, "loses 3.00 points with clean labels"),
            (
                None,
                (-0.03, 0.0125),
                3,
                "loses 3.00 points with wrong labels (rate chosen 8× lower); this may be chance",
            ),
            (
                (-0.03, 0.1),
                (0.02, 0.1),
                3,
                "loses 3.00 points with clean labels and gains 2.00 with wrong; both may be chance",
            ),
            (
                (0.02, 0.1),
                (-0.03, 0.1, 0.1),
                3,
                "loses 3.00 points with wrong labels and gains 2.00 with clean; the latter may be "
                "chance",
            ),
            (
                (-0.03, 0.0125),
                (0.02, 0.1),
                3,
                "loses 3.00 points with clean labels (rate chosen 8× lower) and gains 2.00 with "
                "wrong; both may be chance",
            ),
            (
                (-0.03, 0.1),
                (0.02, 0.2),
                NAN,
                "loses 3.00 points with clean labels and gains 2.00 with wrong (rate 2× higher); "
                "both may be chance",
            ),
            (
                (-0.03, 0.0125),
                (0.02, 0.2),
                3,
                "loses 3.00 points with clean labels (rate 8× lower) and gains 2.00 with "
                "wrong (2× higher); both may be chance",
            ),
        )
    ),
    Case(
        "post-local SGD differs with neither kind of labels, a loss of local SGD may be chance",
        lab=level,
        edits={
            "local_sgd_regimes": where(family=14),
            "published_local_sgd": where(measured=0.0, measured_low=-0.01, measured_high=0.01),
            "local_sgd": both(
                where(over_large_frac_low=-0.01, over_large_frac_high=0.01),
                local_sgd(CLEAN, -0.03),
                local_sgd(NOISY, 0.02, width=0.1),
                where(
                    {"arm": "A3", "label_noise_frac": NOISY}, **around("over_large_frac", 0.03, 0.9)
                ),
            ),
        },
        says=["and gains 2.00 with wrong; the former may be chance. Half"],
    ),
    Case(
        "regimes of which the same holds",
        lab=lambda: trained(LARGE, NOISY, 0.92),
        edits={
            "published_local_sgd": where(measured=0.0, measured_low=-0.01, measured_high=0.01),
            "local_sgd": where(over_large_frac_low=-0.01, over_large_frac_high=0.01),
        },
        says=[
            "No better generalisation is shown: post-local SGD saves 45.0% of the large "
            "mini-batch's communication (local SGD 75.0%) at no measurable difference in test "
            "accuracy. With clean labels and with 20% wrong "
            "labels every arm learned its labels and none stands out. Choose it for its "
            "communication, not its accuracy. Half the",
            "then one in 16 communicates. With each",
            "With each kind of labels the test accuracy of post-local against small, small against "
            "large and H = 32 against H = 16 shows no measurable difference.",
            "With each kind of labels no arm is measurably more accurate than the large mini-",
        ],
        never=["With clean labels no arm"],
    ),
    Case(
        "regimes alike but for one comparison",
        lab=lambda: trained(LARGE, NOISY, 0.92),
        never=["With each kind of labels the test"],
    ),
    Case(
        "a ceiling of the arms that learned their labels",
        lab=alike,
        edits={"local_sgd": UNLEARNED},
        says=[
            "With clean labels A1, A2 and A5 learned their labels and end alike, at 97.0%: a "
            "ceiling, at which 2000 test images show no difference."
        ],
    ),
    Case(
        "a ceiling, and labels with which nothing differs",
        lab=level,
        edits={"local_sgd": UNLEARNED},
        says=[
            "at no measurable difference in test accuracy: +0.00 points with clean labels, all "
            "learned, and +0.00 with 20% wrong. Huge mini-batch is better with 20% wrong "
            "labels, by 3.00 points. Half",
            "no measurable difference with clean labels and with 20% wrong labels.",
        ],
        never=["no smaller differences", "Choose it"],
    ),
    Case(
        "a ceiling, and labels with which no arm is better",
        lab=level,
        edits={
            "local_sgd": both(
                UNLEARNED, where({"label_noise_frac": NOISY}, over_large_frac_low=-0.01)
            )
        },
        says=[
            "with clean labels, all learned, and +0.00 with 20% wrong. "
            "Choose it for its communication, not its accuracy. Half"
        ],
    ),
    Case(
        "no difference, and no ceiling",
        lab=level,
        edits={"local_sgd": where({"arm": "A1"}, train_accuracy_frac=0.99)},
        says=[
            "accuracy: +0.00 points with clean labels and +0.00 with 20% wrong. "
            "Huge mini-batch is better",
            "no measurable difference with clean labels and with 20% wrong labels.",
        ],
        never=["rms that learnt", "no smaller differences", "Choose it"],
    ),
    Case(
        "no difference, and an arm that chance could have made better",
        lab=level,
        edits={
            "local_sgd": both(
                where({"arm": "A1"}, train_accuracy_frac=0.99),
                where(
                    {"arm": ["A3", "A4 H=4", "A5 H=32"], "label_noise_frac": NOISY},
                    over_large_frac_low=-0.01,
                ),
                where({"arm": "A3", "label_noise_frac": NOISY}, over_large_frac_low=0.002),
            )
        },
        says=[
            "+0.00 points with clean labels and +0.00 with 20% wrong. Choose it for its",
            "with 20% wrong labels one arm is, A3, huge mini-batch, by 3.00 points (0.20 to 4.54), "
            "at 95.0% (92.3 to 97.6): one of 14 comparisons, of which chance alone decides about "
            "0.7.",
            "With 20% wrong labels A1, small mini-batch, fits 99.0% of",
        ],
        never=["is better with", "no smaller differences"],
    ),
    Case(
        "an arm that learned less at a lower rate",
        lab=arm("A4 H=4", CLEAN, 0.90),
        edits={
            "local_sgd": both(
                where(
                    {"arm": "A4 H=4", "label_noise_frac": CLEAN},
                    train_accuracy_frac=0.99,
                    lr=0.0125,
                ),
                where(rates_tried=3, rate_place="inside"),
            )
        },
        says=[
            "With clean labels A4, local SGD, H = 4, fits 99.0% of its training labels (learnt: "
            "from 99.9%) at a rate of 0.0125 chosen on validation data (A2: 0.1), so that its "
            "loss of 7.00 points (5.50 to 8.54) may come from the rate."
        ],
        never=["slower optimisation alone"],
    ),
    Case(
        "an arm that learned less at a lower rate, not searched",
        lab=arm("A4 H=4", CLEAN, 0.90),
        edits={
            "local_sgd": where(
                {"arm": "A4 H=4", "label_noise_frac": CLEAN}, train_accuracy_frac=0.99, lr=0.0125
            )
        },
        says=["(learnt: from 99.9%) at a rate of 0.0125 (A2: 0.1), so"],
    ),
    Case(
        "an arm that learned less at a higher rate, and one of another batch",
        lab=arm("A4 H=4", CLEAN, 0.90),
        edits={
            "local_sgd": both(
                UNLEARNED,
                where({"arm": "A4 H=4", "label_noise_frac": CLEAN}, lr=0.2),
                where({"arm": "A3", "label_noise_frac": CLEAN}, lr=0.05),
            )
        },
        says=[
            "With clean labels A3, huge mini-batch, fits 99.0% of its training labels (learnt: "
            "from 99.9%); no arm isolates whether slower optimisation alone makes it less "
            "accurate. A4, local SGD, H = 4, fits 99.0%; no arm isolates"
        ],
        never=["confounds this"],
    ),
    Case(
        "arms that learned their labels and end apart",
        lab=arm("A1", CLEAN, 0.96),
        edits={"local_sgd": UNLEARNED},
        never=["a ceiling"],
    ),
    Case(
        "a ceiling of images that nobody counted",
        lab=lambda: uncounted(alike()),
        edits={"local_sgd": UNLEARNED},
        never=["a ceiling"],
    ),
    Case(
        "another share of the training before the local steps",
        lab=trained,
        edits={"local_sgd": where({"arm": "A5 H=16"}, local_from_step=10)},
        says=["25% of the steps of post-local SGD are synchronous by design, then one in 16 comm"],
    ),
    Case(
        "local steps from the beginning",
        lab=trained,
        edits={"local_sgd": where({"arm": "A5 H=16"}, local_from_step=0)},
        says=[
            "communication (local SGD 75.0%) at no",
            "Post-local SGD makes 22 rounds against 40. With",
        ],
        never=["by design"],
    ),
    *(
        Case(
            f"no result of local SGD, {name}",
            lab=trained,
            edits={
                "local_sgd": both(
                    where({"arm": "A4 H=4"}, test_accuracy_frac=NAN, over_large_frac=NAN),
                    where({"arm": "A5 H=16"}, local_from_step=step),
                )
            },
            says=[f"mini-batch's communication ({words}) at no measurable"],
            never=["local SGD 75.0%", "Half the steps", "against 40. With"],
        )
        for name, step, words in (
            (
                "steps in common first",
                20,
                "half its steps are synchronous by design, then one in 16 communicates",
            ),
            ("local steps from the beginning", 0, "22 rounds against 40"),
        )
    ),
    Case(
        "local SGD that makes no fewer rounds",
        lab=trained,
        edits={"local_sgd": where({"arm": "A4 H=4"}, rounds=40)},
        says=["mini-batch's communication (half its steps are"],
    ),
    Case(
        "no local steps later",
        lab=trained,
        edits={"local_sgd_curves": where(switch_epoch=NAN)},
        never=["averages gradients"],
    ),
    Case(
        "the small mini-batch is worse",
        lab=arm("A1", NOISY, 0.85),
        says=["small against large (−5.00 percentage points, −7.05 to −2.95) is lower"],
    ),
    Case(
        "a diverged seed",
        lab=diverged(NOISY),
        says=[
            "makes 22 rounds of communication (local SGD 10) where the large mini-batch makes 40, "
            "and its test accuracy shows no measurable difference with clean labels (+0.00 "
            "percentage points, −1.07 to +1.07) and cannot be compared, for want of seeds that did "
            "not diverge, with 20% wrong labels. Three",
            "small against large cannot be compared",
            "cannot be compared with 20% wrong labels (1.08 against diverged)",
            "no arm is measurably more accurate than the large mini-batch.",
            "Of 9 such",
        ],
        never=["nan", "with 20% wrong labels no arm"],
    ),
    Case(
        "a diverged seed where rounds are compared",
        lab=diverged(CLEAN),
        says=[
            "did not diverge, with clean labels and is higher with 20% wrong labels (+2.00 "
            "percentage points, +0.22 to +3.78); its rounds are not known. Huge mini-batch, with "
            "80.0% less, is better with 20% wrong labels, by 5.00 points.",
            "With 20% wrong labels four arms are measurably more accurate than",
        ],
    ),
    # What a cluster will most likely show, and its opposite.
    Case(
        "post-local SGD one point better",
        lab=beyond(0.01),
        says=[
            "and its test accuracy is higher with clean labels (+1.00 points) and with 20% wrong "
            "labels (+1.00 points). Huge",
            "With clean labels and with 20% wrong labels every arm has a training accuracy of "
            "99.9% or more, so that only generalisation sets them apart.",
            "With clean labels one arm is measurably more accurate than the large mini-batch, A5, "
            "post-local SGD, H = 16, by 1.00 points (0.86 to 1.14), at 98.0%",
            "large mini-batches, two agree, one disagrees, one is not decidable and four",
            "What came out: beside the large mini-batch the test accuracy of post-local SGD is "
            "higher with clean labels and with 20% wrong labels.",
        ],
        never=["none can stand out", "no smaller differences"],
    ),
    Case(
        "post-local SGD one point worse",
        lab=beyond(-0.01),
        says=[
            "communication (local SGD 10) where the large mini-batch makes 40, and its test "
            "accuracy is lower with clean labels (−1.00 percentage points, −1.16 to −0.84) and "
            "with 20% wrong labels (−1.00 percentage points, −1.27 to −0.73).",
            "With clean labels and with 20% wrong labels every arm has a training accuracy of "
            "99.9% or more, so that only generalisation sets them apart.",
            "With clean labels no arm is measurably more accurate than the large mini-batch; with",
            "large mini-batches, one agrees, two disagree, one is not decidable and four",
            "the test accuracy of post-local SGD is lower with clean labels and with 20% wrong",
        ],
        never=["none can stand out", "no smaller differences"],
    ),
    Case(
        "the best arms",
        lab=trained,
        says=[
            "With clean labels no arm is measurably more accurate than the large mini-batch; with "
            "20% wrong labels four arms are, the best A3, huge mini-batch, by 5.00 points (3.38 to "
            "6.64), at 95.0% (92.3 to 97.6). With clean"
        ],
        never=["undecided", "of which chance"],
    ),  # there the best arm has the lower loss
    Case(
        "the best arm has the higher loss",
        lab=high_losses,
        says=[
            "at 95.0% (92.3 to 97.6). It fits its training labels less (loss 0.950 against 0.900); "
            "whether it generalises better or is only slower is undecided."
        ],
    ),
    Case(
        "the links",
        says=[
            "What fewer rounds save in time depends on the link: predicted, not measured, by the "
            "ring model of Q3.2, training of 16 workers with b = 32 (steps of the trained b = 8 "
            "were not timed) and H = 16 in half of its steps would be 1.01× as fast as with H = 1 "
            "on fast and 1.86× on slow, there still slower than one worker alone. Of",
            "H = 1 hides the share of its transfer that DDP hides here. Transfers take as long",
            "Predicted, not measured",
        ],
        never=["on this link", "κ"],
    ),
    *(
        Case(
            f"the links, with H = 16 {place}",
            edits={"local_sgd": where({"arm": "A5 H=16"}, local_from_step=step)},
            says=[f"were not timed) and H = 16 {place} would be 1.01× as", f" on fast and {slow}×"],
        )
        for step, place, slow in (
            (0, "in all of it", "13.3"),
            (10, "in the steps that are local here", "3.26"),  # 1 / (1/4 + 3/4 / 13.3)
        )
    ),
    Case(
        "the links, on which one worker alone takes longer",
        edits={"communication": where({"workers": 1}, epoch_s=1e3)},
        says=["on fast and 1.86× on slow. Of"],
    ),
    Case(
        "the trained batch was timed",
        edits={"local_sgd": where(per_worker_batch=512)},
        says=[
            "depends on the link: predicted, not measured, by the ring model of Q3.2, training "
            "of 16 workers with H = 16 in half of its steps would be 1.00× as fast as with H = 1 "
            "on fast and 1.75× on slow."
        ],
        never=["a further table"],
    ),
    Case(
        "the best arm is better with other labels too",
        lab=trained,
        edits={
            "local_sgd": where(
                {"arm": ["A3", "A5 H=16"], "label_noise_frac": CLEAN},
                over_large_frac_low=0.005,
                over_large_frac_high=0.015,
            )
        },
        says=["by 5.00 points; with clean labels it is better too. "],
    ),
    Case(
        "the best arm with other labels without an interval",
        lab=trained,
        edits={
            "local_sgd": where(
                {"arm": "A3", "label_noise_frac": CLEAN},
                over_large_frac_low=NAN,
                train_accuracy_frac=0.99,
            )
        },
        says=["; with clean labels it cannot be compared."],
    ),
    Case(
        "a stretched link beside another",
        edits={"local_sgd_times": where({"link": "fast"}, stretch_ratio=3.17, overlap_frac=0.0)},
        says=[
            "whatever H: 3.17× on fast with b = 32, 3.17× on fast with b = 512. On other links "
            "transfers take as long as alone: what"
        ],
    ),
    Case(
        "nothing is hidden",
        edits={"local_sgd_times": where(stretch_ratio=3.17, overlap_frac=0.0)},
        says=["H = 1 hides nothing of its transfer either, as DDP does here.", "3.17× on slow"],
        never=["as long as alone: what"],
    ),
    Case(
        "published verdicts, and what was expected and came out",
        lab=trained,
        says=[
            "Of eight comparisons with Lin et al. (2020), who find post-local SGD better than "
            "small and large mini-batches, four are not decidable and four are not judged "
            "(published without wrong labels).",
            "Expected before the run: “post-local SGD is more accurate with wrong labels.” What "
            "came out: beside the large mini-batch the test accuracy of post-local SGD shows no "
            "measurable difference with clean labels and is higher with 20% wrong labels. With "
            "clean labels the test accuracy of post-local against small, small against large and "
            "H = 32 against H = 16 shows no measurable difference.",
        ],
    ),
    Case(
        "a claim of each verdict",
        lab=arm("A5 H=16", CLEAN, 0.99),
        says=["large mini-batches, two agree, one disagrees, one is not decidable and four"],
        edits={
            "published_local_sgd": where(
                {"claim": "more_local_steps", "label_noise_frac": 0.0}, verdict="disagrees"
            )
        },
    ),
    Case(
        "nothing expected",
        lab=unexpected,
        says=["the test accuracy of post-local against small"],
        never=["Expected before"],
    ),
    Case(
        "searches of several lengths",
        lab=rates_tried(0.5, 2.0),
        edits={"local_sgd": where({"arm": "A3"}, rates_tried=7, rate_place="lowest")},
        says=[
            "which took 3 to 7 of them. At the border lie those of huge mini-batch with clean "
            "labels (lowest of 7), huge mini-batch with 20% wrong labels (lowest of 7): a"
        ],
    ),
    Case(
        "a run is missing",
        lab=lambda: without_runs(full_lab(), ["local_sgd-noise0-a3"]),
        says=[
            "one result that it needs is missing. Missing: local_sgd, local_sgd-noise0-a3: not run "
            "yet. The answer"
        ],
    ),
    Case(
        "nothing ran",
        lab=trained,
        edits={"local_sgd": only(arm="none"), "published_local_sgd": only(claim="none")},
        says=["Missing: local_sgd: not run yet."],
    ),
    Case(
        "no post-local arm",
        lab=trained,
        edits={"published_local_sgd": without(claim="post_local_against_large")},
        says=["Missing: local_sgd: no post-local arm beside a large mini-batch."],
    ),
]


test_what_s4_says = says("S4", CASES)


def test_a_difference_leads_to_the_runs_of_both_arms() -> None:
    answer = questions()["S4"](Case("", lab=trained).inputs)
    found = answer.values["noise20_post_local_against_small_difference"]
    assert found.value == pytest.approx(0.03)
    assert found.runs == ["local_sgd-noise20-a1", "local_sgd-noise20-a2-a5"]
    printed = dict(numbers(" ".join(answer.said.paragraphs)))
    assert printed["+3.00 percentage points, +1.18 to +4.82"] == found.runs


def test_the_caption_says_what_the_arms_show() -> None:
    arms, *others = questions()["S4"](Case("", lab=trained).inputs).figures
    assert arms.caption.startswith(
        "Beside the large mini-batch the test accuracy of post-local SGD shows no measurable "
        "difference with clean labels and is higher with 20% wrong labels. "
    )
    assert all(one.further for one in others)


def test_a_list_of_rates_at_the_border_stays_in_the_paragraph_of_the_protocol() -> None:
    answer = questions()["S4"](Case("", lab=rates_tried(0.5)).inputs)
    assert "lie beyond. Post-local SGD takes" in answer.method[0]
