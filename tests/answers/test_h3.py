"""H3: what it says of accuracy, time and efficiency follows the trainings."""

from typing import Any

from cases import Case, Edit, around, both, disturbed, says, where, without
from dpscale.studies import answer_one
from test_h4 import largest, of_four

NAN = float("nan")
TWO = {"workers": 2, "rule": "linear"}
FOUR = {"workers": 4, "rule": "linear"}
LOSSES = {
    "load": "loading",
    "copy": "the copy to the device",
    "sharing": "contention between workers",
    "stragglers": "stragglers",
    "overhead": "the overhead of DDP",
    "exposed": "waiting for communication",
}


def _trainings(cell: dict[str, object] | None = None, **columns: object) -> dict[str, Edit]:
    return {"assignment": where(cell, **columns)}


def speedup(workers: int | list[int], low: float, value: float, high: float) -> Edit:
    """The speed-up of numbers of workers, with its interval."""
    columns = {"": value, "_low": low, "_high": high}
    cell = {"workers": workers, "rule": "linear"}
    return where(cell, **{f"speedup_ratio{end}": one for end, one in columns.items()})


def _accuracy(low: float, high: float) -> dict[str, Edit]:
    """What two workers have more than one, as an interval."""
    name, middle = "test_accuracy_difference_frac", (low + high) / 2
    return _trainings(TWO, **{name: middle, f"{name}_low": low, f"{name}_high": high})


def ends(column: str, low: float, high: float) -> dict[str, float]:
    """A column with an interval."""
    return {column: (low + high) / 2, f"{column}_low": low, f"{column}_high": high}


def with_assigned(**columns: Any) -> dict[str, Any]:
    """A lab that trains with b = 32, and what it was timed to do with the assignment's 128.

    n2, n4: the speed-ups of as many workers, with their intervals.
    """
    edits = [
        where({"workers": int(name[1:])}, **dict(zip(ENDS, ends, strict=True)))
        for name, ends in columns.items()
    ]
    return {"lab": {"assignment_batch": 32}, "edits": {"assignment_assigned": both(*edits)}}


ENDS = ("speedup_ratio", "speedup_ratio_low", "speedup_ratio_high")
OPEN = {
    "test_accuracy_difference_frac": 0.0,
    "test_accuracy_difference_frac_low": -0.02,
    "test_accuracy_difference_frac_high": 0.02,
}
both_faster, two_faster = "two and four are faster (1.30× and 1.30×)", "two are faster (1.30×)"
four_faster, none = "four are faster (1.30×)", "none is measurably faster"
FASTER, LIKE, SLOWER, ONCE = (1.3, 1.2, 1.4), (1.1, 0.9, 1.3), (0.8, 0.7, 0.9), (1.3, NAN, NAN)


CASES = [
    *(
        Case(
            f"with the assignment's batch {words}",
            **with_assigned(n2=two, n4=four),
            says=[
                "With b = 32 four workers train 2.51× as fast as one, scaling efficiency 62.9%; "
                f"two are 1.60× as fast as one. In epochs with b = 128 {words}. "
                f"Test "
                f"accuracy is",
                "With the assignment's b = 128 epochs were timed, without evaluations; the scaling "
                "efficiency is 83.3% with two workers and 69.4% with four. Trained with it, "
                "untimed, at the rate 0.004 times N, one worker reaches a test accuracy of 94.8%, "
                "two 93.8% (−1.20 to −0.80 points, lower: 39 updates an epoch), four 92.8% (−2.21 "
                "to −1.79 points, lower: 19 updates an epoch). Starting",
                f"In short: Here four workers train 2.51× as fast as one; in epochs of b = 128 "
                f"{short}.",
                "An epoch with the assignment's batch, loading included and no evaluation",
                f"Of {compared} such comparisons",
            ],
        )
        for two, four, words, short, compared in (
            (FASTER, FASTER, both_faster, f"{both_faster}, two and four less accurate", 8),
            (
                FASTER,
                LIKE,
                f"{two_faster}; four are not measurably faster (1.10×)",
                f"{two_faster}, two less accurate",
                8,
            ),
            (LIKE, LIKE, "two and four are not measurably faster (1.10× and 1.10×)", none, 8),
            (
                LIKE,
                SLOWER,
                "two are not measurably faster (1.10×); four are slower (0.800×)",
                none,
                8,
            ),
            (
                FASTER,
                ONCE,
                f"{two_faster}; four were launched once (1.30×)",
                f"{two_faster}, two less accurate",
                7,
            ),
            (
                SLOWER,
                FASTER,
                f"two are slower (0.800×); {four_faster}",
                f"{four_faster}, four less accurate",
                8,
            ),
        )
    ),
    *(
        Case(
            f"slower with another batch, with the assignment's {words}, and why",
            lab={"assignment_batch": 32, "two_worker_factor": 1.5},
            edits={
                "assignment": both(
                    where(FOUR, oversubscribed=True),
                    where({"workers": [2, 4], "rule": "linear"}, **OPEN),
                ),
                "assignment_assigned": both(
                    with_assigned(n2=two, n4=four)["edits"]["assignment_assigned"], learnt
                ),
            },
            says=[
                "With b = 32 four workers, sharing devices, take longer than one (0.459× as fast), "
                "scaling efficiency 11.5%; two are slower (0.680×). In epochs with "
                f"b = 128 {words}. Test accuracy shows no measurable loss{kept}.",
                (
                    "Their test accuracy with it was not measured."
                    if "each may" in kept
                    else "Trained with it, untimed"
                ),
                "goes: with four workers 49.8% of an epoch is waiting for communication.",
            ],
        )
        for two, four, words in (
            (FASTER, LIKE, "two are faster (1.30×); four are not measurably faster (1.10×)"),
            (LIKE, LIKE, "two and four are not measurably faster (1.10× and 1.10×)"),
        )
        for learnt, kept in (
            (
                where({"workers": [2, 4]}, **OPEN),
                ": 95.0%, 94.0% and 93.0%, with 128 94.8%, 93.8% and 92.8% (over a point may hide)",
            ),
            (
                where({"workers": 2}, **OPEN),
                " with b = 32 (95.0%, 94.0% and 93.0%); with 128 four lose accuracy (92.8%)",
            ),
            (
                where(test_accuracy_frac=NAN),
                ": 95.0% with one worker, 94.0% with two and 93.0% with four (each may hide a "
                "point)",
            ),
        )
    ),
    *(
        Case(
            f"the accuracy with the assignment's batch {name}",
            lab={"assignment_batch": 32},
            edits={"assignment_assigned": where({"workers": 4}, **ends(column, low, high))},
            says=[
                f"two 93.8% (−1.20 to −0.80 points, lower: 39 updates an epoch), four "
                f"92.8%{words}. Starting"
            ],
        )
        for column in ["test_accuracy_difference_frac"]
        for name, low, high, words in (
            ("may rise", -0.01, 0.02, " (−1.00 to +2.00 points)"),
            ("rises", 0.01, 0.02, " (+1.00 to +2.00 points, higher)"),
            ("is of one seed", NAN, NAN, ""),
        )
    ),
    Case(
        "no faster with either batch",
        lab={"assignment_batch": 32, "two_worker_factor": 1.0},
        edits={
            "assignment": where(FOUR, oversubscribed=True),
            **with_assigned(n2=LIKE, n4=LIKE)["edits"],
        },
        says=[
            "With b = 32 four workers, sharing devices, do not train measurably faster than one "
            "(1.00×), scaling efficiency 25.0%; two likewise (1.00×). In epochs with "
            "b = 128 two and four are not measurably faster (1.10× and 1.10×). Test"
        ],
    ),
    Case(
        "the assignment's own training with a smaller batch",
        lab={"assignment_batch": 32},
        edits={"assignment": where(dataset="mnist")},
        says=["With b = 32 four workers train 2.51× as fast as one, scaling efficiency 62.9%;"],
        never=["In the assignment's training"],
    ),
    *(
        Case(
            f"two nodes too, and with the assignment's batch {words}",
            lab={"assignment_batch": 32, "two_nodes": True},
            edits=with_assigned(n2=two, n4=four)["edits"],
            says=[
                "With the assignment's b = 128 epochs were timed, without evaluations: two ",
                f"In short: Here four workers on two nodes train 2.51× as fast as one; {words}.",
            ],
            never=["At the assignment's"],
        )
        for two, four, words in (
            (FASTER, LIKE, "in epochs of b = 128 two are faster (1.30×), two less accurate"),
            (SLOWER, LIKE, "in epochs of b = 128 none is measurably faster"),
            (ONCE, LIKE, "test accuracy 94.0%, of one worker 95.0%"),
        )
    ),
    *(
        Case(
            f"nothing is known of the assignment's batch: {why}",
            lab={"assignment_batch": 32},
            edits={"assignment_assigned": edit},
            says=[
                "With b = 32 four workers train 2.51× as fast as one, scaling efficiency 62.9%; "
                "two are 1.60× as fast as one (efficiency 80.2%). Test accuracy is"
            ],
            never=["assignment's"],
        )
        for why, edit in (
            ("not timed", lambda rows: rows.iloc[:0]),
            ("not run yet", where(status="not run yet")),
            ("one worker failed", where(**dict.fromkeys(ENDS, NAN))),
        )
    ),
    Case(
        "launches that others disturbed",
        edits={
            "quiet": disturbed(
                "assignment-linear-n1", "assignment-linear-n4", "assignment-linear-n4-launch2"
            )
        },
        says=[
            "Other programs disturbed three of the nine launches: one with one worker and two with "
            "four workers; these times may be too long.",
            "start-up not; other programs disturbed three of the nine launches.",
        ],
    ),
    Case(
        "launches that others disturbed both times",
        edits={"quiet": disturbed("assignment-linear-n1", "assignment-linear-n4", repeated=1)},
        says=[
            "Other programs disturbed two of the nine launches, though made again: one with one "
            "worker and one with four workers; these times may be too long.",
            "A launch that others disturb is trained again, once: two of the nine were.",
        ],
    ),
    Case(
        "a launch that was made again in quiet",
        edits={"quiet": disturbed("assignment-linear-n4", repeated=1, quietness="quiet")},
        says=["A launch that others disturb is trained again, once: one of the nine was."],
        never=["Other programs disturbed"],
    ),
    Case(
        "what an evaluation takes, and a quiet machine",
        says=["Every worker evaluates the whole test set, ", " of that of four; without that"],
        never=["Other programs disturbed", "trained again"],
    ),
    *(
        Case(
            f"four share devices that two do not, and train {words}",
            edits={
                "assignment": both(
                    where(FOUR, oversubscribed=True, pace=pace), speedup(4, *interval)
                )
            },
            says=[
                "With b = 128 two workers train 1.60× as fast as one (efficiency 80.2%); "
                f"four, sharing devices, {words} (efficiency 62.9%). Test accuracy",
                "In short: Here two workers train 1.60× as fast as one, four, sharing devices, "
                f"{words}; test accuracy 93.0%, of one worker 95.0%.",
            ],
        )
        for pace, interval, words in (
            ("above", (2.4, 2.5, 2.6), "2.50×"),
            ("below", (0.7, 0.75, 0.8), "only 0.750×"),
            ("indistinct", (0.8, 1.1, 1.4), "1.10×, no measurable gain"),
            ("unknown", (NAN, 0.75, NAN), "0.750× in one launch"),
        )
    ),
    Case(
        "both faster",
        says=[
            "With b = 128 four workers train 2.51× as fast as one, scaling efficiency 62.9%; two "
            "are 1.60× as fast as one (efficiency 80.2%). Test accuracy is 95.0% with one worker; "
            "two and four lose accuracy (94.0% and 93.0%). Every",
            "In short: Here four workers train 2.51× as fast as one; test accuracy 93.0%, of one "
            "worker",
            "Two and four workers are faster than one; hollow points",
            "Trained is a small convolutional network with Adam on scikit-learn's digits (D =",
            "the median over three seeds, each in processes of its own, with its 95% interval",
            "Of 4 such comparisons, each by a 95% interval, chance alone decides about 0.2",
            "without that part the scaling efficiency is 83.3% with two workers and 69.4% with "
            "four. Starting the processes takes 3.00 s to 12.0 s besides, timed in one launch of "
            "each number of workers. H4 says where the rest of the efficiency goes: with four "
            "workers 19.7% of an epoch is loading.",
            "without the start-up. Of 4",
        ],
        never=["outnumber", "Without a number", "With the start-up"],
    ),
    Case(
        "the assignment's data",
        edits=_trainings(dataset="mnist"),
        says=[
            "In the assignment's training four workers train 2.51× as fast as one, sc",
            "In short: In the assignment four workers train 2.51× as fast as one;",
        ],
        never=["stand-in"],
    ),
    Case(
        "no faster",
        lab={"two_worker_factor": 1.0},
        says=[
            "With b = 128 four workers do not train measurably faster than one: 1.00× (0.99 to "
            "1.01), scaling efficiency 25.0%; two likewise (1.00×, efficiency 50.0%). Waiting for "
            "communication takes 42.0% of an epoch of four (H4). Test",
            "In short: Here four workers do not train measurably faster than one (1.00×); test",
            "of the efficiency goes: after waiting for communication comes loading (",
            "Two and four workers are not measurably faster; hollow",
        ],
    ),
    Case(
        "slower",
        lab={"two_worker_factor": 1.5},
        says=[
            "With b = 128 four workers take longer than one (0.459× as fast), scaling efficiency "
            "11.5%; two are slower (0.680×, efficiency 34.0%). Waiting for communication takes "
            "49.8% of an epoch of four (H4). Test",
            "Two and four workers are slower than one; hollow",
        ],
    ),
    *(
        Case(
            f"a speed-up of {low} to {high}",
            edits={"assignment": speedup([2, 4], low, value, high)},
            says=[
                f"With b = 128 four workers do not train measurably faster than one: "
                f"{value:.3f}× ({low:.3f} to {high:.3f}), scaling efficiency 62.9%; two likewise "
                f"({value:.3f}×, efficiency 80.2%). Test",
                f"In short: Here four workers do not train measurably faster than one "
                f"({value:.3f}×); test accuracy",
                "Two and four workers are not measurably faster; hollow",
            ],
            never=["gain ", "likely"],
        )
        for low, value, high in ((0.7, 0.785, 1.03), (0.96, 0.995, 1.03), (0.7, 0.785, 1.2))
    ),
    Case(
        "several numbers of workers beside the most have no efficiency each",
        lab={"two_nodes": True},
        edits={"assignment": speedup([2, 4], 0.96, 0.995, 1.03)},
        says=["(0.995×), scaling", "; the others likewise (0.995×)."],
    ),
    Case(
        "an efficiency that is not known",
        edits=_trainings(TWO, efficiency_frac=NAN),
        says=["; two are 1.60× as fast as one. Test"],
    ),
    Case(
        "one launch each",
        edits=_trainings({"workers": [2, 4]}, speedup_ratio_low=NAN),
        says=[
            "With b = 128 four workers took one launch, too few to compare (2.51×), scaling "
            "efficiency 62.9%; two took one launch each (1.60×, efficiency 80.2%). Test",
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
            "Here four workers on two nodes train 3.50× as fast as one, scaling efficiency "
            "87.5%; the others are 1.60× to 2.51× as fast as one. Test",
            "two and four workers and four on two nodes lose accuracy (93.0% to 94.0%); two "
            "workers on two nodes keep it within a point (95.0%).",
        ],
    ),
    Case(
        "a cluster that gains nothing",
        lab={"two_nodes": True, "two_worker_factor": 1.5},
        says=["; the others are slower (0.459× to 0.680×)."],
    ),
    *(
        Case(
            words,
            edits=_accuracy(low, high),
            says=[f"is 95.0% with one worker; two {words}; four lose"],
        )
        for words, low, high in (
            ("reach more, 94.0%", 0.001, 0.02),
            ("keep it within a point (94.0%)", -0.009, 0.02),
            ("show no measurable loss (94.0%; over a point may hide)", -0.011, 0.02),
            ("reach 94.0%, without an interval", NAN, NAN),
        )
    ),
    Case(
        "four workers that gain more than four times, for whose efficiency nothing is missing",
        edits=_trainings(FOUR, **around("speedup_ratio", 4.4), **around("efficiency_frac", 1.1)),
        says=["efficiency 110%; two", "H4 says where an epoch's time goes: with four workers"],
        never=["the rest of the efficiency"],
    ),
    Case(
        "one seed",
        edits=_trainings(seeds=1),
        says=["there is one seed, which gives no interval."],
        never=["the median over"],
    ),
    Case(
        "no start-up known",
        edits=_trainings(startup_s=NAN),
        says=["once training has begun, without the start-up. Of"],
    ),
    *(
        Case(
            f"an epoch of four workers loses most to {words}",
            edits={"assignment_split": largest(part)},
            says=[
                f"efficiency goes: with four workers 50.0% of an epoch is {words}."
                if part in ("load", "copy")
                else f"{words[1:]} takes 50.0% of an epoch of four (H4)."
            ],
        )
        for part, words in LOSSES.items()
    ),
    Case(
        "two losses alike",
        edits={"assignment_split": of_four("exposed", 0.198, load=-0.001, copy=0.1)},
        says=["H4 says where the rest of the efficiency goes. The published"],
    ),
    Case(
        "another loss that may be as large",
        edits={
            "assignment_split": both(
                largest("exposed"),
                where({"workers": 4}, sharing_frac_low=-0.1, sharing_frac_high=0.6),
            )
        },
        says=["H4 says where the rest of the efficiency goes. The published"],
        never=["of an epoch of four (H4)", "comes"],
    ),
    Case(
        "an efficiency that lacks nothing has no cause",
        edits={
            "assignment": where(FOUR, **around("efficiency_frac", 1.1, 0.02)),
            "assignment_split": largest("exposed"),
        },
        says=["goes: with four workers 50.0% of an epoch is waiting for communication. The"],
        never=["of an epoch of four (H4)"],
    ),
    Case(
        "a next loss that is nearer than the parts are from adding up",
        edits={"assignment_split": both(largest("exposed"), where({"workers": 4}, rest_frac=0.4))},
        says=["Waiting for communication takes 50.0% of an epoch of four (H4)."],
        never=["comes"],
    ),
    Case(
        "the largest loss may be less than half of what the efficiency lacks",
        edits={"assignment_split": both(largest("exposed"), where(exposed_frac_low=0.1))},
        says=["goes: with four workers 50.0% of an epoch is waiting for communication. The"],
        never=["of an epoch of four (H4)"],
    ),
    Case(
        "an epoch that was not split",
        edits={"assignment_split": without(workers=4)},
        says=["H4 says where the rest of the efficiency goes. The published"],
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
            "The published speed-up at N = 2, 0.53, contradicts the published "
            "times, by which it is 1.20 (456.15 s over 379.69 s).",
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
