"""H3: what it says of accuracy, time and efficiency follows the trainings."""

from cases import Case, Edit, around, both, says, where
from dpscale.studies import answer_one

NAN = float("nan")
TWO = {"workers": 2, "rule": "linear"}
FOUR = {"workers": 4, "rule": "linear"}


def _trainings(cell: dict[str, object] | None = None, **columns: object) -> dict[str, Edit]:
    return {"assignment": where(cell, **columns)}


def _accuracy(low: float, high: float) -> dict[str, Edit]:
    """What two workers have more than one, as an interval."""
    name, middle = "test_accuracy_difference_frac", (low + high) / 2
    return _trainings(TWO, **{name: middle, f"{name}_low": low, f"{name}_high": high})


CASES = [
    Case(
        "both faster",
        says=[
            "Here two and four workers train 1.60× and 2.51× as fast as one: 21.2 s and 13.5 s "
            "against 34.0 s, a scaling efficiency of 80.2% and 62.9%. Two and four workers lose "
            "accuracy: 94.0% and 93.0% against one worker's 95.0%.",
            "In short: Here four workers train 2.51× as fast as one; test accuracy 93.0% against",
            "Two and four workers are faster than one; hollow points",
            "Trained is a small convolutional network with Adam on scikit-learn's digits (D =",
            "the median over three seeds, each in processes of its own, with its 95% interval",
            "Of 4 such comparisons, each by a 95% interval, chance alone decides about 0.2",
            "without that part the scaling efficiency is 83.3% and 69.4%. H4 says where the rest",
        ],
        never=["outnumber", "Without a number"],
    ),
    Case(
        "the assignment's data",
        edits=_trainings(dataset="mnist"),
        says=[
            "In the assignment's training two and four workers train",
            "In short: In the assignment four workers train 2.51× as fast as one;",
        ],
        never=["stand-in"],
    ),
    Case(
        "no faster",
        lab={"two_worker_factor": 1.0},
        says=[
            "Here two and four workers do not train measurably faster than one (1.00× and 1.00×)",
            "Two and four workers are not measurably faster; hollow",
        ],
    ),
    Case(
        "slower",
        lab={"two_worker_factor": 1.5},
        says=[
            "Here two and four workers take longer than one (0.680× and 0.459× as fast): 50.0 s "
            "and 74.0 s against 34.0 s, a scaling",
            "Two and four workers are slower than one; hollow",
        ],
    ),
    Case(
        "one launch each",
        edits=_trainings({"workers": [2, 4]}, speedup_ratio_low=NAN),
        says=[
            "took one launch each, too few to compare (1.60× and 2.51×)",
            "Two and four workers were launched once; hollow",
        ],
        never=["train 1.60× as fast as one"],
    ),
    Case(
        "a cluster of two nodes with four GPUs",
        lab={"two_nodes": True},
        edits=_trainings(
            {"workers": 4, "nodes": 2, "rule": "linear"},
            **around("speedup_ratio", 3.5),
            **around("efficiency_frac", 0.875),
        ),
        says=[
            "Here more workers train 1.60× to 3.50× as fast as one: 13.5 s to 21.2 s against "
            "34.0 s, a scaling efficiency of 62.9% to",
            "Two and four workers and four on two nodes lose accuracy: 93.0% to 94.0%",
            "two workers on two nodes reach 95.0% and keep one worker's 95.0% within a point.",
        ],
    ),
    Case(
        "a cluster that gains nothing",
        lab={"two_nodes": True, "two_worker_factor": 1.5},
        says=["Here more workers take longer than one (0.459× to 0.680× as fast)"],
    ),
    *(
        Case(words, edits=_accuracy(low, high), says=[f"wo workers {words}"])
        for words, low, high in (
            ("reach 94.0%, more than one worker's 95.0%", 0.001, 0.02),
            ("reach 94.0% and keep one worker's 95.0% within a point", -0.009, 0.02),
            (
                "reach 94.0% against one worker's 95.0%, no measurable loss, though over a point "
                "is possible",
                -0.011,
                0.02,
            ),
            ("reach 94.0%, one worker 95.0%, without an interval", NAN, NAN),
        )
    ),
    Case(
        "one seed",
        edits=_trainings(seeds=1),
        says=["there is one seed, which gives no interval."],
        never=["the median over"],
    ),
    Case(
        "a start-up not known",
        edits=_trainings(TWO, speedup_with_startup_ratio=NAN),
        never=["With start-up"],
        says=["lose accuracy"],
    ),
    Case(
        "evaluation not known",
        edits=_trainings(epochs_efficiency_frac=NAN),
        never=["Every worker evaluates"],
    ),
    Case(
        "shared cores",
        edits=_trainings(FOUR, oversubscribed=True),
        says=["At N = 4 the workers outnumber devices"],
    ),
    Case(
        "a training that diverged",
        edits=_trainings(FOUR, status="diverged"),
        says=["Without a number, for its outcome, is the linear rule at N = 4 (diverged)."],
        never=["our workers", "More workers"],
    ),
    Case(
        "no other has a result",
        edits=_trainings({"workers": [2, 4]}, status="diverged"),
        says=["One worker trains 4 epochs in 34.0 s (33.7 to 34.3) to a test accuracy of 95.0%"],
    ),
    Case(
        "published",
        says=[
            "The published figure for the speed-up at N = 2, 0.53, contradicts the published "
            "times, by which two workers, called 0.53 times faster, are 1.20 times as fast as one.",
            "Published, and not judged here (other data, digits): training time 456.15 s at N = "
            "1, 379.69 s at N = 2 and 203.63 s at N = 4; scaling efficiency 60.07% at N = 2 and "
            "56% at N = 4; test accuracy 98.27% (98.01 to 98.53) at N = 1 after 40 epochs,",
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
            " training time 456.15 s at N = 1 and 379.69 s at N = 2. Not judged either (other "
            "batches): training time 203.63",
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
