"""Q6: what it says of the messages follows the ledger and the interfaces."""

import pandas as pd

from builders import full_lab
from cases import Case, Edit, numbers, only, says, where, without
from dpscale.reporting.answer import Answer
from dpscale.studies import questions

NAN = float("nan")
STEADY = {"phase": "steady", "purpose": "gradient bucket"}


def _ledger(edit: Edit) -> dict[str, Edit]:
    return {"ledger": edit}


def _gradients(size: int) -> dict[str, Edit]:
    return {"ledger": where(STEADY, bytes=size), "wire": where(bucket_bytes=size)}


def _unknown_parameters() -> dict[str, pd.DataFrame]:
    tidy = full_lab()
    return tidy | {"runs": tidy["runs"].assign(parameters=pd.NA)}


CASES = [
    Case(
        "gradients and buffers",
        says=[
            "No: with N = 4 a steady iteration hands over 4 000 000 B of gradients and besides "
            "them 40 000 B of buffers, 0.990% of a worker's payload and 0.498% of all bytes "
            "sent. Construction and the first iterations also pass parameters, a shape check and "
            "the rebuilt bucket layout.",
            "Buffers are sent so that all workers begin a step with the same statistics.",
            "construction parameters 4 000 000 B construction a shape check 480 B first "
            "iteration buffers 40 000 B first iteration gradients 4 000 000 B second iteration, "
            "which rebuilds the buckets the rebuilt bucket layout 248 B second iteration, which "
            "rebuilds the buckets gradients 4 000 000 B each later iteration buffers 40 000 B "
            "each later iteration gradients 4 000 000 B",
            "all but 0.990% of the bytes of a steady iteration are gradients.",
            "construction makes the replicas start equal; the bucket layout is rebuilt",
            "The model's 1 000 000 trainable parameters of 4 bytes make $S$ = 4 000 000 B, and "
            "the buckets of one iteration hold exactly that.",
            "What one worker hands to the network, N = 4.",
            "In short: With N = 4 an iteration hands over 4 000 000 B of gradients and 40 000 B "
            "of buffers besides, 0.990% of a worker's payload.",
        ],
    ),
    Case(
        "no buffers",
        edits=_ledger(without(purpose="buffers")),
        says=[
            "In a steady iteration yes: with N = 4 it hands over 4 000 000 B of gradients and "
            "nothing else. Construction and the first iterations also pass parameters, a shape "
            "check and the rebuilt bucket layout."
        ],
        never=["buffers are broadcast", "Buffers are sent"],
    ),
    Case(
        "buffers and nothing before",
        edits=_ledger(only(phase="steady")),
        says=["0.990% of a worker's payload.", "(Li et al., 2020): buffers are broadcast"],
        never=["Construction and the first", "start equal", "is rebuilt once"],
    ),
    Case(
        "gradients alone",
        edits=_ledger(only(**STEADY)),
        says=[
            "Yes: with N = 4 a steady iteration hands over 4 000 000 B of gradients and nothing "
            "else, and no other message was seen before it."
        ],
        never=["Why anything", "all but"],
    ),
    Case(
        "fewer bytes than parameters",
        edits=_gradients(3_999_996),
        says=["but the buckets of one iteration hold 3 999 996 B: 4 B fewer."],
    ),
    Case(
        "more bytes than parameters",
        edits=_gradients(4_000_008),
        says=["but the buckets of one iteration hold 4 000 008 B: 8 B more."],
    ),
    Case("unknown parameters", lab=_unknown_parameters, never=["The model's"]),
    Case(
        "both formulas, the ledger and the interface",
        says=[
            "the ledger's sum is exactly the formula's at N = 2 and at N = 4, and the bytes that "
            "the loopback interface counted are",
            "and 0.250% above the formula at N = 4. All workers together",
            "4 24 000 000 B 24 120 000 B 24 120",
            "An interface counts the headers of packets",
        ],
    ),
    Case(
        "one formula",
        edits={"wire": where(predicted_bytes=lambda old: old * 100 // 99, gradient_bytes=NAN)},
        says=[
            "the ledger's sum is 1.00% below the formula at N = 2",
            ", and the bytes that the loopback interface counted are 0.752% below the formula at "
            "N = 2",
            "2 not measured 8 121 212 B",
        ],
        never=["headers"],
    ),
    Case(
        "no formula",
        edits={"wire": where(predicted_bytes=pd.NA)},
        never=["Summed over all workers"],
    ),
    Case(
        "no sum of the ledger",
        edits={"wire": where(ledger_bytes=pd.NA)},
        says=["one steady iteration, the bytes that the loopback interface counted are"],
        never=["the ledger's sum"],
    ),
    Case(
        "over a network",
        edits={"wire": where(interface="eth0")},
        says=["and the bytes that the network's interface counted are"],
        never=["loopback"],
    ),
    Case(
        "interface not counted",
        edits={"wire": where(interface_bytes=NAN)},
        says=["and the bytes that the loopback interface counted are not known at N = 2"],
        never=["headers"],
    ),
]


test_what_q6_says = says("Q6", CASES)


def _answer(**edits: Edit) -> Answer:
    return questions()["Q6"](Case("", edits=edits).inputs)


def test_the_ledger_names_the_type_of_each_collective() -> None:
    _, _, ledger = _answer().tables
    assert {row["dtype"] for row in ledger.rows} == {"float32"}


def test_both_formulas_and_the_ledger_stand_side_by_side() -> None:
    values, (_, sums, _) = _answer().values, _answer().tables
    for name, size in {
        "gradient_bytes": 24_000_000,
        "predicted_bytes": 24_120_000,
        "ledger_bytes": 24_120_000,
    }.items():
        assert values[f"{name}_n4"].value == size
        assert str(sums.rows[1][name]) == str(values[f"{name}_n4"])


def test_calls_of_one_purpose_and_two_types_are_two_values() -> None:
    def counters(ledger: pd.DataFrame) -> pd.DataFrame:
        found = only(phase="steady", purpose="buffers")(ledger)
        return pd.concat([ledger, found.assign(dtype="int64", bytes=160)])

    values = _answer(ledger=counters).values
    assert values["steady_broadcast_buffers_float32_bytes_n2"].value == 40_000
    assert values["steady_broadcast_buffers_int64_bytes_n2"].value == 160


def test_a_gap_leads_to_the_runs_of_its_number_of_workers() -> None:
    said = _answer().said
    assert [runs for _, runs in numbers(said.sentence)] == [["ledger-n4"]] * 4
    assert [runs for _, runs in numbers(said.paragraphs[2])] == [["ledger-n2"], ["ledger-n4"]]
