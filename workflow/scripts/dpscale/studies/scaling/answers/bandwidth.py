"""Q3.2: the bandwidth behind the communication time of an epoch, and what the link can do."""

from typing import Any

from dpscale.derive.verdicts import of_row
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import PER_CELL, Inputs, Row, lacking, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK, THAKUR, VOGELS
from dpscale.studies.scaling.answers.computation import (
    NAMES,
    before_forward,
    cells,
    key_of,
    missing_cells,
    trends,
)
from dpscale.studies.scaling.derive.link import SHARES

LINK_FORMULA = [
    r"t_{\text{all-reduce}} = 2 (N - 1) \, \alpha + \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}"
]

OUTLOOK_WORKERS = (8, 64, 1024)
SMALL_FRAC = 0.1  # of the gradients' bytes: a message that tells what they cost without bytes
LITTLE_FRAC = 0.02  # of a step: a saving that does not pay for a compression
CLOSE_FRAC = 0.05  # by which the fit may lie off what was measured without a word


def facts_q3_2(inputs: Inputs) -> Facts:
    """Return the rates of each cell with their verdicts, the link and the hooks."""
    rows = rates(inputs)
    usable = [row for row in rows if row["subtraction_s"] is not None]
    decided = [row for row in usable if not row["no_rate"]]
    missing = missing_cells(rows) + lacking(inputs.rows("link"), {"workers": "N"}, "link")
    missing += lacking(inputs.rows("compression"), NAMES, "compression")
    missing += [] if usable or missing else ["bandwidth: no cell has a communication time"]
    fits, hooks = fits_of(inputs, usable), hooks_of(inputs)
    return Facts(
        missing,
        _values(rows, fits, hooks) or {"lab_bytes_per_s": nothing("bytes/s")},
        {
            "rows": rows,
            "usable": usable,
            "sent": sent(inputs, usable),
            "changes": (changes := trends(decided, "lab_trend")),
            "falling": falling(decided, changes),
            "fits": fits,
            "small": small_beside(inputs, fits),
            "hooks": hooks,
            "halved": little_saved(fits, hooks),
            "links": inputs.rows("link"),
            "looks": inputs.rows("looks"),
            "buffers": before_forward(inputs),
            "outlook": (predicted := outlook(inputs)),
            "samples": inputs.train_samples(name for row in predicted for name in row.runs),
        },
        formula=LINK_FORMULA if fits else [],
        references=[*([THAKUR] if fits else []), *([VOGELS] if hooks else [])],
    )


def falling(decided: list[Row], changes: list[Row]) -> list[Row]:
    """Return by how much bytes and time fall from the least b to the largest, where the rate falls.

    bytes_frac, time_frac: what is left of each.
    """
    found = []
    for change in changes:
        own = [row for row in decided if row["workers"] == change["workers"]]
        first, last = own[0], own[-1]
        sent_frac = last["iterations"] / first["iterations"]
        # The bytes of an epoch over its rate are its time.
        frac = sent_frac * first["lab_bytes_per_s"].value / last["lab_bytes_per_s"].value
        if change["trend"] != "below" or frac <= sent_frac:
            continue
        row = change | {"sent": sent_frac, "time": frac, "runs": " ".join(first.runs + last.runs)}
        fracs = {name: row.value(name, "fraction") for name in ("sent", "time")}
        found.append(row | {"bytes_frac": fracs["sent"], "time_frac": fracs["time"]})
    return found


def outlook(inputs: Inputs) -> list[Row]:
    """Return what is predicted of more workers on other links, at the largest batch that is."""
    rows = [
        row
        for row in inputs.rows("what_if", variant="none")
        if row["efficiency_frac"] is not None and row["workers"] in OUTLOOK_WORKERS
    ]
    largest = max((row["per_worker_batch"] for row in rows), default=0)
    return [row for row in rows if row["per_worker_batch"] == largest]


def rates(inputs: Inputs) -> list[Row]:
    """Return each cell's parts and its three rates: the lab's, the buckets' and the link's."""
    parts = {key_of(row): row for row in cells(inputs, "communication")}
    rows = [parts[key_of(row)] | row for row in cells(inputs, "bandwidth")]
    return [row | _rates(row) for row in rows]


def _rates(row: Row) -> dict[str, object]:
    """The rates of a row and the shares of its time, each with the runs that it is from."""
    lab = row
    if row["no_rate"] and row["no_rate"] != "not measured":
        lab = row | dict.fromkeys(("lab_bytes_per_s", *SHARES)) | {"status": row["no_rate"]}
    both = {"base_runs": f"{row['base_runs']} {row['link_runs'] or ''}", "repeats": None}
    alone = row | {"base_runs": None, "repeats": None}
    return {
        "lab_bytes_per_s": lab.lab_bytes_per_s,
        "lab_of_link_frac": (lab | both).lab_of_link_frac,
        "busbw_bytes_per_s": alone.busbw_bytes_per_s,
        "link_bytes_per_s": (alone | {"runs": row["link_runs"]}).link_bytes_per_s,
        "busbw_of_link_frac": (alone | {"base_runs": row["link_runs"]}).busbw_of_link_frac,
        **{name: getattr(lab, name) for name in SHARES},
    }


def sent(inputs: Inputs, usable: list[Row]) -> list[Row]:
    """Return the run whose parameters give the bytes of every cell's gradients; none if none does.

    each: the bytes of a parameter.
    """
    payloads = {row["payload_bytes"] for row in usable}
    names = [name for row in usable for name in row.runs]
    return [
        run | {"runs": run["run"], "each": run["payload_bytes"] // run["parameters"]}
        for run in inputs.tidy_rows("runs")
        if run["run"] in names
        and payloads == {run["payload_bytes"]}
        and run["parameters"]
        and run["payload_bytes"] % run["parameters"] == 0
    ][:1]


def fits_of(inputs: Inputs, usable: list[Row]) -> list[Row]:
    """Return the rows of `link` that have a fit, with the seconds of one all-reduce by it.

    formula_bytes_per_s: what the busiest worker sends over these seconds; saved_s: what half the
    bytes would save of them; misses: see there.
    of_tcp: the fitted rate over plain TCP's, and to_tcp where it lies of that; None without TCP.
    """
    moved = {row["workers"]: row["moved_bytes"] for row in usable if row["moved_bytes"]}
    fits = {(row["workers"], row["nodes"]): row for row in inputs.rows("link")}
    rows = [row for row in inputs.rows("ring_times") if row["workers"] in moved]
    found = [
        fits[row["workers"], row["nodes"]]
        | row
        | {
            "latency_frac": row.latency_frac,
            "saving_frac": row.saving_frac,
            "saved_s": row["transfer_s"] / 2,
            "formula_bytes_per_s": moved[row["workers"]] / row["whole_s"],
        }
        for row in rows
    ]
    return [row | {"misses": misses(row, usable)} | _beside_tcp(row) for row in found]


def small_beside(inputs: Inputs, fits: list[Row]) -> list[Row]:
    """Return what the smallest all-reduce takes of that of the gradients, a row for each fit.

    small: the bytes of the former. None where it was not timed at some N or is not small, and where
    it does not say what the fit says at each N: more than half of the time where that is mostly
    latency, else less.
    """
    found = []
    for fit in (row for row in fits if row["payload"] == "here"):
        own = inputs.rows("message_times", operation="allreduce", workers=fit["workers"])
        size = min((row["bytes"] for row in own), default=0)
        alike = [row for row in own if row["bytes"] == fit["payload_bytes"]]
        if not alike or size > SMALL_FRAC * fit["payload_bytes"]:
            return []
        share = alike[0].value("smallest_ratio", "fraction")
        mostly = None if share.value is None else "above" if share.value > 0.5 else "below"
        if mostly is None or mostly != fit["mostly"]:
            return []
        found.append(alike[0] | {"small": size, "share": share})
    return found


def _beside_tcp(fit: Row) -> dict[str, Any]:
    """How the rate of a fit compares with that of plain TCP."""
    if not fit["tcp_bytes_per_s"]:
        return {"of_tcp": None, "to_tcp": None}
    share = fit | {"share": fit["beta_bytes_per_s"] / fit["tcp_bytes_per_s"]}
    return {
        "of_tcp": share.value("share", "fraction"),
        "to_tcp": of_row(fit, "beta_bytes_per_s", "tcp_bytes_per_s"),
    }


def misses(fit: Row, usable: list[Row]) -> dict[str, Any] | None:
    """Return how a fit's rate of the buckets lies beside that of the same buckets alone.

    None where it is among them, or no farther from them than CLOSE_FRAC. side: `over` or `under`
    all of them; off: from the rate of each cell; allowed: whether it is among their intervals, or
    all-reduces as slow, or fast, as the intervals of the latency and the bandwidth let them be have
    a rate among those.
    """
    found = [row.busbw_bytes_per_s for row in usable if row["workers"] == fit["workers"]]
    if not found or any(None in (one.value, one.low, one.high) for one in found):
        return None
    rate = fit["formula_bytes_per_s"]
    over = rate > max(one.value for one in found) * (1 + CLOSE_FRAC)
    if not over and rate >= min(one.value for one in found) * (1 - CLOSE_FRAC):
        return None
    least, most = min(one.low for one in found), max(one.high for one in found)
    seconds = [
        fit["rounds"] * fit[f"alpha_s_{longer}"]
        + fit["transfer_s"] * fit["beta_bytes_per_s"] / fit[f"beta_bytes_per_s_{slower}"]
        for longer, slower in (("low", "high"), ("high", "low"))
        if None not in (fit[f"alpha_s_{longer}"], fit[f"beta_bytes_per_s_{slower}"])
    ]
    rates = [rate, *(rate * fit["whole_s"] / one for one in seconds)]
    offs = [Row(off=abs(rate / one.value - 1), runs=" ".join(one.runs)) for one in found]
    return {
        "side": "over" if over else "under",
        "off": [row.value("off", "fraction") for row in offs],
        "allowed": min(rates) <= most and max(rates) >= least,
    }


def hooks_of(inputs: Inputs) -> list[Row]:
    """Return the rows of hooks with a time or bytes, by workers and batch.

    step_side: None where the step was not timed.
    """
    rows = [
        row | {"step_side": row["step_side"] if row["step_ratio"] is not None else None}
        for row in inputs.rows("compression")
        if row["step_ratio"] is not None or row["bytes_ratio"] is not None
    ]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"], row["hook"]))


def little_saved(fits: list[Row], hooks: list[Row]) -> Value | None:
    """Return what of a timed step half the bytes save by the fit; None where that is not little."""
    steps = {row["workers"]: row["base_step_s"] for row in hooks if row["base_step_s"]}
    timed = [
        fit | {"of_step": fit["saved_s"] / steps[fit["workers"]]}
        for fit in fits
        if fit["payload"] == "here" and fit["workers"] in steps
    ]
    little = (fit for fit in timed if fit["of_step"] <= LITTLE_FRAC)
    return next((fit.value("of_step", "fraction") for fit in little), None)


def _values(rows: list[Row], fits: list[Row], hooks: list[Row]) -> dict[str, Value]:
    """The rates of each cell, what each fit found, and each hook's ratios to the plain exchange.

    Of the lab's rates those too that are null.
    """
    rates = ("lab_bytes_per_s", "lab_of_link_frac", "busbw_bytes_per_s", "busbw_of_link_frac")
    fitted = ("alpha_s", "beta_bytes_per_s", "residual_frac", "tcp_bytes_per_s")
    ratios = ("bytes_ratio", "step_ratio", "interface_ratio")
    found = named_values(rows, PER_CELL, rates) | named_values(
        [row for row in fits if row["payload"] == "here"], "{column}_n{workers}", fitted
    )
    found |= named_values(hooks, "{hook}_" + PER_CELL, ratios)
    return {
        name: value
        for name, value in found.items()
        if value.value is not None or name.startswith("lab_")
    }


QUESTION = Question(
    "Q3.2",
    facts_q3_2,
    formula=[
        r"t_{\text{all-reduce}} \ge \frac{2 (N - 1)}{N} \cdot \frac{X \cdot \text{itemsize}}{\beta}"
        r" = \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}",
        r"\text{bandwidth} = \frac{2 (N - 1)}{N} \cdot S \cdot \frac{D}{N b} \cdot "
        r"\frac{1}{T_{\text{communication}}}, \qquad "
        r"\text{utilisation} = \frac{\text{bandwidth}}{\text{rate of the link}}",
    ],
    references=[PATARASUK, LI],
    vocabulary={
        "trend": "bandwidth.lab_trend",
        "verdict": "bandwidth.lab_to_busbw",
        "source": "bandwidth.link_source",
    },
)
