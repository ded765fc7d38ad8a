"""S3: when each arm reached its target, arms against each other, rates tried, and learners."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import combined_status, over_launches
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import Prior
from dpscale.derive.formulas import averaged_drift_ratio, momentum_drift_ratio
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    interval_columns,
    like_pairs,
    median,
    over_seeds,
    paired_median_difference,
    paired_median_ratio,
    verdict,
)
from dpscale.derive.tables import Table
from dpscale.derive.trainings import (
    TEST,
    TRIAL,
    ends,
    evaluations,
    tested_apart,
    time_to_target,
    trained,
)
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, TableRow, columns, intervals, reals
from dpscale.studies.model_averaging import published
from dpscale.vocabulary import words

FINAL = "final_test_accuracy_frac"
MEASURES = ["epochs_to_target", "seconds_to_target", FINAL, "final_train_loss"]
# Whole training of a seed, which a target that was not reached lies beyond.
BUDGETS = {"epochs_to_target": "epochs", "seconds_to_target": "wall_s"}
ARM_COLUMNS: Columns = (
    columns("arm optimizer model learners per_learner_batch global_batch lr momentum alpha tau")
    | columns("target_accuracy_frac median_of status seeds reached")
    | intervals(" ".join(MEASURES))
    | columns("epochs train_s effective_lr label rounds sent_bytes runs close")
    | words("rate_choice", ("shared", "tuned"))
    | reals("epochs")
)
Rates = dict[tuple[bool, int], pd.Series]  # by whether stacked, and how many learners
# What each rate is set beside: one learner fewer, one stacked learner, the network by itself.
BASES: dict[str, Callable[[bool, int], tuple[bool, int]]] = {
    "gain_ratio": lambda stacked, count: (stacked, count - 1),
    "against_one_ratio": lambda stacked, count: (True, 1),
    "against_plain_ratio": lambda stacked, count: (False, 1),
}
CLOSE_FRAC = 0.1  # two effective rates that differ by less say little of the length of steps
TIME_COLUMNS: Columns = (
    columns("arm optimizer label seed goal epochs_to_target seconds_to_target epochs wall_s")
    | columns("target_accuracy_frac runs")
    | reals("epochs")
)
RATE_COLUMNS: Columns = (
    columns("optimizer learners global_batch seeds lr status validation_mean_frac gap_frac best")
    | columns("at_border configured epochs runs base_runs")
    | reals("epochs")
)
PAIR_COLUMNS: Columns = (
    columns("arm against status label against_label seeds both_reached")
    | intervals("epochs_difference seconds_difference accuracy_difference_frac seconds_ratio")
    | intervals("pace_ratio")
    | side("pace_side", "pace_ratio", 1.0)
    | columns("runs")
    | words("epochs_side seconds_side accuracy_side")
    | words("standing", ("faster", "slower", "sooner", "later", "even", "unknown"))
)
LEARNER_COLUMNS: Columns = (
    columns("model per_learner_batch learners stacked status")
    | intervals("samples_per_s gain_frac against_one_ratio against_plain_ratio to_chosen_ratio")
    | columns("chosen first_stop most stops_early threshold_frac repeats runs message")
    | side("gain_side", "gain_frac", "threshold_frac")
    | side("faster_than_one", "against_plain_ratio", 1.0)
    | side("to_chosen", "to_chosen_ratio", 1.0)
)


def _models(trials: pd.DataFrame, runs: pd.DataFrame, role: str = "arm") -> pd.DataFrame:
    """Return the study's trials in a role, with `tau` and `label`, the arm in words.

    Raises MixedMachinesError for runs of different machines.
    """
    own = runs[runs["kind"] == "averaging"]
    require_same_machine(own)
    models = trained(trials, own, role).rename(columns={"local_steps": "tau"})
    return models.assign(label=[_label(trial) for _, trial in models.iterrows()])


def averaging_trials(
    trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame, role: str = "arm"
) -> pd.DataFrame:
    """Return one row for each training of the study in a role, with how it ended (`ends`).

    goal: "complete" where the target was reached, "incomplete" where not, or "diverged"; times to
    the target are null unless it was reached; final_...: after its last evaluation;
    validation_mean_frac: over its evaluations; epochs: of the whole training. Raises
    MixedMachinesError for runs of different machines.
    """
    models = _models(trials, runs, role)
    seen = evaluations(models, curves)
    means = seen.groupby(TRIAL)["validation_accuracy_frac"].agg(lambda row: row.mean(skipna=False))
    found = ends(models, curves).join(times_to_target(seen), on=TRIAL)
    found = found.join(means.rename("validation_mean_frac"), on=TRIAL)
    found = found.rename(columns={"epoch": "epochs", "train_loss": "final_train_loss"})
    found[FINAL] = found[TEST]
    found["goal"] = found["goal"].where(found["status"] != "diverged", "diverged")
    found.loc[found["goal"] == "diverged", list(BUDGETS)] = np.nan
    return found


def times_to_target(seen: pd.DataFrame) -> pd.DataFrame:
    """Return for each trial with an evaluation its goal, and when it was reached.

    seen: see `trainings.evaluations`. Reached is where the median of the last `median_of` test
    accuracies first reaches the target, since one lucky evaluation is not enough; else the goal is
    "incomplete" and the times are null, as where a curve is shorter than the median.
    """
    rows = {
        trial: time_to_target(
            curve, curve["target_accuracy_frac"].iloc[0], curve["median_of"].iloc[0]
        )
        for trial, curve in seen.groupby(TRIAL)
    }
    index = pd.MultiIndex.from_tuples(rows, names=TRIAL)
    found = pd.DataFrame(
        [time or (np.nan, np.nan) for time in rows.values()], index, list(BUDGETS), dtype=float
    )
    goal = np.where(found["epochs_to_target"].notna(), "complete", "incomplete")
    return found.assign(goal=goal)


def _label(arm: Mapping[str, Any]) -> str:
    """What trains, on which batches, at which rate."""
    if arm["optimizer"] == "sgd":
        return f"SGD, B = {arm['global_batch']}, rate {arm['lr']:g}"
    return (
        f"{arm['learners']} learners, b = {arm['per_learner_batch']}, rate {arm['lr']:g}, "
        f"pull {arm['alpha']:g}"
    )


def _worst(statuses: pd.Series) -> str:
    """Return what the worst of some trainings came to."""
    return next((one for one in ("diverged", "incomplete") if one in set(statuses)), "complete")


def _effective_lr(arm: pd.Series) -> float:
    """Return the rate of plain SGD that would go as far along a gradient that stays the same."""
    if arm["optimizer"] == "sgd":
        return float(arm["lr"] * momentum_drift_ratio(arm["momentum"]))
    return float(arm["lr"] * averaged_drift_ratio(arm["learners"], arm["momentum"]))


def model_averaging(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each arm: settings, status, and medians over seeds with intervals.

    status: "complete" where every seed reached the target, "incomplete" where fewer did (how
    many: `reached`), "diverged" where a seed did. Times to the target are null unless all
    reached it. effective_lr: see `_effective_lr`. `train_s` is the median of the whole training,
    `sent_bytes` those that one process handed to all-reduces.
    Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for _, own in averaging_trials(trials, curves, runs).groupby("arm", sort=False):
        first = own.iloc[0]
        row = first.to_dict() | {
            "status": _worst(own["goal"]),
            "seeds": len(own),
            "runs": " ".join(own["run"]),
            "reached": (own["goal"] == "complete").sum(),
            "train_s": own["wall_s"].median(),
            "effective_lr": _effective_lr(first),
        }
        row |= {name: own[name].max() for name in ("epochs", "rounds", "sent_bytes")}
        for name in MEASURES:
            # The seeds that reached a target are no fair sample of all.
            images = known(first["images"]) if name == FINAL else None
            found = over_seeds(own[name], images, share=name.endswith("_frac"))
            row |= interval_columns(name, found)
        rows.append(row)
    return as_table(rows, ARM_COLUMNS)


def averaging_times(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each training: when it reached the target, and how long it went on.

    goal: as of `averaging_trials`; one that did not reach the target has its whole training alone,
    in `epochs` and `wall_s`.
    """
    found = averaging_trials(trials, curves, runs)
    return as_table(found.assign(runs=found["run"]).to_dict("records"), TIME_COLUMNS)


def averaging_rates(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rates tried on validation data: which is best, and which the arms were given.

    The best has the highest validation accuracy, mean over evaluations and seeds: a rate that
    learns early counts for more than one that ends well. `at_border`: no rate beyond it was tried;
    gap_frac: how far below the best; base_runs: the runs of the best.
    """
    key = ["optimizer", "global_batch", "lr"]
    used = set(averaging_trials(trials, curves, runs)[key].itertuples(index=False, name=None))
    tried = averaging_trials(trials, curves, runs, role="rate")
    found = tried.groupby(key, as_index=False).agg(
        learners=("learners", "first"),
        seeds=("seed", "size"),
        status=("status", _worst),
        validation_mean_frac=("validation_mean_frac", "mean"),
        epochs=("epochs", "max"),
        runs=("run", lambda names: " ".join(dict.fromkeys(names))),
    )
    scores = found["validation_mean_frac"].where(found["status"] == "complete")
    found["validation_mean_frac"] = scores
    alike = found.groupby(key[:2])
    found["gap_frac"] = alike["validation_mean_frac"].transform("max") - scores
    found["best"] = found["gap_frac"] == 0
    found["base_runs"] = found["runs"].where(found["best"])
    found["base_runs"] = found.groupby(key[:2])["base_runs"].transform("first")
    ends = [alike["lr"].transform(end) for end in ("min", "max")]
    found["at_border"] = (found["lr"] == ends[0]) | (found["lr"] == ends[1])
    found["configured"] = [rate in used for rate in found[key].itertuples(index=False, name=None)]
    return as_table(found.to_dict("records"), RATE_COLUMNS)


def averaging_pairs(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each two arms: the later one in the table against the earlier.

    Differences are of medians, arm minus `against`, paired by seed; that of accuracies by image
    too. The ratio is the other's seconds to the target over the arm's, above 1
    where the arm is faster; pace_ratio alike of the whole training, whose samples are the same.
    status: "complete" where every seed of both reached the target.
    """
    found = averaging_trials(trials, curves, runs)
    arms = [own.set_index("seed") for _, own in found.groupby("arm", sort=False)]
    pairs = [(own, other) for other, own in combinations(arms, 2)]
    whole = [pair for pair in pairs if all(_reached(one).all() for one in pair)]
    priors = {
        column: like_pairs((own[column], other[column]) for own, other in whole)
        for column in BUDGETS
    }
    logs = like_pairs(tuple(np.log(one["seconds_to_target"]) for one in pair) for pair in whole)
    return as_table([_pair(*pair, priors, logs) for pair in pairs], PAIR_COLUMNS)


def _reached(own: pd.DataFrame) -> pd.Series:
    return own["goal"].eq("complete")


def _pair(
    own: pd.DataFrame, other: pd.DataFrame, priors: Mapping[str, Prior], logs: Prior
) -> TableRow:
    """The row of an arm and another; priors, logs: of differences of times, and of logarithms."""
    reached = _reached(own) & _reached(other)
    one, base = own.iloc[0], other.iloc[0]
    row: TableRow = {
        "arm": one["arm"],
        "label": one["label"],
        "against": base["arm"],
        "against_label": base["label"],
        "seeds": len(own),
        "both_reached": reached.sum(),
        "status": "complete" if reached.all() else "incomplete",
        "runs": " ".join(dict.fromkeys([*own["run"], *other["run"]])),
    }
    if "diverged" in {*own["goal"], *other["goal"]}:
        return row
    for column, prior in priors.items():
        name = f"{column.split('_')[0]}_difference"
        row |= interval_columns(name, _later(own, other, column, prior))
    pace = paired_median_ratio(other["wall_s"], own["wall_s"])
    row |= interval_columns("pace_ratio", pace)
    accuracy = tested_apart(own, other, known(one["images"]))
    row |= interval_columns("accuracy_difference_frac", accuracy)
    if reached.all():
        ratio = paired_median_ratio(other["seconds_to_target"], own["seconds_to_target"], logs)
        row |= interval_columns("seconds_ratio", ratio)
    return row


def _later(own: pd.DataFrame, other: pd.DataFrame, column: str, prior: Prior) -> Estimate:
    """Return how much later an arm reaches its target than another, paired by seed.

    own, other: trials, none of which diverged; column: a key of BUDGETS. Where a seed never
    reached the target there is no value; but the target lies beyond its whole training, which
    bounds the difference: the interval is of the bounds where it decides which arm is sooner.
    """
    missed, other_missed = own[column].isna().any(), other[column].isna().any()
    if missed and other_missed:
        return UNKNOWN
    least, other_least = (one[column].fillna(one[BUDGETS[column]]) for one in (own, other))
    if not missed and not other_missed:
        return paired_median_difference(least, other_least, prior)
    bound = paired_median_difference(least, other_least)
    decided = (bound.low or 0) > 0 if missed else (bound.high or 0) < 0
    return bound._replace(value=None) if decided else UNKNOWN


def chosen_learners(rates: Mapping[int, float], threshold_frac: float) -> int:
    """Return the fewest learners of all timed that come to a threshold of the highest throughput.

    All are timed, so that a fall from one number to the next ends nothing. rates: throughput by
    number of learners.
    """
    highest = max(rates.values())
    return min(count for count, rate in rates.items() if rate * (1 + threshold_frac) >= highest)


def first_stop(rates: Mapping[int, float], threshold_frac: float) -> int:
    """Return where adding learners one by one would stop, at the first that gains too little.

    So Koliousis et al. 2019, section 4.3. rates: throughput by number, from 1 on.
    """
    learners = 1
    while learners + 1 in rates and rates[learners + 1] / rates[learners] - 1 > threshold_frac:
        learners += 1
    return learners


def learners(throughputs: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (model, batch) and number of learners; one without, if not timed.

    gain_frac: throughput over that of one learner fewer, minus 1; against_one_ratio: over one
    stacked learner; against_plain_ratio: over the network trained by itself, which is the row
    that is not `stacked`; to_chosen_ratio: over the number that is `chosen`. Medians over launches,
    each the median of its repeats, and paired by launch; of a single launch its repeats are. Like
    ratios scatter alike (`like_pairs`).
    Raises MixedMachinesError for runs of different machines.
    """
    timed = runs[runs["kind"] == "learners"]
    require_same_machine(timed)
    found: list[tuple[TableRow, pd.DataFrame]] = []
    for _, launches in timed.groupby(["model", "per_worker_batch"], sort=False):
        status = combined_status(launches["status"])
        alike = launches[launches["status"] == status]
        first = alike.iloc[0].to_dict()
        key = first | {
            "runs": " ".join(alike["run"]),
            "per_learner_batch": first["per_worker_batch"],
        }
        found.append((key, throughputs[throughputs["run"].isin(alike["run"])]))
    rates = [_rates(own) for _, own in found]
    priors = {name: like_pairs(_log_pairs(rates, name)) for name in BASES}
    rows: list[TableRow] = []
    for (key, own), of_cell in zip(found, rates, strict=True):
        rows += [key | row for row in _of_cell(own, of_cell, priors)] if of_cell else [key]
    return as_table(rows, LEARNER_COLUMNS)


def _rates(own: pd.DataFrame) -> Rates:
    """Samples per second of each launch of a cell, by whether stacked and how many learners."""
    speeds = own.assign(speed=own["samples"] / own["seconds"])
    return {
        key: over_launches(group.set_index(["run", "repeat"])["speed"])
        for key, group in speeds.groupby(["stacked", "learners"])
    }


def _log_pairs(cells: Sequence[Rates], name: str) -> Iterator[tuple[pd.Series, pd.Series]]:
    """The logarithms of all rates and of what each is set beside."""
    for rates in cells:
        for key, rate in rates.items():
            if (base := BASES[name](*key)) in rates:
                yield np.log(rate), np.log(rates[base])


def _of_cell(own: pd.DataFrame, rates: Rates, priors: Mapping[str, Prior]) -> list[TableRow]:
    """Return the row of the network by itself, and one for each number of stacked learners."""
    threshold = own["threshold_frac"].iloc[0]
    medians = {count: rate.median() for (stacked, count), rate in rates.items() if stacked}
    chosen, stop = (rule(medians, threshold) for rule in (chosen_learners, first_stop))
    rows: list[TableRow] = []
    for (stacked, count), rate in rates.items():
        speed = median(rate)
        row = {
            "stacked": stacked,
            "learners": count,
            "repeats": speed.repeats,
            "chosen": count == chosen if stacked else None,
            "first_stop": count == stop if stacked else None,
            "most": count == max(medians) if stacked else None,
            "stops_early": stop < chosen if stacked else None,
            "threshold_frac": threshold,
        }
        row |= interval_columns("samples_per_s", speed)
        for name, base_of in BASES.items():
            if (base := base_of(stacked, count)) in rates:
                row |= interval_columns(name, paired_median_ratio(rate, rates[base], priors[name]))
        if stacked and count != chosen:
            to_chosen = paired_median_ratio(rate, rates[True, chosen], priors["gain_ratio"])
            row |= interval_columns("to_chosen_ratio", to_chosen)
        for end in ("", "_low", "_high"):
            ratio = row.pop(f"gain_ratio{end}", None)
            row[f"gain_frac{end}"] = None if ratio is None else ratio - 1
        rows.append(row)
    return rows


_TRIALS = ["trials", "curves", "runs"]


def judge_arms(rows: list[TableRow]) -> None:
    """Notes whose rate an arm of averaging has, and whether its effective rate is SGD's.

    rate_choice: "shared" with SGD of the small batch, or "tuned" for averaging; close: to
    CLOSE_FRAC that of SGD with the large batch.
    """
    small = next((row["lr"] for row in rows if row["arm"] == "sgd_small"), None)
    large = next((row["effective_lr"] for row in rows if row["arm"] == "sgd_large"), None)
    for row in rows:
        rate = row["effective_lr"]
        row["close"] = large is not None and abs(rate / large - 1) <= CLOSE_FRAC
        averaged = row["optimizer"] == "sma"
        row["rate_choice"] = ("shared" if row["lr"] == small else "tuned") if averaged else None


def judge_pairs(rows: list[TableRow]) -> None:
    """Notes on which side of zero differences lie; an interval may stand without a value.

    standing: "faster" or "slower" in seconds; where those do not differ, "sooner" or "later" in
    epochs; "even" where neither does.
    """
    for row in rows:
        for name in ("epochs_difference", "seconds_difference", "accuracy_difference_frac"):
            found = verdict(row[f"{name}_low"], row[f"{name}_high"], 0.0)
            row[f"{name.split('_')[0]}_side"] = found
        row["standing"] = _standing(row["seconds_side"], row["epochs_side"])


def _standing(seconds: str, epochs: str) -> str:
    if seconds in ("below", "above"):
        return "faster" if seconds == "below" else "slower"
    return {"below": "sooner", "above": "later", "indistinct": "even"}.get(epochs, "unknown")


TABLES = {
    "model_averaging": Table(model_averaging, _TRIALS, ARM_COLUMNS, judge_arms),
    "averaging_times": Table(averaging_times, _TRIALS, TIME_COLUMNS),
    "averaging_rates": Table(averaging_rates, _TRIALS, RATE_COLUMNS),
    "averaging_pairs": Table(averaging_pairs, _TRIALS, PAIR_COLUMNS, judge_pairs),
    "learners": Table(learners, ["throughputs", "runs"], LEARNER_COLUMNS),
    "published_model_averaging": Table(
        published.published, ["averaging_pairs", "learners", "runs"], published.COLUMNS
    ),
}
