"""E1: what it says of the ways of sharing follows their times, bytes, memory and losses."""

from typing import Any

import pandas as pd
import pytest

import strategies_builders
from builders import Tables, empty_lab, run_row, step_rows, table, without_runs
from cases import Case, Edit, both, says, where
from dpscale.derive.columns import as_table
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of
from dpscale.studies.strategies.derive import COLUMNS, compared, gaps
from strategies_builders import S

NAN = float("nan")


def lab(**options: object) -> Tables:
    rows = strategies_builders.rows(run_row, step_rows, **options)  # type: ignore[arg-type]
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


def with_precision(precision: str) -> Tables:
    """The study in another precision."""
    made = lab()
    return made | {"runs": made["runs"].assign(precision=precision)}


def through_nccl() -> Tables:
    made = lab(backend="nccl")
    return made | {"wire": made["wire"].iloc[:0]}


def needing(cell: dict[str, Any] | None = None, **columns: Any) -> Edit:
    """Other needs of some ways, and how all then compare."""
    return both(where(cell, **columns), compared)


def sending(cell: dict[str, Any] | None = None, **columns: Any) -> Edit:
    """Other bytes of some ways, and how far they are apart."""

    def follow(rows: pd.DataFrame) -> pd.DataFrame:
        return as_table([row | gaps(row) for row in rows.to_dict("records")], COLUMNS)

    return both(where(cell, **columns), follow)


def ratio(way: str, low: float, high: float, **verdicts: str) -> dict:
    """The way's ratio to DDP with four workers."""
    columns = {"to_ddp_ratio": (low + high) / 2, "to_ddp_ratio_low": low, "to_ddp_ratio_high": high}
    return {"strategies": where({"workers": 4, "way": way}, **columns, **verdicts)}


CASES = [
    Case(
        "DDP is fastest and FSDP2 needs least",
        lab=lab,
        says=[
            "With four workers DDP has the shortest step, 20.0 ms (19.0 to 21.0).",
            "DDP has the shortest step. FSDP2 holds the least.",
            "FSDP2 needs the least memory, 12.0 MB against DDP's 24.0 MB, for a step 3.0000× "
            "(3.0000 to 3.0000) as long.",
            "Within 30.5 MiB a worker gradient accumulation fits the largest batch, "
            "b = 2 300 (DDP: 700).",
            "With two workers gradient accumulation, ZeRO-1, FSDP2 and",
            "1.4000×",
            "take longer for a step than DDP",
            "share a device",
            "differs from the formula for FSDP2 (by up to 33.3%) and FSDP2 without resharding "
            "(by up to 50.0%)",
            "gloo's reduce-scatter is an all-reduce",
            "count what the ledger says, to 0.400%: headers",
            "all others compute what DDP does: "
            "losses of the first three steps are at most 4.44 × 10⁻⁷ of themselves apart, "
            "parameters after them 2.00 × 10⁻⁷ of the largest",
        ],
        never=["something else", "not told", "unknown"],
    ),
    Case(
        "the fastest is not told apart",
        lab=lab,
        edits={
            "strategies": where(
                {"way": ["zero1", "accumulation"]}, to_fastest="indistinct", to_ddp="indistinct"
            )
        },
        says=[
            "DDP has the shortest step, 20.0 ms (19.0 to 21.0), not told from that of gradient "
            "accumulation and ZeRO-1.",
            "shortest step; not told from it: gradient accumulation and ZeRO-1.",
            "are not told apart from DDP",
        ],
        never=["step. FSDP2 holds"],
    ),
    Case(
        "what needs the least is as fast",
        lab=lab,
        edits={"strategies": where({"way": "fsdp"}, to_ddp="indistinct")},
        says=["for a step not told from DDP's."],
    ),
    Case(
        "what needs the least is not compared",
        lab=lab,
        edits={"strategies": where({"way": "fsdp"}, to_ddp="unknown")},
        says=["with too few launches to compare its step."],
    ),
    Case(
        "DDP needs the least",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, peak_bytes=S)},
        says=["No way needs less memory at its peak than DDP, 4.00 MB a worker."],
        never=["against DDP"],
    ),
    Case(
        "peaks within the noise are not ranked",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp_kept"}, peak_bytes=round(3.1 * S))},
        says=["The peak of FSDP2 is not told from that of FSDP2 without resharding"],
    ),
    Case(
        "peaks beyond the noise are ranked",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp_kept"}, peak_bytes=round(3.2 * S))},
        never=["The peak of FSDP2 is not told"],
    ),
    Case(
        "no peak is known",
        lab=lab,
        edits={"strategy_needs": needing(peak_bytes=pd.NA, fits_batch=pd.NA)},
        says=["The memory of the workers is not known."],
        never=["fits the largest"],
    ),
    Case(
        "two ways may fit the same batch",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp"}, fails_batch=2_340)},
        says=["b = 2 300 (DDP: 700), not told from that of FSDP2."],
    ),
    Case(
        "a way of which every batch fits",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp"}, fits_batch=9_000, fails_batch=pd.NA)},
        says=["FSDP2 fits at least b = 9 000 (DDP: 700)."],
    ),
    Case(
        "DDP fits the most",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, fits_batch=9_000, fails_batch=9_050)},
        says=["DDP fits the largest batch, b = 9 000."],
        never=["(DDP:"],
    ),
    Case(
        "through NCCL the formula holds",
        lab=through_nccl,
        says=[
            "The ledger is what the formula says for every way.",
            "do not see these messages, so they confirm nothing",
        ],
        never=["gloo", "headers"],
    ),
    Case(
        "something else was sent",
        lab=lab,
        edits={"strategies": sending({"way": "ddp"}, interface_bytes=lambda old: 1.5 * old)},
        says=["count up to 50.6% more: something else was sent"],
        never=["headers"],
    ),
    Case(
        "nothing was observed",
        lab=lab,
        edits={"strategies": sending(ledger_bytes=pd.NA)},
        says=[
            "The collectives could not be observed.",
            "count what the formula of this backend says, to 0.400%: headers",
        ],
        never=["differs from the formula"],
    ),
    Case(
        "some of it was observed",
        lab=through_nccl,
        edits={"strategies": sending({"way": "fsdp"}, ledger_bytes=pd.NA)},
        says=["The ledger is what the formula says for what was seen."],
    ),
    Case(
        "DDP fits nothing",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, fits_batch=pd.NA, fails_batch=4)},
        says=["gradient accumulation fits the largest batch, b = 2 300 (DDP: none)."],
    ),
    Case(
        "sharding saves nothing to speak of",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, peak_bytes=round(3.1 * S))},
        says=["No way needs noticeably less memory at its peak than DDP, 12.4 MB a worker."],
        never=["needs the least", "holds the least", "The peak of"],
    ),
    Case(
        "the look into the ways ran out of memory",
        lab=lab,
        edits={
            "strategy_needs": lambda rows: rows.iloc[[0, 5]].assign(
                status="out_of_memory", way=None, peak_bytes=pd.NA
            )
        },
        says=[
            "The memory of the workers is not known.",
            "What a worker of 4 holds is not known (out of memory).",
        ],
        never=["compute what DDP does", "something else"],
    ),
    Case(
        "bfloat16 rounds by more",
        lab=lambda: with_precision("bf16"),
        edits={
            "strategy_needs": needing(
                {"way": "accumulation"}, loss_gap_frac=0.02, parameter_gap_frac=0.03
            )
        },
        says=["compute what DDP does", "0.0200 of themselves apart"],
        never=["something else"],
    ),
    Case(
        "parameters tell what losses do not",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, parameter_gap_frac=0.5)},
        says=[
            "ZeRO-1 computes something else than DDP with N = 2 and 4, losses of the first",
            "and parameters by 50.0% of the largest",
        ],
        never=["batch norm"],
    ),
    Case(
        "a way is as far from DDP as DDP from itself",
        lab=lab,
        edits={
            "strategy_needs": both(
                where({"way": "ddp"}, loss_gap_frac=0.004, parameter_gap_frac=0.02),
                needing({"way": "accumulation"}, loss_gap_frac=0.011, parameter_gap_frac=0.05),
            )
        },
        says=[
            "all others compute what DDP does",
            "0.0110 of themselves apart",
            "the order of rounding; those of DDP run twice are 0.00400 apart",
        ],
        never=["something else"],
    ),
    Case(
        "a way is farther from DDP than DDP from itself",
        lab=lab,
        edits={
            "strategy_needs": both(
                where({"way": "ddp"}, loss_gap_frac=0.004, parameter_gap_frac=0.02),
                needing({"way": "accumulation"}, loss_gap_frac=0.011, parameter_gap_frac=0.07),
            )
        },
        says=["Gradient accumulation computes something else than DDP"],
    ),
    Case(
        "the search ran out of memory",
        lab=lab,
        edits={
            "strategy_needs": both(
                where({"workers": 4, "way": "zero1"}, status="out_of_memory"),
                needing(
                    {"workers": 4, "way": ["fsdp", "fsdp_kept"]},
                    budget_bytes=pd.NA,
                    fits_batch=pd.NA,
                    fails_batch=pd.NA,
                ),
            )
        },
        says=[
            "With four workers the search for the largest batch ran out of memory at b = 1 050 "
            "of ZeRO-1, and did not come to FSDP2 and FSDP2 without resharding.",
            "FSDP2 needs the least memory",
        ],
        never=["fits the largest", "With two workers the search"],
    ),
    Case(
        "a way computes something else",
        lab=lab,
        edits={
            "strategy_needs": needing({"way": "accumulation", "workers": 4}, loss_gap_frac=0.02)
        },
        says=[
            "Gradient accumulation computes something else than DDP with N = 4, losses of the "
            "first three steps that differ by up to 2.00%",
            "what DDP does with N = 2 and 4",
            "as batch norm does",
        ],
    ),
    Case(
        "a training that diverged agrees with nothing",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, loss_gap_frac=NAN)},
        says=["ZeRO-1 computes something else", "that are no numbers"],
        never=["nan", "None"],
    ),
    Case(
        "nobody shares a device",
        lab=lab,
        edits={"strategies": where(oversubscribed=False)},
        never=["share a device"],
    ),
]


test_what_it_says = says("E1", CASES)


def test_a_run_that_is_missing_withholds_it_and_is_named() -> None:
    for run, names in (("strategies-n4", []), ("strategies-memory-n4", ["memory"])):
        tidy = without_runs(lab(), [run, *(f"{run}-launch{n}" for n in (2, 3) if not names)])
        answer = answer_one("E1", Inputs(derived_of(tidy), tidy))
        assert any("N = 4" in one and "not run yet" in one for one in answer.missing), run
        assert answer.values["step_s_ddp_n2"].value == pytest.approx(0.010)


def test_out_of_memory_of_one_n_leaves_the_other() -> None:
    tidy = lab()
    runs, gone = tidy["runs"], tidy["runs"]["run"].str.startswith("strategies-n4")
    tidy["runs"] = runs.assign(status=runs["status"].mask(gone, "out_of_memory"))
    tidy["steps"] = tidy["steps"][~tidy["steps"]["run"].str.startswith("strategies-n4")]
    answer = answer_one("E1", Inputs(derived_of(tidy), tidy))
    assert not answer.missing
    assert "two workers" in answer.sentence
