"""Q7: what it says of training and of evaluation follows the replicas and the losses."""

import functools

import pandas as pd
import pytest

from builders import Tables, derived_lab, full_lab
from cases import Case, Edit, both, check, only, where, without
from dpscale.studies import answer_all, summary

NAN = float("nan")
OFF, ON = {"arm": "no_broadcast"}, {"arm": "broadcast"}


def _off(**columns: object) -> dict[str, Edit]:
    return {"replicas": where(OFF, **columns)}


def _on(**columns: object) -> dict[str, Edit]:
    return {"replicas": where(ON, **columns)}


def _steps(steps: Edit) -> Tables:
    tables = full_lab()
    return tables | {"steps": steps(tables["steps"])}


def _images(count: object) -> Tables:
    tables = full_lab()
    return tables | {"runs": tables["runs"].assign(test_samples=count)}


CASES = [
    Case("drift and spread",
         says=["For training yes, for evaluation no: without the broadcast of buffers the "
               "parameters stay bitwise identical on all workers and the training loss is the "
               "same, bit for bit, as with the broadcast;",
               "drift apart by up to 1.00% of their norm, and",
               "by up to 1.00 percentage points against 0 percentage points with the broadcast.",
               "on two workers with and", "from the same two seeds.",
               "The parameters stay identical because", "All 4 training losses",
               "1.00% without the broadcast and 0% with it, larger without it in every seed.",
               "by up to 1.00 percentage points without the broadcast and 0 percentage points",
               "One of the 2 000 test images weighs 0.0500 percentage points.",
               "over the seeds, and in every seed, the spread is larger without",
               "not enough for evaluation", "by seed. not broadcast 0 yes 1.00%", "broadcast 1"],
         never=["Even with"]),
    Case("the parameters differ",
         edits=_off(parameters_identical=False, parameter_difference_max=0.5),
         says=["For training no, for", "parameters differ between workers, by up to 0.500 and the",
               "so something else enters the update"]),
    Case("the parameters were not compared", edits=_off(parameters_identical=None),
         says=["For training not shown", "the parameters were not compared and the training"]),
    Case("no drift and no spread",
         edits=_off(buffer_difference_frac_max=0.0, test_accuracy_spread_frac=0.0),
         says=["for evaluation yes", "the running statistics stay the same on all workers, and",
               "the test accuracy is the same with every worker's statistics.",
               "0% without the broadcast and 0% with it, not larger in every seed of either side",
               "The test set has too few images"]),
    Case("drift and no spread", edits=_off(test_accuracy_spread_frac=0.0),
         says=["for evaluation no cost shown", "drift apart by up to", "is the same with every"]),
    Case("an unequal loss",
         lab=functools.partial(_steps, where({"run": "replicas-no_broadcast"},
                                             loss=lambda loss: loss + 0.25)),
         says=["For training not shown",
               "the training loss differs from that with the broadcast in 4 of 4 steps, by up to "
               "0.250;", "so equal losses are expected; here the training loss differs"],
         never=["bit for bit"]),
    Case("no losses", lab=functools.partial(_steps, without(run="replicas-no_broadcast")),
         says=["For training not shown", "and the training losses were not recorded;"]),
    Case("drift with the broadcast", edits=_on(buffer_difference_frac_max=0.002),
         says=["0.200% with it, larger without it in every seed. Even with the broadcast they "
               "differ after the last step"]),
    Case("more drift with the broadcast", edits=_on(buffer_difference_frac_max=0.02),
         says=["2.00% with it, larger with it in every seed."]),
    Case("drift not measured", edits=_off(buffer_difference_frac_max=NAN),
         says=["the running statistics were not compared, and",
               "The running statistics were not compared."],
         never=["Each worker updates"]),
    Case("a spread no larger than with the broadcast", edits=_on(test_accuracy_spread_frac=0.01),
         says=["for evaluation no cost shown",
               "by up to 1.00 percentage points, no larger than with the broadcast (1.00 "
               "percentage points), so this test set shows no cost; the statistics themselves "
               "differ.",
               "By the largest over the seeds it is no larger than with the broadcast, so this "
               "test set shows no cost; the statistics themselves differ."],
         never=["not enough for evaluation"]),
    Case("a level spread without drift",
         edits={"replicas": both(where(buffer_difference_frac_max=0.0),
                                 where(test_accuracy_spread_frac=0.01))},
         says=["so this test set shows no cost."], never=["themselves differ"]),
    Case("a spread larger in one seed",
         edits={"replicas": both(where({**OFF, "seed": 0}, test_accuracy_spread_frac=0.03),
                                 where({**ON, "seed": 1}, test_accuracy_spread_frac=0.02))},
         says=["over the seeds, though not in every seed, the spread is larger"]),
    Case("one seed", edits={"replicas": only(seed=0)},
         says=["from the same seed.", "By the largest over the seeds the spread is larger"]),
    Case("accuracies by worker not measured", edits=_off(test_accuracy_spread_frac=NAN),
         says=["for evaluation not measured", "the test accuracy by worker was not measured.",
               "The spread of the test accuracy over workers was not measured."]),
    Case("accuracies with the broadcast not measured", edits=_on(test_accuracy_spread_frac=NAN),
         says=["for evaluation not measured", "by up to 1.00 percentage points. The same"]),
    Case("images unknown", lab=functools.partial(_images, pd.NA), never=["test images weighs"]),
    Case("no replica compared", edits={"replicas": without(**OFF)},
         says=["Missing: replicas, no_broadcast: no replica was compared. The"]),
    Case("not trained", edits={"accuracy": without(study="replicas", arm="no_broadcast")},
         says=["Missing: replicas, no_broadcast: not run yet. The answer"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q7_says(case: Case) -> None:
    check("Q7", case)


def test_the_finding_on_replicas_follows_the_condition() -> None:
    derived = derived_lab()
    level = derived["replicas"].assign(test_accuracy_spread_frac=0.01)
    found = derived | {"replicas": level}
    assert "shows no cost" in summary(answer_all(found, full_lab()), found, full_lab())[2].text
