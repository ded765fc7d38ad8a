"""H3: what it says of accuracy, time and efficiency follows the trainings."""

from cases import Case, Edit, around, both, says, where
from dpscale.studies import answer_one

NAN = float("nan")
TWO = {"workers": 2, "rule": "linear"}
FOUR = {"workers": 4, "rule": "linear"}


def _trainings(cell: dict[str, object] | None = None, **columns: object) -> dict[str, Edit]:
    return {"assignment": where(cell, **columns)}


def _accuracy(value: float) -> dict[str, Edit]:
    apart = around("test_accuracy_difference_frac", value - 0.95)
    return _trainings(TWO, test_accuracy_frac=value, **apart)


CASES = [
    Case(
        "two faster",
        says=[
            "One worker trains 4 epochs in 34.0 s (33.7 to 34.3) to a test accuracy of 95.0%.",
            "More workers are faster than one (speed-up 1.60× to 2.51×, scaling efficiency "
            "62.9% to 80.2%). They reach 93.0% to 94.0%, lower than that of one.",
            "More workers are faster than one; hollow points",
            "with Adam, b = 128 a worker and a rate of 0.001 times N; a number is the median "
            "over three seeds with its 95% interval, which for an accuracy holds the sampling",
            "Of 4 such comparisons without any effect, about 0.2 would be",
            "without it the scaling efficiency is 83.3% at N = 2 and 69.4% at N = 4.",
        ],
        never=["oversubscribed", "Without a number"],
    ),
    Case(
        "two equal",
        lab={"two_worker_factor": 1.0},
        says=["More workers are not told apart in time from one (speed-up 1.00×"],
    ),
    Case(
        "two slower",
        lab={"two_worker_factor": 1.5},
        says=["More workers are slower than one (speed-up 0.459× to 0.680×"],
    ),
    Case(
        "two nodes",
        lab={"two_nodes": True},
        says=[
            "Two workers on two nodes reach 95.0%, not told apart from that of one and the "
            "others reach 93.0% to 94.0%, lower",
            "83.3% at N = 2 on two nodes",
        ],
    ),
    Case(
        "higher",
        edits=_accuracy(0.97),
        says=[
            "Two workers reach 97.0%, higher than that of one and four workers reach 93.0%, lower"
        ],
    ),
    Case(
        "one seed",
        edits=_trainings(seeds=1, test_accuracy_difference_frac_low=NAN),
        says=[
            "They reach 93.0% to 94.0%, not comparable, for want of seeds, with that of one",
            "there is one seed, which gives no interval.",
        ],
        never=["the median over"],
    ),
    Case(
        "evaluation not known",
        edits=_trainings(epochs_efficiency_frac=NAN),
        never=["Every worker evaluates"],
    ),
    Case(
        "shared cores",
        edits=_trainings(FOUR, oversubscribed=True),
        says=["At N = 4 the workers outnumber the devices"],
    ),
    Case(
        "a training that diverged",
        edits=_trainings(FOUR, status="diverged"),
        says=["Without a number, for its outcome, is the linear rule at N = 4 (diverged)."],
        never=["our workers are", "More workers"],
    ),
    Case(
        "published",
        says=[
            "The published figure for the speed-up at N = 2, 0.53, contradicts others: called",
            "Published, and not judged here (other data, digits): training time 456.15 s at "
            "N = 1, 379.69 s at N = 2 and 203.63 s at N = 4; scaling efficiency 60.07% at N = 2 "
            "and 56% at N = 4; test accuracy 98.27% (98.01 to 98.53) at N = 1 after 40 epochs,",
        ],
        never=["Of the published", " training time 1 1"],
    ),
    Case(
        "published of several verdicts",
        edits={
            "assignment_published": both(
                where({"claim": "efficiency_frac"}, verdict="agrees", reason=None),
                where({"claim": "test_accuracy_frac"}, verdict="not decidable", reason=None),
                where({"claim": "train_s", "workers": 4}, reason="other batches"),
            )
        },
        says=[
            "not named, two agree and six are not decidable.",
            " training time 456.15 s at N = "
            "1 and 379.69 s at N = 2. Not judged either (other batches): training time 203.63",
            " scaling efficiency 4 1 128 40 56% 62.9%",
            " test accuracy 4 1 128 21 99.2% (",
        ],
    ),
]


test_what_h3_says = says("H3", CASES)


def test_published_figures_are_in_a_table_of_their_own_and_no_value_is_one() -> None:
    case = Case("", edits={"assignment_published": where(verdict="agrees", reason=None)})
    answer = answer_one("H3", case.inputs)
    _, table = answer.tables
    assert len(table.rows) == 12  # one ratio, three times, two efficiencies, six accuracies
    printed = [row["published"] for row in table.rows]
    assert printed[1:4] == ["456.15\u00a0s", "379.69\u00a0s", "203.63\u00a0s"]
    assert printed[6] == "98.27% (98.01 to 98.53)"
    assert all(value.runs for value in answer.values.values() if value.value is not None)


def test_without_a_number_of_one_worker_every_comparison_is_withheld() -> None:
    case = Case("no base", edits=_trainings({"workers": 1}, status="diverged"))
    assert answer_one("H3", case.inputs).missing == [
        "assignment, one worker, the base of every comparison: diverged"
    ]
