"""E1: what it says of the ways of sharing follows their times, bytes, memory and losses."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import strategies_builders
from builders import Tables, empty_lab, run_row, step_rows, table, without_runs
from cases import Case, Edit, both, only, says, where
from dpscale.derive.columns import as_table
from dpscale.reporting import words
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of
from dpscale.studies.strategies.derive import COLUMNS, compared, gaps
from dpscale.studies.strategies.figures import LABELS
from strategies_builders import STEP_S, S

NAN = float("nan")


def lab(**options: object) -> Tables:
    rows = strategies_builders.rows(run_row, step_rows, **options)  # type: ignore[arg-type]
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


def made(**options: object) -> Callable[[], Tables]:
    """What makes the study's tables with such options."""
    return lambda: lab(**options)


def with_precision(precision: str) -> Tables:
    """The study in another precision."""
    made = lab()
    return made | {"runs": made["runs"].assign(precision=precision)}


def eight_parts() -> Tables:
    """The study with more micro-batches."""
    tidy = lab()
    runs = tidy["runs"]
    return tidy | {"runs": runs.assign(micro_batches=runs["micro_batches"] * 2)}


def through_nccl() -> Tables:
    made = lab(backend="nccl")
    return made | {"wire": made["wire"].iloc[:0]}


def needing(cell: dict[str, Any] | None = None, **columns: Any) -> Edit:
    """Other needs of some ways, and how all then compare."""
    return both(where(cell, **columns), compared)


def sending(cell: dict[str, Any] | None = None, **columns: Any) -> Edit:
    """Other bytes of some ways, and how far they are apart."""

    def follow(rows: pd.DataFrame) -> pd.DataFrame:
        found = [row | gaps(row["way"], row) for row in rows.to_dict("records")]
        return as_table(found, COLUMNS)

    return both(where(cell, **columns), follow)


def eight_workers(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of four workers as those of eight too."""
    return pd.concat([rows, rows[rows["workers"] == 4].assign(workers=8)], ignore_index=True)


def ratio(way: str, low: float, high: float, **verdicts: str) -> dict:
    """The way's ratio to DDP with four workers."""
    columns = {"to_ddp_ratio": (low + high) / 2, "to_ddp_ratio_low": low, "to_ddp_ratio_high": high}
    return {"strategies": where({"workers": 4, "way": way}, **columns, **verdicts)}


INTERVALS = where({"way": "fsdp"}, to_ddp_ratio_low=2.9, to_ddp_ratio_high=3.1)
CASES = [
    Case(
        "DDP is fastest and FSDP2 needs least",
        lab=lab,
        says=[
            "Use DDP: the shortest step (10.0 ms; two workers, b = 32, a device each). If "
            "optimiser state does not fit, take ZeRO-1 (19.1 MiB a worker, not 22.9 MiB; a step "
            "1.20× as long), then FSDP2 without resharding (12.2 MiB; 2.40×) or FSDP2 (11.4 MiB; "
            "3.00×). If activations do not fit, take gradient accumulation (b = 2 300, not 700, "
            "within 30.5 MiB; 1.40×). The network is the small residual network with Adam",
            "Gradient accumulation fits the largest batch, where activations fill the memory: a "
            "micro-batch holds a quarter of them. At b = 32 parameters, gradients and state do, "
            "and FSDP2 holds less (11.4 MiB against 22.9 MiB). What was sent",
            "what the table names. ZeRO-1 keeps more than an N-th of the optimiser's 7.63 MiB "
            "(3.81 MiB with four workers), since torch deals out whole tensors.",
            "computes b in four parts, micro-batches, and sends the sum",
            "Each micro-batch is a separate pass, ZeRO-1 sends parameters too and FSDP2 gathers "
            "each layer before use: no arm isolates what each costs.",
            "DDP has the shortest step with two workers. With two workers FSDP2 holds the least.",
            # DDP: 700 fits, 750 does not
            "largest batch within the budget (it fits; one up to 7.14% larger does not). DDP",
            "largest batch within the budget (it fits; one up to 7.14% larger does not). 2 ",
            "In short: Use DDP (10.0 ms a step, 22.9 MiB a worker); where memory is short, ZeRO-1 "
            "(19.1 MiB) or FSDP2 (11.4 MiB).",
            "With two and four workers all other ways take longer for a step than DDP (ZeRO-1 "
            "1.20× and 1.20×). Each micro-batch",
            "The ways with N = 2: a step (beside it one with N = 4), the bytes",
            "FSDP2 30.0 ms (28.5 to 31.5) 60.0 ms 3.00× 3.00× 12.0 MB",
            "share a device",
            "differs from the formula for FSDP2 (by 33.3%) and FSDP2 without resharding (by 50.0%)",
            "without resharding (by 50.0%): the cause is gloo, whose reduce-scatter is an "
            "all-reduce of which workers keep parts, twice a ring's bytes.",
            "count the same, but for up to 0.400% of headers",
            "all others compute what DDP does: losses of the first three steps differ by at most "
            "4.44 × 10⁻⁷ of themselves, parameters 2.00 × 10⁻⁷ of the largest, which rounding "
            "explains.",
        ],
        never=["something else", " told", "unknown", "looked at once"],
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
            "Use DDP: no way has a measurably shorter step (10.0 ms; two workers, b = "
            "32, a device each).",
            "No way has a measurably shorter step than DDP with two workers.",
            "gradient accumulation and ZeRO-1 show no measurable difference to DDP",
        ],
        never=["is shortest"],
    ),
    Case(
        "a cluster: FSDP2 halves the memory for a tenth of the time",
        lab=made(step_s=STEP_S | {"fsdp": 0.011}),
        says=[
            "If parameters and optimiser state do not fit, take FSDP2 (11.4 MiB a worker, "
            "not 22.9 MiB; a step 1.10× as long).",
            "In short: Use DDP (10.0 ms a step, 22.9 MiB a worker); where parameters and "
            "optimiser state do not fit, FSDP2 "
            "(11.4 MiB).",
        ],
        never=["), then"],
    ),
    Case(
        "another way is faster than DDP",
        lab=made(step_s=STEP_S | {"zero1": 0.005}),
        says=[
            "Use ZeRO-1: with two workers of b = 32, a device each, its step, 5.00 ms, takes "
            "0.500× the time of DDP's.",
            "ZeRO-1 has the shortest step with two workers.",
            "With two and four workers gradient accumulation, FSDP2 and FSDP2 without resharding "
            "take longer for a step than DDP; ZeRO-1 takes less time for a step than DDP. Each",
        ],
        never=["by DDP"],
    ),
    Case(
        "the fastest way needs the least memory too",
        lab=made(step_s=STEP_S | {"fsdp": 0.005}),
        says=["It also needs the least memory, 11.4 MiB a worker instead of DDP's 22.9 MiB."],
        never=["does not fit"],
    ),
    Case(
        "what needs the least is as fast",
        lab=lab,
        edits={"strategies": where({"way": "fsdp"}, to_ddp="indistinct")},
        says=["then FSDP2 (11.4 MiB; not measurably longer)"],
    ),
    Case(
        "what holds little more than the least takes longer than that",
        lab=made(step_s=STEP_S | {"fsdp_kept": 0.031}),
        says=["a step 1.20× as long), then FSDP2 (11.4 MiB; 3.00× as long). If"],
    ),
    Case(
        "what is quicker than the least holds more than ZeRO-1",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp_kept"}, peak_bytes=round(5.5 * S))},
        says=["a step 1.20× as long), then FSDP2 (11.4 MiB; 3.00× as long). If"],
    ),
    Case(
        "what is quicker than the least holds as little",
        lab=lab,
        edits={"strategy_needs": where({"way": "fsdp_kept"}, peak_rank="near")},
        says=["a step 1.20× as long), then FSDP2 without resharding (12.2 MiB; 2.40× as long). If"],
    ),
    Case(
        "gradient accumulation between two ways",
        lab=lab,
        edits={"strategy_needs": needing({"way": "accumulation"}, peak_bytes=4 * S)},
        says=[
            "If memory is short, take ZeRO-1 (19.1 MiB a worker, not 22.9 MiB; a step 1.20× as "
            "long), then gradient accumulation (15.3 MiB; 1.40×) or FSDP2 (11.4 MiB; 3.00×). If "
            "activ"
        ],
    ),
    Case(
        "a way that is measurably slower with more workers alone",
        lab=lab,
        edits={"strategies": where({"workers": 2, "way": "zero1"}, to_ddp="indistinct")},
        says=[
            "take ZeRO-1 (19.1 MiB a worker, not 22.9 MiB; a step not measurably longer, with four "
            "workers 1.20×), then FSDP2 (11.4 MiB; 3.00× as long)."
        ],
    ),
    Case(
        "a way that is measurably slower than others with fewer workers",
        lab=lab,
        edits={"strategies": where({"workers": 2, "way": "accumulation"}, to_ddp="indistinct")},
        says=[
            "With two workers gradient accumulation shows no measurable difference to DDP; ZeRO-1, "
            "FSDP2 and FSDP2 without resharding take longer for a step than DDP (ZeRO-1 1.20×). "
            "With"
        ],
    ),
    Case(
        "ways on both sides of DDP with fewer workers",
        lab=lab,
        edits={"strategies": where({"workers": 2, "way": "accumulation"}, to_ddp="below")},
        says=[
            "With two workers gradient accumulation takes less time for a step than DDP; ZeRO-1, "
            "FSDP2 and FSDP2 without resharding take longer for a step than DDP (ZeRO-1 1.20×). "
            "With"
        ],
    ),
    *(
        Case(
            f"the step of the way that fits the largest batch is {side} DDP's",
            lab=lab,
            edits={
                "strategies": where(
                    {"workers": 2, "way": "accumulation"}, to_ddp=side, to_ddp_ratio=ratio
                )
            },
            says=[f"not 700, within 30.5 MiB; {words}). The network"],
        )
        for side, ratio, words in (
            ("above", 1.4, "1.40×"),
            ("below", 0.9, "only 0.900×"),
            ("indistinct", 1.4, "not measurably longer"),
            ("unknown", NAN, "not compared"),
        )
    ),
    *(
        Case(
            f"what ZeRO-1 holds with four workers, in S: {peak:g} of DDP's {of_ddp:g}",
            lab=lab,
            edits={
                "strategy_needs": both(
                    where({"way": "ddp", "workers": 4}, peak_bytes=round(of_ddp * S)),
                    needing({"way": "zero1", "workers": 4}, peak_bytes=round(peak * S)),
                )
            },
            says=says,
            never=never,
        )
        for peak, of_ddp, says, never in (
            (4.0, 6.0, ["With four workers ZeRO-1 holds 15.3 MiB, not 22.9 MiB. Gradient"], []),
            (6.2, 6.1, ["With four workers ZeRO-1 holds measurably no less than DDP."], []),
            (4.9, 6.0, [], ["ZeRO-1 holds"]),  # about as with two, 5.0
            (5.5, 6.0, ["With four workers ZeRO-1 spares"], ["ZeRO-1 holds"]),
        )
    ),
    *(
        Case(
            f"ZeRO-1 holds {peak:g} S of DDP's 6 S with two workers, {state:g} S of state",
            lab=lab,
            edits={
                "strategy_needs": needing(
                    {"way": "zero1", "workers": 2},
                    peak_bytes=round(peak * S),
                    state_bytes=round(state * S),
                )
            },
            says=says,
            never=never,
        )
        for peak, state, says, never in (
            (
                5.7,
                1.7,  # of DDP's 2: the peak falls by as much
                [
                    "take FSDP2 without resharding (12.2 MiB a worker, not 22.9 MiB; a step 2.40× "
                    "as long), then FSDP2 (11.4 MiB; 3.00× as long).",
                    "ZeRO-1 saves only 5.00% of DDP's memory, for a step 1.20× as long.",
                ],
                ["take ZeRO-1"],
            ),
            (5.7, 1.0, ["With two workers ZeRO-1 spares"], ["saves only"]),
            (5.3, 1.3, ["take ZeRO-1 (20.2 MiB a worker, not 22.9 MiB;"], ["saves only"]),
        )
    ),
    *(
        Case(
            f"FSDP2 without resharding holds as little with two workers, with four {name}",
            lab=lab,
            edits={
                "strategy_needs": both(
                    where({"way": "fsdp_kept", "workers": 2}, peak_bytes=3 * S),
                    needing({"way": "fsdp_kept", "workers": 4}, peak_bytes=round(peak * S)),
                )
            },
            says=says,
            never=never,
        )
        for name, peak, says, never in (
            (
                "more",
                3.2,
                [
                    "With four workers FSDP2 without resharding holds 12.2 MiB, more than FSDP2 "
                    "(11.4 MiB)."
                ],
                [],
            ),
            ("as little too", 3.0, [], ["more than FSDP2"]),
        )
    ),
    Case(
        "no way but the least saves a tenth, which another outdoes with four workers",
        lab=lab,
        edits={
            "strategy_needs": both(
                needing({"way": "zero1"}, peak_bytes=round(5.7 * S), state_bytes=round(1.7 * S)),
                where({"way": "fsdp_kept", "workers": 2}, peak_bytes=round(2.9 * S)),
                needing({"way": "fsdp_kept", "workers": 4}, peak_bytes=round(3.2 * S)),
            )
        },
        says=[
            "take FSDP2 without resharding (11.1 MiB a worker, not 22.9 MiB, 2.40× as long; with "
            "four FSDP2 holds less)"
        ],
        never=["a device each"],
    ),
    Case(
        "gradient accumulation holds the least",
        lab=lab,
        edits={"strategy_needs": needing({"way": "accumulation"}, peak_bytes=S)},
        says=["If memory is short, take ZeRO-1 (19.1 MiB a worker, not 22.9 MiB; a step 1.20× as"],
        never=["of state, but the peak"],
    ),
    Case(
        "ZeRO-1 spares more state than memory with two workers",
        lab=lab,
        edits={
            "strategy_needs": needing({"way": "zero1", "workers": 2}, peak_bytes=round(5.5 * S))
        },
        says=[
            "With two workers ZeRO-1 spares 3.81 MiB of state, but the peak falls by only 1.91 "
            "MiB (the state is 33.3% of DDP's peak), for a step 1.20× as long; no arm isolates "
            "what "
            "takes the rest."
        ],
    ),
    Case(
        "ZeRO-1 spares as much memory as state but for what two looks differ by",
        lab=lab,
        edits={
            "strategy_needs": both(
                needing({"way": "zero1", "workers": 2}, peak_bytes=round(5.1 * S)),
                where({"workers": 2}, peak_noise_frac=0.06),
            )
        },
        never=["ZeRO-1 spares"],
    ),
    Case(
        "ZeRO-1 spares more state than memory with every number of workers",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, peak_bytes=round(5.5 * S))},
        says=[
            "33.3% of DDP's peak), for a step 1.20× as long and with four workers it spares 3.81 "
            "MiB, but the peak falls by "
            "only 1.91 MiB (the state is 33.3%"
        ],
    ),
    Case(
        "three numbers of workers",
        lab=lab,
        edits={"strategies": eight_workers, "strategy_needs": eight_workers},
        says=[
            "The ways with N = 2: a step (beside it one with N = 8), the bytes",
            "With two and eight workers all other ways take longer for a step than DDP (ZeRO-1 "
            "1.20× and 1.20×). With four workers all other ways take longer for a step than DDP's "
            "20.0 ms (1.20× to 3.00×). Each micro-batch",
        ],
    ),
    Case(
        "one number of workers",
        lab=lab,
        edits={"strategies": both(INTERVALS, only(workers=2)), "strategy_needs": only(workers=2)},
        says=[
            "The ways with N = 2: a step, the bytes",
            "FSDP2 30.0 ms (28.5 to 31.5) 3.00× (2.90 to 3.10) 12.0 MB 16.0 MB 11.4",
        ],
        never=["beside it"],
    ),
    Case(
        "a line of the table has one interval",
        lab=lab,
        edits={"strategies": INTERVALS},
        says=["FSDP2 30.0 ms (28.5 to 31.5) 60.0 ms 3.00× 3.00× 12.0 MB"],
    ),
    Case(
        "gradient accumulation alone holds less",
        lab=lab,
        edits={
            "strategy_needs": both(
                where({"way": ["zero1", "fsdp", "fsdp_kept"]}, peak_bytes=round(6 * S)),
                needing({"way": "accumulation"}, peak_bytes=S),
            )
        },
        says=["If activations do not fit, take gradient accumulation (3.81 MiB a worker, not 22.9"],
    ),
    Case(
        "FSDP2 without resharding holds the least",
        lab=lab,
        edits={
            "strategy_needs": both(
                where({"way": ["zero1", "fsdp"]}, peak_bytes=round(6 * S)),
                needing({"way": "fsdp_kept"}, peak_bytes=S),
            )
        },
        says=["If gradients and optimiser state do not fit, take FSDP2 without resharding ("],
    ),
    Case(
        "what needs the least is not compared",
        lab=lab,
        edits={"strategies": where({"way": "fsdp"}, to_ddp="unknown")},
        says=["then FSDP2 (11.4 MiB; not compared).", "is not compared with DDP, for want"],
    ),
    Case(
        "DDP needs the least",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, peak_bytes=S)},
        says=[
            "Memory is no reason for another: none needs measurably less than DDP's 3.81 MiB",
            "not 700, within 30.5 MiB; a step 1.40× as long). The",
        ],
        never=["does not fit", "where memory is short"],
    ),
    Case(
        "peaks within the noise are not ranked",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp_kept"}, peak_bytes=round(3.1 * S))},
        says=[
            "With two workers the peaks of FSDP2 and FSDP2 without resharding show no measurable "
            "difference: repeated looks at one peak differ by up to 5.00%."
        ],
    ),
    Case(
        "peaks within their own noise are not ranked",
        lab=lab,
        edits={
            "strategy_needs": both(
                needing({"way": "fsdp_kept"}, peak_bytes=round(3.1 * S)),
                where({"way": "fsdp_kept"}, peak_noise_frac=0.06),
            )
        },
        says=["no measurable difference: repeated looks at one of them differ by up to 6.00%."],
    ),
    Case(
        "peaks beyond the noise are ranked",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp_kept"}, peak_bytes=round(3.2 * S))},
        never=["The peaks of FSDP2"],
    ),
    Case(
        "equal peaks that were looked at once",
        lab=lab,
        edits={
            "strategy_needs": both(
                where(peak_noise_frac=NAN), needing({"way": "fsdp_kept"}, peak_bytes=round(3.0 * S))
            )
        },
        says=[
            "With two workers the peaks of FSDP2 and FSDP2 without resharding show no measurable "
            "difference, each looked at once."
        ],
    ),
    Case(
        "peaks were looked at once",
        lab=lab,
        edits={
            "strategy_needs": both(
                where(peak_noise_frac=NAN),
                needing({"way": "fsdp_kept"}, peak_bytes=round(3.01 * S)),
            )
        },
        says=["Each peak was looked at once.", "or FSDP2 (11.4 MiB;"],
    ),
    Case(
        "no peak is known",
        lab=lab,
        edits={"strategy_needs": needing(peak_bytes=pd.NA, fits_batch=pd.NA)},
        says=["The memory of the workers is not known."],
        never=["The largest batch fits with", "it fits; one up"],
    ),
    Case(
        "two ways may fit the same batch",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp"}, fails_batch=2_340)},
        says=["The largest batch fits with gradient accumulation or FSDP2 (b = 2 300, not 700"],
        never=["fits the largest batch but"],
    ),
    Case(
        "a way of which every batch fits",
        lab=lab,
        edits={"strategy_needs": needing({"way": "fsdp"}, fits_batch=9_000, fails_batch=pd.NA)},
        says=["fits with FSDP2 (at least b = 9 000, not 700, within 30.5 MiB)."],
        never=["fits the largest batch but"],
    ),
    Case(
        "the way that fits the most has as many activations",
        lab=lab,
        edits={"strategy_needs": needing({"way": "accumulation"}, activation_bytes=round(0.1 * S))},
        says=[
            "at b = 32 FSDP2 holds less (11.4 MiB against 22.9 MiB): nothing that was measured says"
        ],
        never=["activations do"],
    ),
    Case(
        "another way than micro-batches fits the most",
        lab=lab,
        edits={
            "strategy_needs": needing(
                {"way": "zero1"},
                fits_batch=9_000,
                fails_batch=9_050,
                activation_bytes=round(0.05 * S),
            )
        },
        says=[
            "ZeRO-1 fits the largest batch, where activations fill the memory: it keeps fewer of "
            "them."
        ],
    ),
    Case(
        "DDP fits the most",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, fits_batch=9_000, fails_batch=9_050)},
        says=["Within 30.5 MiB no way fits a larger batch than DDP's b = 9 000."],
        never=[", not 9 000"],
    ),
    Case(
        "through NCCL the formula holds",
        lab=through_nccl,
        says=[
            "What was sent is what the formula says for every way.",
            "do not see these messages, so they confirm nothing",
        ],
        never=["gloo", "headers"],
    ),
    Case(
        "something else was sent",
        lab=lab,
        edits={"strategies": sending({"way": "ddp"}, interface_bytes=lambda old: 1.5 * old)},
        says=["count up to 50.6% more, beyond what frames add: something else was sent"],
        never=["headers"],
    ),
    Case(
        "frames of 1,514 bytes",
        lab=lab,
        edits={"strategies": sending(interface_bytes=lambda old: (1.042 * old).round())},
        says=["count up to 4.62% more, as small frames do: one of 1,514 bytes carries 1,448"],
        never=["something else"],
    ),
    Case(
        "padded shards",
        lab=through_nccl,
        edits={
            "strategies": sending({"way": "fsdp"}, ledger_bytes=lambda old: (1.1 * old).round())
        },
        says=["formula for FSDP2 (by 10.0%), perhaps because the parts of a layer are padded"],
    ),
    Case(
        "shards padded more with more workers",
        lab=through_nccl,
        edits={
            "strategies": both(
                sending(
                    {"way": "fsdp", "workers": 2}, ledger_bytes=lambda old: (1.1 * old).round()
                ),
                sending(
                    {"way": "fsdp", "workers": 4}, ledger_bytes=lambda old: (1.2 * old).round()
                ),
            )
        },
        says=["formula for FSDP2 (by 10.0% to 20.0%), perhaps because"],
    ),
    Case(
        "DDP has nothing to pad",
        lab=through_nccl,
        edits={"strategies": sending({"way": "ddp"}, ledger_bytes=lambda old: (1.1 * old).round())},
        says=["formula for DDP (by 10.0%); nothing that was measured says why."],
        never=["padded"],
    ),
    Case(
        "nothing was observed",
        lab=lab,
        edits={"strategies": sending(ledger_bytes=pd.NA)},
        says=[
            "The collectives could not be observed.",
            "count the same, but for up to 0.400% of headers",
        ],
        never=["differs from the formula"],
    ),
    Case(
        "some of it was observed",
        lab=through_nccl,
        edits={"strategies": sending({"way": "fsdp"}, ledger_bytes=pd.NA)},
        says=["What was sent is what the formula says for what was seen."],
    ),
    Case(
        "DDP fits nothing",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, fits_batch=pd.NA, fails_batch=4)},
        says=["take gradient accumulation (b = 2 300, DDP none, within 30.5 MiB; 1.40×)."],
    ),
    Case(
        "sharding saves nothing to speak of",
        lab=lab,
        edits={"strategy_needs": needing({"way": "ddp"}, peak_bytes=round(3.1 * S))},
        says=["Memory is no reason for another: none needs measurably less than DDP's 11.8 MiB"],
        never=["holds the least", "The peaks of"],
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
        says=["compute what DDP does", "0.0200 of themselves"],
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
            "0.0110 of themselves",
            "explains; those of DDP run twice are 0.00400 apart",
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
            "With four workers the search for the largest batch ran out of memory at b = 1 050 of "
            "ZeRO-1, and did not come to FSDP2 and FSDP2 without resharding.",
            "or FSDP2 (11.4 MiB;",
        ],
        never=["The largest batch fits with", "With two workers the search"],
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
        "what rounding alone does not explain",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, loss_gap_frac=5e-4)},
        says=[
            "all others compute what DDP does",
            "ZeRO-1 differs by more than rounding explains; the cause is not known.",
        ],
        never=["which rounding explains", "something else"],
    ),
    Case(
        "only the gathers of FSDP2 without resharding take longer",
        lab=lab,
        edits={
            "strategies": where({"way": ["accumulation", "zero1", "fsdp"]}, to_ddp="indistinct")
        },
        says=["FSDP2 gathers each layer before use: no arm isolates what that costs."],
    ),
    Case(
        "parameters as far apart as Adam makes of rounding",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, parameter_gap_frac=1e-5)},
        says=["parameters 1.00 × 10⁻⁵ of the largest, which rounding explains; Adam's division"],
        never=["the cause is not known"],
    ),
    Case(
        "parameters farther apart than Adam makes of rounding",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, parameter_gap_frac=5e-4)},
        says=["ZeRO-1 differs by more than rounding explains; the cause is not known."],
        never=["division enlarges"],
    ),
    Case(
        "parameters that are no numbers agree with nothing",
        lab=lab,
        edits={"strategy_needs": needing({"way": "zero1"}, parameter_gap_frac=NAN)},
        says=["ZeRO-1 computes something else"],
        never=["nan", "None"],
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
        says=[
            "Use DDP: the shortest step (20.0 ms; four workers, b = 32). If",
            "The ways with N = 4: a step (beside it one with N = 2), the bytes",
            "In short: Use DDP (20.0 ms a step, 22.9 MiB",
        ],
        never=["share a device", "a device each", "sharing"],
    ),
    Case(
        "all share a device",
        lab=lab,
        edits={"strategies": where(oversubscribed=True)},
        says=["the shortest step (20.0 ms; four workers, b = 32, sharing devices). If"],
    ),
    Case(
        "another way than DDP is fastest where all share a device",
        lab=made(step_s=STEP_S | {"zero1": 0.005}),
        edits={"strategies": where(oversubscribed=True)},
        says=["Use ZeRO-1: with four workers of b = 32, sharing devices, its step, 10.0 ms, takes"],
    ),
    Case(
        "ZeRO-1's parts are equal",
        lab=lab,
        edits={"strategy_needs": where({"workers": 4, "way": "zero1"}, state_bytes=S // 2)},
        never=["whole tensors"],
    ),
    Case(
        "ZeRO-1's parts are uneven with every number of workers",
        lab=lab,
        edits={"strategy_needs": where({"workers": 2, "way": "zero1"}, state_bytes=3 * S // 2)},
        says=["7.63 MiB (5.72 MiB with two workers and 3.81 MiB with four), since torch deals"],
    ),
    Case(
        "eight micro-batches",
        lab=eight_parts,
        says=["in eight parts, micro-batches", "a micro-batch holds 1/8 of them. At"],
    ),
]


test_what_it_says = says("E1", CASES)


def test_figures_have_the_names_of_the_tables() -> None:
    say = words.macros("E1.j2", {})
    assert {way: label.replace("\n", " ") for way, label in LABELS.items()} == say.WAY


def test_the_table_has_the_other_number_of_workers_in_columns() -> None:
    answer = answer_one("E1", Case("", lab=lab).inputs)
    heads = {column.key: column.title for column in answer.tables[0].columns}
    assert heads == {
        "way": "Way",
        "step_s": "Step",
        "other_s": "Step, N = 4",
        "lead_ratio": "Times that of DDP",
        "other_ratio": "Times that of DDP, N = 4",
        "predicted_bytes": "Sent, formula",
        "ledger_bytes": "Sent, ledger",
        "peak": "Peak",
        "fits": "Largest b",
    }


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
