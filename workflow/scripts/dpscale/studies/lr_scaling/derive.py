"""S2: errors against the global batch by rule and warm-up, and the published ones beside them."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpscale.derive.cells import first_known, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import beside_chance
from dpscale.derive.published import CLAIM_COLUMNS, claim_row, other_devices
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, estimate_of, interval_columns, over_seeds
from dpscale.derive.tables import Table
from dpscale.derive.trainings import TEST, ends, tested_apart
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, TableRow, columns, intervals
from dpscale.studies.lr_scaling import published
from dpscale.studies.lr_scaling.config import Rule, Warmup
from dpscale.vocabulary import words

STUDY = "lr_scaling"
ENDS = ("", "_low", "_high")
ERRORS = ["test_error_frac", "validation_error_frac", "train_loss"]
WAY_COLUMNS: Columns = (
    columns("arm role")
    | words("rule", Rule)
    | words("warmup", Warmup)
    | columns("zero_gamma optimizer")
)
Standing = Literal["kept", "kept or lowered", "lost", "undecided"]
# How the error of a rule goes with the batch: kept up to the largest, lost beyond the elbow, lost
# with none above the reference shown to keep it, or undecided beyond the elbow.
Course = Literal["kept", "lost later", "lost at once", "undecided"]
ARM_COLUMNS: Columns = (
    WAY_COLUMNS
    | columns("global_batch groups lr status")
    | intervals(" ".join([*ERRORS, "difference_frac"]))
    | words("kept", Standing)
    | columns("validation_difference_frac kept_on_validation")
    | columns("runs seeds diverged_seeds epochs steps group_batch reference_groups workers")
    | columns("train_samples test_samples base_lr margin_frac reference large chosen")
    | intervals("linear_difference_frac")
    | side("to_linear", "linear_difference_frac")
    | intervals("unit_difference_frac")
    | side("to_unit", "unit_difference_frac")
    | columns("family chance_decides")
    | columns("base_runs message expected")
)
ELBOW_COLUMNS: Columns = (
    words("rule", Rule)
    | words("course", Course)
    | columns("reference_batch elbow_batch lost_batch largest_batch elbow_ratio largest_ratio")
    | columns("margin_frac")
    | columns("status runs base_runs")
)
CURVE_ERRORS = ["train_error_frac", "validation_error_frac"]
CURVE_COLUMNS: Columns = (
    WAY_COLUMNS
    | columns("global_batch epoch seeds")
    | intervals(" ".join(CURVE_ERRORS))
    | columns("lr runs large")
)
TIME_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch status")
    | intervals("iteration_s epoch_s efficiency_frac")
    | columns("oversubscribed device runs repeats base_runs")
)
PUBLISHED_COLUMNS: Columns = (
    CLAIM_COLUMNS
    | columns("kind published_batch global_batch batch_ratio published_frac published_other_frac")
    | side("measured_side", "measured")
    | columns("family chance_decides")
)


def lr_scaling(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each planned run of S2: its median errors over seeds, last epoch.

    Errors are fractions, train_loss the mean over the last epoch's samples. difference_frac is
    the test error less that of the reference batch, paired by seed and by image; kept says what
    it means against margin_frac. validation_difference_frac is that of the medians of validation
    errors, kept_on_validation whether it is within the margin. linear_difference_frac is to the
    linear rule with the same batch, gradual warm-up and zero gamma, of another rule with gains of
    one to that with such gains; unit_difference_frac of an arm with zero gamma to the same arm with
    gains of one. Intervals of test errors hold the sampling of the test images, those of
    validation errors the seeds alone: how many those are is not recorded. chosen marks, among the
    rates tried at one batch, the one of the least median validation error; large marks the batch at
    which most ways to train are compared, the smallest of several. A run of which a seed diverged
    has no error: a median of the others would praise it.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    base = _reference(planned)
    final = _ends(trials, curves)
    linear = {
        (run["global_batch"], run["zero_gamma"]): run["run"]
        for run in planned.to_dict("records")
        if run["rule"] == "linear" and _of_rule(run | {"zero_gamma": True})
    }
    unit = {way(run): run["run"] for run in planned.to_dict("records") if not run["zero_gamma"]}
    rows = []
    for run in planned.to_dict("records"):
        own = final.of(run["run"])
        row = _arm(run, own, final.of(base)) | {"reference": run["run"] == base, "base_runs": base}
        gains = run["zero_gamma"] or run["rule"] == "linear"
        others = {"linear": linear.get((run["global_batch"], gains)), "unit": unit.get(way(run))}
        for name, other in others.items():
            if other not in (None, run["run"]):
                apart = tested_apart(final.of(other), own, known(run["test_samples"]))
                row |= interval_columns(f"{name}_difference_frac", apart)
        rows.append(row)
    base_error = next((row["validation_error_frac"] for row in rows if row["reference"]), None)
    for row in rows:
        error = row["validation_error_frac"]
        if None not in (error, base_error):
            row["validation_difference_frac"] = error - base_error
            row["kept_on_validation"] = error - base_error <= row["margin_frac"]
    # That of the reference to gains of one is counted as theirs to the reference.
    compared = [f"{name}difference_frac" for name in ("", "linear_", "unit_")]
    beside_chance([row for row in rows if not row["reference"]], *compared)
    made = as_table(rows, ARM_COLUMNS)
    larger = made[(made["role"] == "arm") & (made["groups"] != made["reference_groups"])]
    made["large"] = made["global_batch"].eq(larger["global_batch"].mode().min()).fillna(False)
    tried = made[(made["groups"] == made["reference_groups"]) | (made["role"] == "search")]
    for _, rivals in tried.groupby(["optimizer", "global_batch", "zero_gamma"]):
        errors = rivals["validation_error_frac"]
        if (rivals["role"] == "search").any() and errors.notna().all():
            made.loc[rivals.index, "chosen"] = rivals.index == errors.idxmin()
    return made


def way(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all that a way to train has in common with the same way with other gains."""
    return tuple(run[key] for key in ("role", "optimizer", "rule", "warmup", "lr", "global_batch"))


def _of_rule(row: Mapping[str, Any]) -> bool:
    """Whether a run is one by which a rule is judged: SGD with gradual warm-up and zero gamma."""
    trained = row["role"] == "arm" and row["optimizer"] == "sgd"
    return bool(trained and row["warmup"] == "gradual" and row["zero_gamma"])


def _reference(planned: pd.DataFrame) -> str | None:
    """The run of the reference batch as Goyal et al. train it: zero gamma, no search."""
    at_base = planned["groups"] == planned["reference_groups"]
    own = planned[at_base & (planned["role"] == "arm") & planned["zero_gamma"]]
    return next(iter(own["run"]), None)


def _ends(trials: pd.DataFrame, curves: pd.DataFrame) -> RowsByKey:
    """The end of each seed's training by run: null errors and steps where it diverged."""
    found = ends(trials, curves)
    whole = found["status"] == "complete"
    for split in ("test", "validation"):
        found[f"{split}_error_frac"] = 1 - found[f"{split}_accuracy_frac"]
    seen = found[[*ERRORS, TEST, "test_right", "steps"]].where(whole)
    errors = seen.assign(run=found["run"], diverged=~whole)
    return RowsByKey(errors.set_index(found["seed"]), "run")


def _arm(run: TableRow, own: pd.DataFrame, base: pd.DataFrame) -> TableRow:
    diverged, images = int(own["diverged"].sum()), known(run["test_samples"])
    # An error is above another by as much as an accuracy is below.
    apart = tested_apart(base, own, None if base is own else images)
    row = run | {
        "status": "diverged" if run["status"] == "complete" and diverged else run["status"],
        "kept": "lost" if diverged else standing(apart, run["margin_frac"]),
        "steps": own["steps"].max(),
        "diverged_seeds": diverged,
        "runs": run["run"],
    }
    for name in ERRORS:
        found = over_seeds(
            own[name], images if name == "test_error_frac" else None, share=name.endswith("_frac")
        )
        row |= interval_columns(name, found)
    return row | interval_columns("difference_frac", apart)


def standing(apart: Estimate, margin: float) -> Standing | None:
    """Return what a difference to the reference's error means by its interval.

    "kept" where it lies within the margin, "kept or lowered" where it ends there and begins below,
    "lost" where it begins above, else "undecided"; None for no difference.
    """
    if apart.value is None:
        return None
    if apart.low is None or apart.high is None:
        return "undecided"
    if apart.high <= margin:
        return "kept" if apart.low >= -margin else "kept or lowered"
    return "lost" if apart.low > margin else "undecided"


def elbow(lr_scaling: pd.DataFrame) -> pd.DataFrame:
    """Return for each rule the elbow of the error against the batch.

    A rule's series are its SGD runs with gradual warm-up and zero gamma, and the reference.
    elbow_batch is the largest batch up to which every one kept the reference's error (the
    reference itself, where the next did not); lost_batch the smallest that lost it, null where
    none did; elbow_ratio is the elbow over the reference batch. Null without the reference.
    status: "complete", else that of the first run of the series that has no error.
    """
    base = _base(lr_scaling)
    if base is None:
        return as_table([], ELBOW_COLUMNS)
    larger = _gradual(lr_scaling[lr_scaling["global_batch"] > base["global_batch"]])
    by_rule = larger.sort_values("global_batch", kind="stable").groupby("rule", sort=False)
    rows = [_elbow(series.to_dict("records"), base) for _, series in by_rule]
    return as_table(rows, ELBOW_COLUMNS)


def _base(lr_scaling: pd.DataFrame) -> TableRow | None:
    """The row of the reference batch."""
    return next(iter(lr_scaling[lr_scaling["reference"]].to_dict("records")), None)


def _gradual(rows: pd.DataFrame) -> pd.DataFrame:
    """The runs by which a rule is judged."""
    return rows[np.array([_of_rule(row) for row in rows.to_dict("records")], dtype=bool)]


def _elbow(series: list[TableRow], base: TableRow) -> TableRow:
    reference = base["global_batch"]
    kept = [row["global_batch"] for row in takewhile(_held, series)]
    lost = [row["global_batch"] for row in series if row["kept"] == "lost"]
    without = [row["status"] for row in series if row["status"] not in ("complete", "diverged")]
    row = {
        "rule": series[0]["rule"],
        "reference_batch": reference,
        "largest_batch": series[-1]["global_batch"],
        "largest_ratio": series[-1]["global_batch"] / reference,
        "margin_frac": base["margin_frac"],
        "status": [*without, base["status"]][0],
        "runs": " ".join(row["runs"] for row in series),
        "base_runs": base["runs"],
    }
    if without or known(base["test_error_frac"]) is None:
        return row
    found, lost_batch = max([reference, *kept]), min(lost, default=None)
    course: Course = "undecided" if lost_batch is None else "lost later" if kept else "lost at once"
    return row | {
        "course": "kept" if found == row["largest_batch"] else course,
        "elbow_batch": found,
        "elbow_ratio": found / reference,
        "lost_batch": lost_batch,
    }


def _held(row: TableRow) -> bool:
    return row["kept"] in ("kept", "kept or lowered")


def epochs(lr_scaling: pd.DataFrame, trials: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each epoch of each run of S2 that has any.

    train_error_frac is of the epoch's samples while the model learns, validation_error_frac of
    the epoch's end, both medians over seeds, null from the epoch on in which a seed diverged.
    """
    seeds = trials["run"].value_counts()
    by_run = RowsByKey(curves, "run")
    rows = []
    for arm in lr_scaling.to_dict("records"):
        for epoch, own in by_run.of(arm["runs"]).groupby("epoch"):
            row = arm | {"epoch": epoch, "seeds": seeds[arm["runs"]], "lr": own["lr"].iloc[0]}
            for name in CURVE_ERRORS:
                errors = 1 - own[name.replace("error", "accuracy")]
                whole = len(own) == row["seeds"]
                row |= interval_columns(name, over_seeds(errors) if whole else UNKNOWN)
            rows.append(row)
    return as_table(rows, CURVE_COLUMNS)


def iteration_times(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the weak rows of `scaling` with the seconds of one iteration of N workers.

    As figure 7 of Goyal et al. (2017, arXiv:1706.02677), from the timed runs of Q2. An epoch of D
    samples has D/(N b) full iterations, so an iteration takes epoch_s N b / D; efficiency_frac is
    that of one worker over that of N, loading and communication included.
    """
    timed = in_study(runs, "scaling")
    samples = first_known(timed["train_samples"]) or np.nan
    weak = scaling[scaling["kind"] == "weak"]
    times = {
        f"iteration_s{end}": weak[f"epoch_s{end}"] * weak["global_batch"] / samples for end in ENDS
    }
    weak = weak.assign(**times, device=first_known(timed["device"]))
    return as_table(weak.to_dict("records"), TIME_COLUMNS)


def published_lr_scaling(
    lr_scaling: pd.DataFrame,
    iteration_times: pd.DataFrame,
    trials: pd.DataFrame,
    curves: pd.DataFrame,
) -> pd.DataFrame:
    """Return a row for each published result with what was measured of it here, and the verdict.

    Model, data and size are others than the published ones, so that directions are compared,
    never sizes. kind "claim": errors of two arms and their difference. kind "curve": the error of
    a batch less that of the reference, set beside the batch here that is as many times its
    reference; up to FLAT_UP_TO the publication says "no difference", beyond it "more". kind
    "efficiency": throughput against workers. Fractions. A claim is not judged where nothing of its
    kind was measured, nor by a measurement that another claim was judged by. No rows where no
    reference is planned.
    """
    base = _base(lr_scaling)
    if base is None:
        return as_table([], PUBLISHED_COLUMNS)
    ways = {
        published.Way(row["rule"], row["warmup"], row["zero_gamma"], not row["large"]): row
        for row in lr_scaling.to_dict("records")
        if row["role"] == "arm"
        and row["optimizer"] == "sgd"
        and (row["large"] or row["groups"] == row["reference_groups"])
    }
    linear = _gradual(lr_scaling[lr_scaling["rule"] == "linear"]).to_dict("records")
    margin = base["margin_frac"]
    results = [
        *_claims(ways, _ends(trials, curves), margin),
        *_curve({row["global_batch"] / base["global_batch"]: row for row in linear}, margin),
    ]
    rows, measured = [], set()
    for named, percents, own, same in results:
        pair = own and (own["runs"], own["base_runs"])
        reason = named["reason"] or ("judged above" if pair in measured else None)
        measured |= {pair} if pair and not reason else set()
        rows.append(_errors(named | {"reason": reason}, percents, own, same))
    beside_chance([row for row in rows if not row["reason"]], "measured")
    return as_table([*rows, _efficiency(iteration_times)], PUBLISHED_COLUMNS)


# A result's columns, its two errors in percent, the arm beside it, and the margin of "the same".
Result = tuple[TableRow, tuple[float, float], TableRow | None, float | None]


def _claims(
    ways: dict[published.Way, TableRow], final: RowsByKey, margin: float
) -> Iterator[Result]:
    for claim in published.CLAIMS:
        arm, other = ways.get(claim.arm), ways.get(claim.other)
        own = _against(arm, other, final) if arm and other else None
        reason = None if claim.arm.zero_gamma else "gains of one here, zero in the publication"
        named = {"claim": claim.id, "kind": "claim", "source": claim.source, "reason": reason}
        yield named, (claim.percent, claim.other_percent), own, margin if claim.same else None


def _curve(by_ratio: dict[float, TableRow], margin: float) -> Iterator[Result]:
    for batch, percent in published.CURVE_PERCENT.items():
        ratio = batch / published.REFERENCE_BATCH
        named = {
            "claim": f"error_{batch}",
            "kind": "curve",
            "source": "Figure 1",
            "reason": None,
            "published_batch": batch,
            "batch_ratio": ratio,
        }
        same = margin if batch <= published.FLAT_UP_TO else None
        yield named, (percent, published.REFERENCE_PERCENT), by_ratio.get(ratio), same


def _against(arm: TableRow, other: TableRow, final: RowsByKey) -> TableRow:
    """The arm with the difference of its error to that of another."""
    own, others = (final.of(row["runs"]) for row in (arm, other))
    apart = tested_apart(others, own, known(arm["test_samples"]))
    return arm | interval_columns("difference_frac", apart) | {"base_runs": other["runs"]}


def _errors(
    named: TableRow, percents: tuple[float, float], own: TableRow | None, margin: float | None
) -> TableRow:
    """The claim on two errors; margin: of one that they are the same."""
    one, other = (percent / 100 for percent in percents)
    return claim_row(
        rule="sign" if margin is None else "none",
        published=(percents[0] - percents[1]) / 100,
        published_frac=one,
        published_other_frac=other,
        margin=margin,
        **named | _measured(own, "difference_frac", "not planned"),
    )


def _efficiency(times: pd.DataFrame) -> TableRow:
    """The most workers that had a device each, at the smallest batch per worker."""
    own_devices = ~times["oversubscribed"] & times["efficiency_frac"].notna()
    several = times[own_devices & (times["workers"] > 1)]
    cells = several.sort_values(["workers", "per_worker_batch"], ascending=[False, True])
    cell = next(iter(cells.to_dict("records")), None)
    measured = _measured(cell, "efficiency_frac", "not measured")
    return claim_row(
        "efficiency",
        "at least",
        source="Section 5.5",
        kind="efficiency",
        published=published.EFFICIENCY_FRAC,
        **measured | ({"reason": _unlike(cell)} if cell else {}),
    )


def _unlike(cell: TableRow) -> str | None:
    """How the workers of a cell are not those of the published share."""
    fewer = cell["workers"] < published.EFFICIENT_WORKERS
    here = f"{cell['workers']} workers here, {published.EFFICIENT_WORKERS} published"
    return other_devices(cell["device"], cell["oversubscribed"]) or (here if fewer else None)


def _measured(own: TableRow | None, column: str, otherwise: str) -> TableRow:
    """What `claim_row` is told of the row that a claim is set beside; otherwise: why of none."""
    if own is None:
        return {"reason": otherwise}
    named = {name: own[name] for name in ("global_batch", "runs", "base_runs")}
    return {"measured": estimate_of(own, column), **named}


TABLES = {
    "lr_scaling": Table(lr_scaling, ["trials", "curves", "runs"], ARM_COLUMNS),
    "lr_scaling_elbow": Table(elbow, [STUDY], ELBOW_COLUMNS),
    "lr_scaling_curves": Table(epochs, [STUDY, "trials", "curves"], CURVE_COLUMNS),
    "iteration_times": Table(iteration_times, ["scaling", "runs"], TIME_COLUMNS),
    "published_lr_scaling": Table(
        published_lr_scaling, [STUDY, "iteration_times", "trials", "curves"], PUBLISHED_COLUMNS
    ),
}
