"""Q3.1: computation and communication of one epoch, by subtraction and measured directly."""

from dpscale.reporting.answer import Answer, Table, Value
from dpscale.reporting.answers import (
    prose,
    q3_estimates,
    q3_prediction,
    q3_split,
    q3_subtraction,
)
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.q3_cells import (
    ESTIMATES,
    PARTS,
    lab_rows,
    places,
    seconds,
    share,
    without_base,
)
from dpscale.reporting.answers.q3_loading import shorter_with_loading
from dpscale.reporting.answers.references import LI

QUESTION = (
    "How many seconds of an epoch are computation and how many are communication, for "
    "each number of workers and batch per worker?"
)
FORMULA = [
    r"T_{\text{compute}} = \frac{T_1}{N}, \qquad "
    r"T_{\text{communication}} = T_N - \frac{T_1}{N}"
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q3.1."""
    rows = lab_rows(inputs, "communication")
    complete = [row for row in rows if row.get("subtraction_s") is not None]
    direct = [row for row in complete if row.get("exposed_s") is not None]
    missing = lacking(rows, {"workers": "N", "per_worker_batch": "b"}, "communication")
    missing = list(dict.fromkeys(missing + without_base(rows)))
    missing += [] if complete or missing else ["communication: no cell has a time"]
    values, tables = _values(inputs, rows), _tables(inputs, rows, direct)
    figures, formula = _figures(direct), _formula(inputs, direct)
    if missing:
        return prose.withheld(
            id="Q3.1",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=figures,
            formula=formula,
        )
    waits = f"; {q3_estimates.exposure(inputs, direct)}" if direct else ""
    return Answer(
        id="Q3.1",
        question=QUESTION,
        sentence=f"Without loading, {q3_subtraction.clause(inputs, complete)}{waits}.",
        paragraphs=[text for text in _paragraphs(inputs, complete, direct) if text],
        formula=formula,
        values=values,
        tables=tables,
        figures=figures,
        references=[LI],
    )


def _paragraphs(inputs: Inputs, rows: list[Row], direct: list[Row]) -> list[str]:
    loading = shorter_with_loading(inputs, rows)
    if not direct:
        return [_protocol(rows), *q3_subtraction.open_questions(inputs, rows), loading]
    return [
        _protocol(rows),
        _arms(rows, direct),
        q3_estimates.definitions(),
        q3_subtraction.caveats(inputs, rows),
        q3_estimates.disagreement(inputs, direct),
        q3_split.sum_of_parts(inputs, direct),
        q3_split.stragglers(inputs, direct),
        q3_split.shared_devices(inputs, direct),
        q3_split.ddp_at_one(inputs),
        loading,
        q3_prediction.paragraph(inputs),
    ]


def _protocol(rows: list[Row]) -> str:
    repeats = [row["repeats"] for row in rows if row.get("repeats")]
    timed = f"medians of {prose.span(repeats)} timed repeats" if repeats else "medians"
    interval = "; the interval of a difference comes from resampling both (95% bootstrap)"
    if repeats and max(repeats) == 1:
        timed, interval = "one timed repeat each", ", so their difference has no interval"
    return (
        f"$T_1$ and $T_N$ are {timed} of an epoch without data loading, at the same b, "
        f"after a warm-up that is not counted{interval}. Computation and the subtraction add up "
        "to $T_N$. "
        "Epochs of different N make different numbers of iterations, and rounding "
        "$D/(N b)$ up alone can look like communication; so only iterations with full "
        "batches are compared, and both times are scaled to exactly $D$ samples."
    )


def _arms(rows: list[Row], direct: list[Row]) -> str:
    where = "" if len(direct) == len(rows) else f" {places(direct, rows)}"
    return (
        f"Within one run of N workers{where}, the ways to train that are compared take turns in "
        "random order, round by round, so that what disturbs the machine disturbs all of them "
        "alike: one worker alone (which gives $T_1$), N copies that send nothing, N workers whose "
        "wrapper sends nothing, N workers that train, and the all-reduce alone."
    )


def _figures(direct: list[Row]) -> list[str]:
    return ["communication", "step_split"] if direct else ["communication"]


def _formula(inputs: Inputs, direct: list[Row]) -> list[str]:
    found = [*FORMULA, *q3_estimates.FORMULA] if direct else FORMULA
    return [*found, *q3_prediction.FORMULA] if q3_prediction.scored(inputs) else found


def _tables(inputs: Inputs, rows: list[Row], direct: list[Row]) -> list[Table]:
    if not direct:
        return [q3_subtraction.subtraction_table(inputs, rows)]
    return [
        q3_estimates.estimates_table(inputs, rows),
        *q3_split.split_tables(inputs, rows),
        *q3_prediction.tables(inputs),
    ]


def _values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    values = {}
    for row in rows:
        cell = f"n{row['workers']}_b{row['per_worker_batch']}"
        for column in dict.fromkeys(("epoch_s", *ESTIMATES, *PARTS)):
            found = seconds(inputs, row, column)
            if found.value is not None or column in ("epoch_s", "compute_s", "subtraction_s"):
                values[f"{column}_{cell}"] = found
        for column in ("subtraction_s", *PARTS):
            part = share(inputs, row, column)
            if part.value is not None:
                values[f"{column.removesuffix('_s')}_share_{cell}"] = part
    return values | q3_prediction.values(inputs) or {"subtraction_s": prose.nothing("s")}
