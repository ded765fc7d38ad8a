"""S4: loss, accuracy and communication of the arms, beside published differences, and the time
that local steps save."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import by_chance
from dpscale.derive.formulas import iterations_per_epoch, ring_allreduce_bytes
from dpscale.derive.published import CLAIM_COLUMNS, claim_row
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, interval_columns
from dpscale.derive.tables import Table
from dpscale.derive.trainings import (
    MEASURES,
    by_epoch,
    ends,
    evaluations,
    over_trials,
    tested_apart,
    trained,
)
from dpscale.derive.verdicts import beside, of_row, side
from dpscale.records.columns import Columns, columns, intervals, reals
from dpscale.studies.local_sgd.published import (
    CLAIMS,
    LOCAL_STEPS,
    NO_NOISE,
    SOURCE,
    published_ends,
)
from dpscale.vocabulary import words

STUDY = "local_sgd"
LEARNED_FRAC = 0.999  # of the training labels
LARGE = "A2"  # the arm that the others are set against
TITLES = {
    "A1": "small mini-batch",
    "A2": "large mini-batch",
    "A3": "huge mini-batch",
    "A4": "local SGD",
    "A5": "post-local SGD",
}
ARM = ["label_noise_frac", "arm"]
PAIR = ["label_noise_frac", "minuend", "subtrahend"]
COLUMNS: Columns = (
    columns("label_noise_frac arm title workers per_worker_batch global_batch local_steps")
    | columns("local_from_step status lr rate_factor rates_tried rate_place epochs steps rounds")
    | columns("sent_bytes seeds")
    | intervals(f"{' '.join(MEASURES)} over_large_frac")
    | columns("runs message")
    | side("over_large_side", "over_large_frac")
    | words("loss_to_large")
    | columns("best learned")
    | reals("sent_bytes")
)
CURVE_COLUMNS: Columns = (
    columns("label_noise_frac arm title epoch switch_epoch seeds")
    | intervals(" ".join(MEASURES))
    | columns("runs")
    | reals("epoch")
)
PUBLISHED_COLUMNS: Columns = (
    CLAIM_COLUMNS
    | words("claim", CLAIMS)
    | columns("label_noise_frac minuend subtrahend seeds")
    | side("side", "measured")
)
Room = Literal["none", "generalisation", "training"]  # for a difference of test accuracies
REGIME_COLUMNS: Columns = (
    columns("label_noise_frac") | words("room", Room) | columns("family chance_decides runs")
)
TIME_COLUMNS: Columns = (
    columns("link bytes_per_s latency_s workers per_worker_batch local_steps epoch_s")
    | columns("communication_epoch_s synchronous_epoch_s speedup_ratio overlap_frac stretch_ratio")
    | columns("status note runs")
)
WHAT_IF_STEPS = {"none": 1, "local_4": 4, "local_16": 16}  # variant of `what_if`: local steps


def title(arm: str) -> str:
    """Return what an arm is called: `post-local SGD, H = 16` of `A5 H=16`."""
    name, _, steps = arm.partition(" H=")
    return TITLES[name] + (f", H = {steps}" if steps else "")


def _results(trials: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of S4 that are results: those that chose a rate are not."""
    return trained(trials, in_study(runs, STUDY), "result")


def _difference(ends: pd.DataFrame, noise: float, arm: str, other: str) -> Estimate:
    """Return by how much an arm's test accuracy is above another's.

    Unknown where a seed of either diverged: an arm is not praised for its others.
    """
    regime = ends[(ends["label_noise_frac"] == noise) & ends["arm"].isin([arm, other])]
    if (regime["status"] == "diverged").any():
        return UNKNOWN
    one, base = (regime[regime["arm"] == name].set_index("seed") for name in (arm, other))
    return tested_apart(one, base, known(regime["images"].max()))


def _search(tried: pd.Series, chosen: float) -> dict[str, Any]:
    """Return how many shares of the rate were tried, and where the chosen one lies among them."""
    shares = sorted(set(tried))
    if len(shares) < 2:
        return {"rates_tried": 0}
    place = {shares[0]: "lowest", shares[-1]: "highest"}.get(chosen, "inside")
    return {"rates_tried": len(shares), "rate_place": place}


def _arm(run: dict[str, Any], ended: pd.DataFrame) -> dict[str, Any]:
    """Return the row of an arm in a regime, all of whose results are of one run."""
    first = ended.iloc[0].to_dict()
    row = first | {
        "title": title(first["arm"]),
        "workers": first["learners"],
        "per_worker_batch": first["per_learner_batch"],
        "epochs": run["epochs"],
        "seeds": len(ended),
        "runs": run["run"],
    }
    if diverged := (ended["status"] == "diverged").sum():
        nothing = dict.fromkeys(["steps", "rounds", "sent_bytes", *MEASURES])
        message = f"{diverged} of {len(ended)} seeds diverged"
        return row | nothing | {"status": "diverged", "message": message}
    payload = known(run["payload_bytes"])
    sent = payload and first["rounds"] * ring_allreduce_bytes(float(payload), row["workers"])
    return row | {"sent_bytes": sent} | over_trials(ended)


def local_sgd(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (regime, arm): medians over seeds after the last epoch.

    sent_bytes: of one worker, `formulas.ring_allreduce_bytes` of the parameters times the rounds
    that the training counted; over_large_frac: above the test accuracy of the large mini-batch, a
    difference of medians paired by seed; rates_tried: by the run that chose this arm's rate, and
    rate_place: where it lies among them, "lowest", "highest" or "inside". A run without a result
    is one row with its status; an arm of which any seed diverged has no numbers. Raises
    MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    last = ends(_results(trials, runs), curves)
    rows = []
    for run in planned.to_dict("records"):
        own = last[last["run"] == run["run"]]
        if own.empty:
            rows.append(
                {
                    "arm": run["arm"],
                    "status": run["status"],
                    "runs": run["run"],
                    "message": run["message"],
                }
            )
        tuning = trials[(trials["run"] == run["run"]) & (trials["role"] == "tuning")]
        for (noise, arm), ended in own.groupby(ARM):
            row = _arm(run, ended)
            row |= _search(tuning["rate_factor"], row["rate_factor"])
            if arm != LARGE:
                row |= interval_columns("over_large_frac", _difference(last, noise, arm, LARGE))
            rows.append(row)
    return as_table(rows, COLUMNS).sort_values(ARM, ignore_index=True, kind="stable")


def local_sgd_curves(
    trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the curves of the arms: medians over the seeds that did not diverge, by epoch.

    switch_epoch: when local steps begin; null without any.
    """
    chosen = _results(trials, runs)
    seen = evaluations(chosen[chosen["status"] == "complete"], curves)
    rows = [
        row
        | {
            "label_noise_frac": noise,
            "arm": arm,
            "title": title(arm),
            "switch_epoch": own["local_from_step"].iloc[0] / (own["step"] / own["epoch"]).iloc[0],
        }
        for (noise, arm), own in seen.groupby(ARM)
        for row in by_epoch(own)
    ]
    return as_table(rows, CURVE_COLUMNS)


def measured_arms(arms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return by claim the two arms that stand for what it compares, where both were trained.

    Post-local SGD is the arm with the H of the publication, else that of the fewest local steps;
    more local steps are those of the arms of most and of fewest.
    """
    post_local = {int(arm.partition(" H=")[2]): arm for arm in arms if arm.startswith("A5")}
    fewest, most = (post_local.get(end(post_local, default=0), "") for end in (min, max))
    usual = post_local.get(LOCAL_STEPS, fewest)
    pairs = {
        "post_local_against_large": (usual, LARGE),
        "post_local_against_small": (usual, "A1"),
        "small_against_large": ("A1", LARGE),
        "more_local_steps": (most, fewest),
    }
    return {claim: pair for claim, pair in pairs.items() if len({*pair} & {*arms}) == 2}


def published_local_sgd(
    trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the claims on two arms' test accuracy in each regime.

    measured: the difference of medians paired by seed; minuend, subtrahend: the arms; published:
    from the smallest to the largest of the published data sets. A verdict concerns the direction
    alone, since network and data differ; regimes that were not published have none.
    """
    last = ends(_results(trials, runs), curves)
    rows = []
    for noise, arms in last.groupby("label_noise_frac"):
        for claim, (one, other) in measured_arms(list(arms["arm"].unique())).items():
            found = _difference(last, noise, one, other)
            own = arms.loc[arms["arm"].isin([one, other]), "run"].unique()
            given = published_ends(claim)
            rows.append(
                claim_row(
                    claim,
                    "sign",
                    published=given[0],
                    ends=given,
                    source=SOURCE,
                    measured=found,
                    reason=NO_NOISE if noise else None,
                    label_noise_frac=noise,
                    minuend=one,
                    subtrahend=other,
                    seeds=found.repeats,
                    runs=" ".join(own),
                )
            )
    return as_table(rows, PUBLISHED_COLUMNS)


def local_sgd_regimes(arms: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each regime: what in it can set two arms apart.

    arms: `local_sgd`; claims: `published_local_sgd`. family: all differences of two arms that have
    an interval, over all regimes, each counted once.
    """
    over_large = arms.assign(minuend=arms["arm"], subtrahend=LARGE, side=arms["over_large_side"])
    pairs = pd.concat([over_large, claims])[[*PAIR, "side"]]
    pairs = pairs[pairs["side"] != "unknown"].drop_duplicates(PAIR)
    differ = set(pairs.loc[pairs["side"] != "indistinct", "label_noise_frac"])
    rows = [
        {
            "label_noise_frac": noise,
            "room": _room(bool(regime["learned"].all()), noise in differ),
            **by_chance(len(pairs)),
            "runs": " ".join(regime["runs"].unique()),
        }
        for noise, regime in arms.groupby("label_noise_frac")
    ]
    return as_table(rows, REGIME_COLUMNS)


def _room(learned: bool, differ: bool) -> Room:
    """What can set arms apart of which all, or not, learned their labels, and some differ."""
    if not learned:
        return "training"
    return "generalisation" if differ else "none"


def local_sgd_times(
    what_if: pd.DataFrame, trials: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the predicted epoch of as many workers as the study has, for H = 1, 4 and 16.

    From the steps of `what_if`: the measured computation of Part 1 and a ring of the link's latency
    and rate. H = 1 is DDP, which hides overlap_frac of what could be hidden; averages of parameters
    hide nothing. stretch_ratio: of every transfer, fitted on this link, 1 on others.
    speedup_ratio: over H = 1 on the same link. Refused with the reason as there.
    """
    chosen, cell = _results(trials, runs), ["link", "per_worker_batch"]
    if chosen.empty:
        return as_table([], TIME_COLUMNS)
    of_size = what_if["workers"] == chosen["learners"].max()
    own = what_if[of_size & what_if["variant"].isin(list(WHAT_IF_STEPS))]
    base_s = own[own["variant"] == "none"].set_index(cell)["step_s"].rename("base_s")
    own = own.join(base_s, on=cell)
    samples = own["runs"].map(runs.set_index("run")["train_samples"])
    iterations = iterations_per_epoch(samples, own["workers"], own["per_worker_batch"])
    made = own.assign(
        local_steps=own["variant"].map(WHAT_IF_STEPS),
        epoch_s=own["step_s"] * iterations,
        communication_epoch_s=own["exposed_step_s"] * iterations,
        synchronous_epoch_s=own["base_s"] * iterations,
        speedup_ratio=own["base_s"] / own["step_s"],
    )
    return as_table(made.to_dict("records"), TIME_COLUMNS)


OF_TRIALS = ["trials", "curves", "runs"]


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes how the arms of a regime lie beside the large mini-batch.

    best: of those measurably more accurate the one of the highest median; learned: its training
    labels, so that training sets it no more apart.
    """
    large = {row["label_noise_frac"]: row for row in rows if row["arm"] == LARGE}
    best: dict[Any, dict[str, Any]] = {}
    for row in rows:
        noise, other = row["label_noise_frac"], large.get(row["label_noise_frac"])
        row["loss_to_large"] = beside(row, other, "train_loss") if other else "unknown"
        row["learned"] = (row["train_accuracy_frac"] or 0) >= LEARNED_FRAC
        if of_row(row, "over_large_frac") == "above":
            best[noise] = max(best.get(noise, row), row, key=_reached)
    for row in rows:
        row["best"] = row is best.get(row["label_noise_frac"])


def _reached(row: dict[str, Any]) -> float:
    return float(row["test_accuracy_frac"] or 0)


TABLES = {
    "local_sgd": Table(local_sgd, OF_TRIALS, COLUMNS, judge),
    "local_sgd_curves": Table(local_sgd_curves, OF_TRIALS, CURVE_COLUMNS),
    "published_local_sgd": Table(published_local_sgd, OF_TRIALS, PUBLISHED_COLUMNS),
    "local_sgd_regimes": Table(
        local_sgd_regimes, ["local_sgd", "published_local_sgd"], REGIME_COLUMNS
    ),
    "local_sgd_times": Table(local_sgd_times, ["what_if", "trials", "runs"], TIME_COLUMNS),
}
