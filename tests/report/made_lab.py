"""A lab made by hand: runs, and an answer a question that uses all a section can hold."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from dpscale.config.sections import ReportConfig
from dpscale.derive.columns import as_table
from dpscale.records.quiet import COLUMNS as QUIET_COLUMNS
from dpscale.reporting.answer import (
    LEFT_OUT,
    Answer,
    AnswerTable,
    Column,
    Figure,
    Said,
    Value,
    dump_answers,
)
from dpscale.reporting.report import Report, read_report
from dpscale.studies import question_ids

Maker = Callable[..., Report]

TEMPLATES = Path(__file__).parents[2] / "report"
HEAD = {
    "title": "Data-parallel training",
    "course": "Machine learning",
    "authors": ["Ada Lovelace", "Grace Hopper"],
    "institution": "A university",
}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="475.2pt" height="140pt" '
    'viewBox="0 0 475.2 140" role="img"><desc>Words of {name}</desc>'
    '<path id="{name}-a" d="M0 0L475.2 140" stroke="currentColor"/></svg>'
)
RING = r"t \ge \frac{2(N-1)}{N} \cdot \frac{X \cdot \mathrm{itemsize}}{\beta}"
FIGURES = {
    "Q1": ["batch_sweep"],
    "Q2": ["speedup"],
    "Q3.1": ["communication"],
    "Q3.2": ["bandwidth"],
    "Q4.1": ["accuracy"],
    "Q4.2": ["accuracy"],
    "Q5": ["order"],
    "Q6": ["ledger"],
    "Q7": ["replicas"],
    "S2": ["lr_scaling", "warmups", "iteration_times"],
    "further": ["of_what_is_further"],
}
ASSIGNMENT = ("H1", "H2", "H3", "H4", "H5", "H6")
TEXT = (
    "An iteration costs a fixed time for launches and updates, and a time that grows with the "
    "batch. While the fixed time is the larger one, a batch four times as large makes an "
    "epoch of $D$ samples take fewer iterations, $\\lceil D/b \\rceil$, and less time."
)


def runs_table() -> pd.DataFrame:
    """Three runs, one of them out of memory."""
    rows = [
        ("scaling-n1-b32", "complete", 1, 32, None, "2026-03-01T10:00:00.000+00:00"),
        ("scaling-n2-b32", "complete", 2, 32, None, "2026-03-02T11:30:00.000+00:00"),
        (
            "scaling n4",
            "out_of_memory",
            4,
            8192,
            "can't allocate <memory>",
            "2026-03-01T12:00:00.000+00:00",
        ),
    ]
    columns = ["run", "status", "workers", "per_worker_batch", "message", "finished_at"]
    made = pd.DataFrame(rows, columns=columns).assign(
        kind="timed",
        study="scaling",
        arm=None,
        nodes=1,
        epochs=1,
        seeds=1,
        lr=0.1,
        wall_s=75.0,
        fingerprint="1 x CPU | gloo",
        model="resnet_8x8",
        dataset="digits",
    )
    return made.assign(global_batch=made["workers"] * made["per_worker_batch"])


def speedup_value(runs: tuple[str, ...] = ("scaling-n1-b32", "scaling-n2-b32")) -> Value:
    """A speed-up of 1.23 with an interval."""
    return Value(value=1.2345, unit="ratio", low=1.2, high=1.27, n=5, runs=list(runs))


def timing_table() -> AnswerTable:
    """A table with a setting, two measurements with intervals, and a cell out of memory."""
    rows = [
        {
            "workers": workers,
            "batch": batch,
            "time": Value(value=seconds, unit="s", low=seconds * 0.97, high=seconds * 1.02),
            "speedup": Value(value=speedup, unit="ratio", low=speedup * 0.95, high=speedup * 1.04),
        }
        for workers, batch, seconds, speedup in (
            (1, 32, 12.5, 1.0),
            (2, 32, 8.1234, 1.539),
            (2, 2048, 0.95, 1.81),
        )
    ]
    rows.append(
        {
            "workers": 4,
            "batch": 8192,
            "time": Value(value=None, unit="s", status="out_of_memory"),
            "speedup": None,
        }
    )
    runs = [["scaling-n1-b32"], ["scaling-n1-b32", "scaling-n2-b32"], ["scaling-n2-b32"], []]
    return AnswerTable(
        caption="Time of one epoch and speed-up over one worker, everything included.",
        columns=[
            Column(key="workers", title="Workers N"),
            Column(key="batch", title="Batch b", unit="count"),
            Column(key="time", title="Time of an epoch", unit="s"),
            Column(key="speedup", title="Speed-up", unit="ratio"),
        ],
        rows=rows,
        runs=runs,
    )


def wide_table() -> AnswerTable:
    """A table of more columns than a telephone or a page is wide: one without a result, one that
    one row has, one of long words."""
    measured = [
        Column(key=f"part_{n}", title=f"Time of part $t_{n}$", unit="s") for n in range(1, 10)
    ]
    rows = [
        {
            "arm": f"averaged_by_hooks_with_loading, every {n + 2} steps",
            **{
                column.key: Value(value=n + 1.5, unit="s", low=n + 1.25, high=n + 1.75)
                for column in measured
            },
            "memory": Value(value=None, unit="bytes", status="not measured"),
            "remark": "interrupted once" if n == 2 else None,
        }
        for n in range(5)
    ]
    return AnswerTable(
        caption="Where the time of an iteration goes, for each way to share the gradients.",
        columns=[
            Column(key="arm", title="Way"),
            *measured,
            Column(key="memory", title="Memory", unit="bytes"),
            Column(key="remark", title="Remark"),
        ],
        rows=rows,
        runs=[["scaling-n1-b32"]] * len(rows),
    )


def answer(identifier: str, *, missing: tuple[str, ...] = (), text: str = TEXT) -> Answer:
    """One answer with a sentence, a formula, a table, a figure and a reference."""
    spoken = Said(
        sentence=f"Two workers finish an epoch {speedup_value()} as fast as one worker.",
        paragraphs=[text, "That is 61.7% of what two workers could give at the most."],
        method=["Each time is the median of five launches, of $D$ samples each."],
    )
    further = [timing_table().model_copy(update={"further": True})] * (identifier == "S1")
    return Answer(
        id=identifier,
        question=f"What does question {identifier} ask about $T_1 / T_N$?",
        marked=spoken,
        **spoken.plain(),
        formula=[RING, r"S = \frac{T_1}{T_N}"],
        values={
            "speedup_n2_b32": speedup_value(),
            "efficiency_n2_b32": Value(value=0.617, unit="fraction", runs=["scaling-n2-b32"]),
        },
        tables=[timing_table(), *([wide_table()] if identifier == "E2" else []), *further],
        figures=[
            Figure(name=name, title="A title", caption="A caption.")
            for name in FIGURES.get(identifier, [])
        ],
        references=[
            "P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms, J. "
            "Parallel Distrib. Comput. 69 (2009) 117-124, doi:10.1016/j.jpdc.2008.09.002."
        ],
        missing=list(missing),
    )


def lab_answers() -> list[Answer]:
    """An answer to each question of part 1; Q4.2 lacks a result, and part 2 is not planned."""
    of_lab = [
        answer(name, missing=("warmup, seed 1",) if name == "Q4.2" else ())
        for name in question_ids()
        if name not in ASSIGNMENT
    ]
    return [*of_lab, *(answer(name, missing=(f"assignment: {LEFT_OUT}",)) for name in ASSIGNMENT)]


AUDIT = {
    "title": "A $table <collected> by hand",
    "lessons": [],
    "doubts": [],
    "digits": 4,
    "assumptions": ["50,000 training samples (D): as in the lab", "the column 'N' is workers"],
    "derived": [
        {
            "workers": workers,
            "per_worker_batch": 32,
            "base_s": 20.0,
            "epoch_s": epoch_s,
            "speedup_ratio": 20.0 / epoch_s,
            "efficiency_frac": 20.0 / epoch_s / workers,
            "total_s": epoch_s,
            "compute_s": 20.0 / workers,
            "comm_s": epoch_s - 20.0 / workers,
            "iterations": -(-50_000 // (32 * workers)),
            "moved_bytes": 44_695_848.0,
            "bandwidth_bytes_per_s": None,
        }
        for workers, epoch_s in ((1, 20.0), (2, 12.5))
    ],
    "findings": [
        {
            "workers": 2,
            "per_worker_batch": 32,
            "code": "speedup_times_workers",
            "printed": 3.2,
            "expected": 1.6,
            "reason": "it is N*T_1/T_N: multiplied by the number of workers",
            "column": "printed_speedup",
            "unit": "",
        }
    ],
    "printed": 6,
    "checked": 6,
}


def write_report(
    folder: Path,
    *,
    answers: list[Answer] | None = None,
    runs: pd.DataFrame | None = None,
    head: dict | None = None,
    audits: list[dict] | None = None,
    quiet: list[dict] | None = None,
    closing: Answer | None = None,
) -> Report:
    """Write what a report is made of to a folder, what is not given of the lab, and read it."""
    dumped = dump_answers(lab_answers() if answers is None else answers)
    (folder / "answers.json").write_text(json.dumps(dumped), encoding="utf-8")
    if closing:
        (folder / "closing.json").write_text(json.dumps(dump_answers([closing])), encoding="utf-8")
    (runs_table() if runs is None else runs).to_parquet(folder / "runs.parquet")
    rows = [] if quiet is None else quiet
    as_table(rows, QUIET_COLUMNS).to_csv(folder / "quiet.csv", index=False)
    for names in FIGURES.values():
        for name in names:
            for kind, of in (("", ""), (".narrow", "-narrow"), (".print", "")):
                svg = SVG.format(name=name).replace(f"{name}-a", f"{name}{of}-a")
                (folder / f"{name}{kind}.svg").write_text(svg, encoding="utf-8")
    tables = [folder / f"audit-{n}.json" for n, _ in enumerate(audits or [AUDIT])]
    for path, content in zip(tables, audits or [AUDIT], strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    return read_report(
        answers=folder / "answers.json",
        tables=folder,
        derived=folder,
        figures=folder,
        head=ReportConfig.model_validate_json(json.dumps(HEAD | (head or {}))),
        audits=[] if audits == [] else tables,
        questions=question_ids(),
    )
