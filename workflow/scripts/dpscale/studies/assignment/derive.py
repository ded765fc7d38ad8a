"""H1 to H6, derived: every training, one worker's utilisation, and where an epoch goes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import (
    Cell,
    Launches,
    cells,
    combined_status,
    first_known,
    in_study,
    one_worker_bases,
    over_launches,
)
from dpscale.derive.columns import as_table, known
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.factors import weighted_sums
from dpscale.derive.formulas import (
    efficiency,
    epoch_seconds,
    full_run_seconds,
    full_steps,
    run_steps,
    speedup,
)
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import SUMS, sides_of, split_of
from dpscale.derive.statistics import (
    Estimate,
    estimate_of,
    exactly,
    interval_columns,
    median,
    median_ratio,
    over_seeds,
    paired_median_difference,
)
from dpscale.derive.tables import Table
from dpscale.derive.trainings import TRIAL, evaluations, tested_apart, trained
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.assignment import published, verdicts
from dpscale.studies.assignment.config import ASSIGNED_BATCH
from dpscale.studies.assignment.plan import (
    ASSIGNED_ARM,
    ASSIGNED_STUDY,
    DOUBLED_BATCH,
    DOUBLED_STUDY,
    LARGER_BATCH,
    LINEAR,
    MORE_LOADING,
    SPLIT_STUDY,
    STUDY,
)
from dpscale.studies.assignment.published import FULL_EPOCHS
from dpscale.studies.assignment.verdicts import LOSSES, RULES
from dpscale.vocabulary import words

CELL = ["arm", "workers", "nodes", "per_worker_batch"]
TIMES = ("train_s", "evaluation_s", "full_run_s")
RATIOS = "speedup_ratio efficiency_frac epochs_efficiency_frac"
DIFFERENCES = {  # of test accuracies, less that of which training
    "one": "test_accuracy_difference_frac",
    "node": "one_node_difference_frac",
    "best": "best_difference_frac",
    "fixed": "fixed_difference_frac",
}
TRAINING_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch")
    | words("rule", RULES)
    | columns("epochs steps seeds")
    | intervals("test_accuracy_frac train_s evaluation_s full_run_s startup_s")
    | intervals(RATIOS)
    | intervals(" ".join(DIFFERENCES.values()))
    | columns("speedup_with_startup_ratio lr global_batch train_samples test_samples")
    | columns("planned_steps counted_workers full_run_epochs full_run_steps oversubscribed status")
    | columns("message dataset model optimizer device runs base_status base_runs")
    | verdicts.TRAINING_COLUMNS
)


class _Trained(NamedTuple):
    """The runs of one rule on as many workers and nodes, and what each seed of them reached."""

    runs: pd.DataFrame
    seeds: pd.DataFrame

    @property
    def complete(self) -> bool:
        """Whether all of them are."""
        return self.status == "complete"

    @property
    def status(self) -> str:
        """How they ended: as the one that diverged, where one did."""
        ends = self.runs["status"]
        return "diverged" if (ends == "diverged").any() else combined_status(ends)

    @property
    def place(self) -> tuple[str, int, int]:
        """Its rule, nodes and workers."""
        run = self.runs.iloc[0]
        return run["arm"], int(known(run["nodes"]) or 1), int(run["workers"])

    @property
    def reached(self) -> pd.Series:
        """The last test accuracy of each seed."""
        return self.seeds["test_accuracy_frac"]

    @property
    def images(self) -> float | None:
        """Of its test set."""
        return first_known(self.runs["test_samples"])


def trainings(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a training of the assignment: medians over its seeds, 95% intervals.

    Of the linear rule each seed is a launch, and is timed. train_s is what a user waits for once it
    trains: the wall time of all epochs, loading included, of the slowest worker, and of it
    evaluation_s for the evaluation after each; startup_s, not in it, from the start of the
    processes to the first step. full_run_s scales train_s to FULL_EPOCHS. Speed-up and efficiency
    are those of train_s against one worker, epochs_efficiency_frac that without the evaluations,
    which every worker makes whole. Accuracies hold the sampling of the test images; differences of
    them are paired by seed: to one worker with the linear rule, and of the linear rule to as many
    workers on one node, to the best number of workers, on several nodes where it was trained on
    those, and to the fixed rate. steps and counted_workers are counted in the recorded steps,
    planned_steps is epochs * floor(D/B). A training without a record is a row with its status and
    nulls. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    asked = planned[planned["arm"].isin(verdicts.RULES)]
    by_run, ends = RowsByKey(steps, "run"), RowsByKey(_seeds(asked, trials, curves), "run")
    made = [
        _Trained(own, ends.of(*own["run"]))
        for _, own in asked.groupby(CELL, dropna=False, sort=False)
    ]
    linear, fixed = (
        {one.place[1:]: one for one in made if one.place[0] == rule} for rule in (LINEAR, "fixed")
    )
    base, best = linear.get((1, 1)), _best(linear)
    rows = []
    for one in made:
        row = _planned(one)
        if base is not None:
            row |= {"base_runs": " ".join(base.runs["run"]), "base_status": base.status}
        if one.complete:
            row |= _counted(by_run.of(*one.runs["run"])) | {"seeds": len(one.seeds)}
            row |= interval_columns("test_accuracy_frac", over_seeds(one.reached, one.images))
            row |= _apart(one, {"one": base, **_rivals(one, linear, fixed, best)})
            row |= _timed(one, base) if one.place[0] == LINEAR else {}
        rows.append(row)
    return as_table(rows, TRAINING_COLUMNS)


Placed = Mapping[tuple[int, int], _Trained]  # by nodes and workers


def _best(linear: Placed) -> _Trained | None:
    """The training of the highest median accuracy, on several nodes where it was trained there."""
    known_ones = {
        place: one for place, one in linear.items() if one.complete and one.reached.notna().all()
    }
    tried = {place: one for place, one in known_ones.items() if place[0] > 1} or known_ones
    return max(tried.values(), key=lambda one: float(one.reached.median()), default=None)


def _rivals(
    one: _Trained, linear: Placed, fixed: Placed, best: _Trained | None
) -> dict[str, _Trained | None]:
    """What a training with the linear rule is compared with beside one worker."""
    rule, nodes, workers = one.place
    if rule != LINEAR or best is None:
        return {}
    rivals = {
        "fixed": fixed.get((nodes, workers)),
        "node": linear.get((1, workers)) if nodes > 1 else None,
    }
    return rivals | ({"best": best} if (nodes > 1) == (best.place[1] > 1) else {})


def _planned(one: _Trained) -> dict[str, Any]:
    """Return what a training was planned to do: B, D and the steps of full batches."""
    run = one.runs.iloc[0]
    samples = first_known(one.runs["train_samples"])
    an_epoch = full_steps(int(samples), int(run["global_batch"])) if samples else None
    return {
        **{name: run[name] for name in TRAINING_COLUMNS if name in run.index and name != "seeds"},
        "rule": run["arm"],  # `runs` has a rule of its own, that of S2
        "runs": " ".join(one.runs["run"]),
        "status": one.status,
        "startup_s": None,
        "planned_steps": an_epoch and run_steps(an_epoch, int(run["epochs"])),
        "full_run_epochs": FULL_EPOCHS,
        "full_run_steps": an_epoch and run_steps(an_epoch, FULL_EPOCHS),
    }


def _counted(steps: pd.DataFrame) -> dict[str, int | None]:
    """Return the steps that one seed's training made and the workers that made them."""
    one = steps[steps["seed"] == steps["seed"].min()]
    made = one[["epoch", "step"]].drop_duplicates()
    return {"steps": len(made) or None, "counted_workers": one["rank"].nunique() or None}


def _seeds(runs: pd.DataFrame, trials: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return train_s, of it epochs_s and evaluation_s, and the last accuracy of each seed."""
    models = trained(trials, runs)
    seen = evaluations(models, curves).groupby(TRIAL)
    sums = seen[["wall_s", "evaluation_s"]].sum(min_count=1)
    made = sums.assign(
        train_s=sums["wall_s"] + sums["evaluation_s"],
        epochs_s=sums["wall_s"],
        test_accuracy_frac=seen["test_accuracy_frac"].last(),
    ).astype(float)
    made["test_right"] = seen["test_right"].last()
    found = models[["run", "trial", "seed"]].join(made, on=TRIAL)
    epochs = found["run"].map(runs.set_index("run")["epochs"]).astype(float)
    full_s = full_run_seconds(found["train_s"], epochs, FULL_EPOCHS)
    return found.assign(full_run_s=full_s).set_index("seed")


def _apart(one: _Trained, others: Mapping[str, _Trained | None]) -> dict[str, Any]:
    """Return the differences of test accuracies to other trainings that came to their end."""
    row: dict[str, Any] = {}
    for name, other in others.items():
        if other is not None and other is not one and other.complete:
            apart = tested_apart(one.seeds, other.seeds, one.images)
            row |= interval_columns(DIFFERENCES[name], apart)
    return row


def _timed(one: _Trained, base: _Trained | None) -> dict[str, Any]:
    """Return the times over launches, T_1/T_N and T_1/(N T_N) against the base's."""
    row: dict[str, Any] = {}
    startup = median(one.runs["startup_s"].to_numpy(float, na_value=np.nan))
    for name in TIMES:
        row |= interval_columns(name, median(one.seeds[name].to_numpy()))
    row |= interval_columns("startup_s", startup)
    if base is None or not base.complete:
        return row
    ratio = _ratio(one, base, "train_s")
    epochs = _ratio(one, base, "epochs_s")
    return (
        row
        | interval_columns("speedup_ratio", ratio)
        | interval_columns("efficiency_frac", _efficiency(ratio, one.place[2]))
        | interval_columns("epochs_efficiency_frac", _efficiency(epochs, one.place[2]))
        | {"speedup_with_startup_ratio": _with_startup(one, base)}
    )


def _ratio(one: _Trained, base: _Trained, name: str) -> Estimate:
    if one is base:
        return exactly(1.0)
    return median_ratio(base.seeds[name].to_numpy(), one.seeds[name].to_numpy())


def _efficiency(ratio: Estimate, workers: int) -> Estimate:
    value, low, high = (None if end is None else efficiency(end, workers) for end in ratio[:3])
    return Estimate(value, low, high, ratio.repeats)


def _with_startup(one: _Trained, base: _Trained) -> float | None:
    """The ratio of the medians of training and start together; None where a start is unknown."""
    alone_s, several_s = (
        side.seeds["train_s"].median() + side.runs["startup_s"].astype(float).median()
        for side in (base, one)
    )
    return known(speedup(alone_s, several_s))


UTILISATION = "utilisation_frac samples_per_s load_frac compute_frac"
COMPUTE = ["forward_s", "backward_s", "update_s"]
UTILISATION_COLUMNS: Columns = (
    columns("per_worker_batch status")
    | intervals(UTILISATION)
    | intervals("rate_to_best_ratio utilisation_difference_frac load_difference_frac")
    | intervals("test_accuracy_frac test_accuracy_difference_frac")
    | columns("compared_epochs launches device dataset model optimizer runs message")
    | verdicts.UTILISATION_COLUMNS
)


def utilisation(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a batch of one worker, ascending: its utilisation while it trains.

    utilisation_frac: on a GPU NVML's share of time with a kernel running, on a CPU processor time
    over wall time and threads, loading in this process included. load_frac: share of the wall time
    in which the device waits for the loader; compute_frac: that of forward pass, backward pass and
    update, an idle device between two kernels included. Medians over launches, of each that over
    its epochs but the first. rate_to_best_ratio: to the batch of the highest rate;
    utilisation_difference_frac and load_difference_frac: less those of the smallest batch.
    test_accuracy_frac: after compared_epochs, as many as all of them trained; its difference is to
    the smallest batch too, paired by seed. Raises MixedMachinesError for runs of different
    machines.
    """
    planned = in_study(runs, STUDY)
    alone = planned[(planned["workers"] == 1) & planned["arm"].isin([LINEAR, LARGER_BATCH])]
    require_same_machine(alone)
    by_launch = _by_launch(trials, curves, steps, alone)
    found = {
        batch: by_launch.reindex(own["run"]).dropna(how="all")
        for batch, own in alone.groupby("per_worker_batch")
    }
    rates = {batch: own["samples_per_s"] for batch, own in found.items() if len(own)}
    best = max(rates.values(), key=lambda own: float(own.median()), default=pd.Series())
    epochs, learnt = _after_equal_epochs(trials, curves, alone)
    rows = []
    for batch, own in alone.groupby("per_worker_batch"):
        run = own.iloc[0]
        named = ("device", "dataset", "model", "optimizer")
        row = {name: run[name] for name in named} | {"per_worker_batch": batch}
        row |= {"runs": " ".join(own["run"]), "message": first_known(own["message"])}
        row |= {"status": combined_status(own["status"])}
        if row["status"] == "complete" and batch in rates:
            row |= _busy(found[batch], found[min(rates)], best)
            row |= {"compared_epochs": epochs} | _learnt(learnt, own, min(rates))
        rows.append(row)
    return as_table(rows, UTILISATION_COLUMNS)


def _after_equal_epochs(
    trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> tuple[int | None, pd.DataFrame]:
    """Return the epochs that all trainings have, and the batch and accuracy of each seed then."""
    batches = runs[["run", "per_worker_batch", "test_samples"]]
    seen = evaluations(trained(trials, runs), curves).merge(batches, on="run")
    if seen.empty:
        return None, seen
    epochs = int(seen.groupby("run")["epoch"].max().min())
    return epochs, seen[seen["epoch"] == epochs].set_index("seed")


def _learnt(learnt: pd.DataFrame, own: pd.DataFrame, smallest: int) -> dict[str, Any]:
    """Return the test accuracy of a batch, and how far it lies from that of the smallest."""
    images = first_known(own["test_samples"])
    batch = own["per_worker_batch"].iloc[0]
    seeds, base = (learnt[learnt["per_worker_batch"] == size] for size in (batch, smallest))
    row = interval_columns("test_accuracy_frac", over_seeds(seeds["test_accuracy_frac"], images))
    if batch != smallest:
        apart = tested_apart(seeds, base, images)
        row |= interval_columns("test_accuracy_difference_frac", apart)
    return row


def _busy(own: pd.DataFrame, first: pd.DataFrame, best: pd.Series) -> dict[str, Any]:
    """Return what the launches of a batch say: medians, and beside other batches."""
    row: dict[str, Any] = {"launches": len(own)}
    for name in UTILISATION.split():
        found = median(own[name].to_numpy(float, na_value=np.nan))
        row |= interval_columns(name, found)
    fastest = own.index.equals(best.index)
    rate = exactly(1.0) if fastest else median_ratio(own["samples_per_s"], best)
    row |= interval_columns("rate_to_best_ratio", rate)
    if not own.index.equals(first.index):
        for name in ("utilisation", "load"):
            shares = (one[f"{name}_frac"].astype(float) for one in (own, first))
            apart = paired_median_difference(*shares)
            row |= interval_columns(f"{name}_difference_frac", apart)
    return row


LOADING_COLUMNS: Columns = (
    columns("per_worker_batch loader_workers base_loader_workers status")
    | intervals("samples_per_s load_frac utilisation_frac more_loading_ratio")
    | columns("launches runs base_runs message")
    | verdicts.LOADING_COLUMNS
)


def loading(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the batch that one worker trained with more loading processes too, if any: one row.

    Medians over launches, as of `utilisation`; more_loading_ratio: samples a second over those
    with as many loading processes as other trainings have (base_loader_workers). Raises
    MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    alone = planned[planned["workers"] == 1]
    more = alone[alone["arm"] == MORE_LOADING]
    base = alone[alone["arm"].isin([LINEAR, LARGER_BATCH])]
    base = base[base["per_worker_batch"].isin(more["per_worker_batch"])]
    require_same_machine(pd.concat([more, base]))
    by_launch = _by_launch(trials, curves, steps, pd.concat([more, base]))
    rows = []
    for (batch, processes), own in more.groupby(["per_worker_batch", "loader_workers"]):
        ahead, plain = (by_launch.reindex(part["run"]).dropna(how="all") for part in (own, base))
        row = {"per_worker_batch": batch, "loader_workers": processes, "launches": len(ahead)}
        row |= {"runs": " ".join(own["run"]), "base_runs": " ".join(base["run"])}
        row |= {"base_loader_workers": first_known(base["loader_workers"])}
        row |= {"message": first_known(own["message"]), "status": combined_status(own["status"])}
        if row["status"] == "complete" and len(ahead):
            for name in ("samples_per_s", "load_frac", "utilisation_frac"):
                found = median(ahead[name].to_numpy(float, na_value=np.nan))
                row |= interval_columns(name, found)
            if combined_status(base["status"]) == "complete" and len(plain):
                ratio = median_ratio(ahead["samples_per_s"], plain["samples_per_s"])
                row |= interval_columns("more_loading_ratio", ratio)
        rows.append(row)
    return as_table(rows, LOADING_COLUMNS)


def _by_launch(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the measures of each run, medians over its epochs but the first."""
    seen = _warm_epochs(evaluations(trained(trials, runs), curves), steps)
    return seen.groupby("run")[UTILISATION.split()].median()


def _warm_epochs(seen: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of each epoch but the first of each training, which warms up."""
    keys, measured = ["run", "seed", "epoch"], ["samples", "load_s", *COMPUTE]
    sums = steps[steps["run"].isin(seen["run"])].groupby(keys)[measured].sum(min_count=1)
    own = seen[seen["epoch"] > 1].join(sums, on=keys)
    return own.assign(
        utilisation_frac=own["utilisation_frac"].astype(float),
        samples_per_s=own["samples"] / own["wall_s"],
        load_frac=own["load_s"] / own["wall_s"],
        compute_frac=own[COMPUTE].sum(axis=1) / own["wall_s"],
    )


PARTS = (*LOSSES, "computation", "rest")
DIRECT = {
    "stragglers": "straggler_s",
    "overhead": "overhead_s",
    "exposed": "exposed_s",
    "sharing": "sharing_s",
}
WEIGHTS: dict[str, Mapping[str, float]] = {
    "load": {"load": 1},
    "copy": {"copy": 1},
    **{part: SUMS[column] for part, column in DIRECT.items()},
}
ARM = "with_loading"
SPLIT_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status")
    | intervals("epoch_s")
    | columns(" ".join(f"{part}_{unit}" for unit in ("s", "frac") for part in PARTS))
    | columns(" ".join(f"{part}_frac_{end}" for part in LOSSES for end in ("low", "high")))
    | intervals(" ".join(f"{part}_behind_frac" for part in LOSSES))
    | columns("oversubscribed repeats runs message model optimizer")
    | verdicts.SPLIT_COLUMNS
)


def split(
    epoch_times: pd.DataFrame, spans: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the parts of an epoch of D samples with loading, a row for each (workers, nodes).

    load and copy are phases of the steps with loading; exposed (communication that computation
    does not hide), overhead (of DDP), stragglers (the slowest copy against the mean one) and
    sharing (the rest of what copies side by side cost each other) are differences of arms without
    loading; computation is T_1/N, of these arms too, less the copy; rest is what is left, so that
    the parts add up to epoch_s. Shares are of epoch_s.
    behind: what the largest part that is above zero has more, paired by launch.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, SPLIT_STUDY)
    arms = split_of(planned, epoch_times, spans)
    times, full = Launches(epoch_times), steps_of_full_batches(steps, planned)
    network = planned.groupby("workers")[["model", "optimizer"]].first()
    found, rows = cells(planned), []
    bases = one_worker_bases(found)
    for cell in found:
        same = (arms["workers"] == cell.workers) & (arms["nodes"] == cell.nodes)
        loading = _loading(cell, full)
        base = bases.get(cell.per_worker_batch)
        sides = sides_of(cell, base, times) if base and cell.workers > 1 else [pd.DataFrame()]
        sides[0] = pd.concat([sides[0], pd.DataFrame(loading)], axis=1)
        row = _split_row(cell, arms[same], times, loading)
        shown = [part for part in LOSSES if verdicts.shown(row, part)]
        rows.append(row | _behind(row, sides, shown) | network.loc[cell.workers].to_dict())
    return as_table(rows, SPLIT_COLUMNS)


def _split_row(
    cell: Cell, arms: pd.DataFrame, times: Launches, loading: Mapping[str, pd.Series]
) -> dict[str, Any]:
    epoch = median(times.epoch_s(cell, ARM))
    row = cell._asdict() | {"runs": " ".join(cell.runs), "repeats": epoch.repeats}
    row |= interval_columns("epoch_s", epoch)
    if not epoch.value:
        return row
    parts = {part: median(own.to_numpy()) for part, own in loading.items()}
    if len(arms):
        parts |= {part: estimate_of(arms.iloc[0], column) for part, column in DIRECT.items()}
    one = known(arms.iloc[0]["compute_s"]) if len(arms) else None
    seconds = [part.value for part in parts.values() if part.value is not None]
    if one is not None and len(seconds) == len(LOSSES):
        computation = one - (parts["copy"].value or 0.0)
        left = {"computation": computation, "rest": epoch.value - sum(seconds) - computation}
        parts |= {part: Estimate(own_s, None, None, 0) for part, own_s in left.items()}
    for part, estimate in parts.items():
        row[f"{part}_s"] = estimate.value
        for end, value in zip(("", "_low", "_high"), estimate[:3], strict=True):
            row[f"{part}_frac{end}"] = None if value is None else value / epoch.value
    return row


def _loading(cell: Cell, steps: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the seconds of loading and copying in an epoch of D samples, by launch.

    The mean over ranks: a rank that waits for another's loading does so in its backward pass.
    """
    own = steps[steps["run"].isin(cell.runs) & (steps["arm"] == ARM)].groupby(["run", "repeat"])
    ranks, samples = own["rank"].nunique(), own["samples"].sum()
    found = {}
    for part in ("load", "copy"):
        mean_s = own[f"{part}_s"].sum() / ranks
        whole = epoch_seconds(mean_s, samples, cell.train_samples or np.nan).astype(float)
        found[part] = over_launches(whole)
    return found


def _behind(
    row: Mapping[str, Any], sides: list[pd.DataFrame], shown: Sequence[str]
) -> dict[str, Any]:
    """Return by what share of the epoch each part is less than the largest, paired by launch."""
    top = max(shown, key=lambda part: row[f"{part}_frac"], default=None)
    behind: dict[str, Any] = {}
    for part in shown:
        if top is not None and part != top:
            weights = Counter(WEIGHTS[top])
            weights.subtract(WEIGHTS[part])
            apart = weighted_sums([sides], {name: n for name, n in weights.items() if n})[0]
            value, low, high = (None if end is None else end / row["epoch_s"] for end in apart[:3])
            shares = Estimate(value, low, high, apart.repeats)
            behind |= interval_columns(f"{part}_behind_frac", shares)
    return behind


DOUBLED_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status")
    | intervals("epoch_s speedup_ratio test_accuracy_frac test_accuracy_difference_frac")
    | intervals("fewer_speedup_ratio")
    | columns("fewer_workers fewer_nodes")
    | columns("base_epoch_s lr repeats oversubscribed runs base_runs")
    | side("pace", "speedup_ratio", 1.0)
    | side("to_fewer", "fewer_speedup_ratio", 1.0)
    | side("accuracy_to_base", "test_accuracy_difference_frac")
)


def doubled(
    epoch_times: pd.DataFrame, trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the epoch of the most workers with twice the batch, a row for each (workers, nodes).

    speedup_ratio: of an epoch with loading, over the batch of `assignment_split`; the median of the
    launches that both have, launch by launch; fewer_speedup_ratio: likewise over the fewer workers
    with that batch whose epoch is the shortest. test_accuracy_frac: after the assignment's epochs
    with a rate lr in proportion to the batch; its difference is to as many workers with that batch
    and the linear rule, paired by seed.
    Raises MixedMachinesError for runs of different machines.
    """
    planned, usual = in_study(runs, DOUBLED_STUDY), in_study(runs, SPLIT_STUDY)
    require_same_machine(pd.concat([planned, usual]))
    learnt = in_study(runs, STUDY)
    learnt = learnt[learnt["arm"].isin([LINEAR, DOUBLED_BATCH])]
    times, ends = Launches(epoch_times), RowsByKey(_seeds(learnt, trials, curves), "run")
    bases = {(cell.workers, cell.nodes): cell for cell in cells(usual)}
    rows = []
    for cell in cells(planned):
        base = bases.get((cell.workers, cell.nodes))
        row = _over_base(cell, base, times) | _beside_fewer(cell, bases.values(), times)
        placed = learnt[(learnt["workers"] == cell.workers) & (learnt["nodes"] == cell.nodes)]
        twice, usual = (
            _Trained(own, ends.of(*own["run"]))
            for own in (placed[placed["arm"] == arm] for arm in (DOUBLED_BATCH, LINEAR))
        )
        rows.append(row | _with_accuracy(row, twice, usual))
    return as_table(rows, DOUBLED_COLUMNS)


def _over_base(cell: Cell, base: Cell | None, times: Launches) -> dict[str, Any]:
    """Return the epoch of a cell with loading, and that of its base over it, launch by launch."""
    epoch = median(times.epoch_s(cell, ARM))
    row = cell.columns() | {"repeats": epoch.repeats} | interval_columns("epoch_s", epoch)
    if base is not None:
        base_s = median(times.epoch_s(base, ARM)).value
        row |= {"base_epoch_s": base_s, "base_runs": " ".join(base.runs)}
        ratio = exactly(1.0) if base is cell and epoch.value else times.ratio(base, cell, ARM)
        row |= interval_columns("speedup_ratio", ratio)
    return row


def _beside_fewer(cell: Cell, usual: Iterable[Cell], times: Launches) -> dict[str, Any]:
    """Return the fewer workers whose epoch is the shortest, and that over the epoch of a cell."""
    epochs = {
        one: median(times.epoch_s(one, ARM)).value for one in usual if one.workers < cell.workers
    }
    timed = {one: epoch_s for one, epoch_s in epochs.items() if epoch_s}
    if not timed:
        return {}
    fastest = min(timed, key=timed.__getitem__)
    place = {"fewer_workers": fastest.workers, "fewer_nodes": fastest.nodes}
    return place | interval_columns("fewer_speedup_ratio", times.ratio(fastest, cell, ARM))


def _with_accuracy(row: Mapping[str, Any], own: _Trained, base: _Trained) -> dict[str, Any]:
    """Return what a timed cell learnt, and beside a base; empty where that is not complete."""
    if own.runs.empty or not own.complete:
        return {}
    learnt: dict[str, Any] = {
        "lr": own.runs["lr"].iloc[0],
        "runs": " ".join([row["runs"], *own.runs["run"]]),
    }
    learnt |= interval_columns("test_accuracy_frac", over_seeds(own.reached, own.images))
    if own is not base and len(base.runs) and base.complete:
        apart = tested_apart(own.seeds, base.seeds, own.images)
        learnt |= interval_columns("test_accuracy_difference_frac", apart)
        learnt["base_runs"] = " ".join(filter(None, [row.get("base_runs"), *base.runs["run"]]))
    return learnt


ASSIGNED_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status")
    | intervals("epoch_s speedup_ratio efficiency_frac")
    | intervals("test_accuracy_frac test_accuracy_difference_frac")
    | columns("lr steps_per_epoch train_samples repeats oversubscribed runs base_runs")
    | side("pace", "speedup_ratio", 1.0)
    | verdicts.ASSIGNED_COLUMNS
)


def assigned(
    epoch_times: pd.DataFrame, trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the epochs with the assignment's batch, where the trainings have another one.

    A row for each number of workers on one node, one worker's first. speedup_ratio: of an epoch
    with loading, without evaluations, over that of one worker with that batch, as in
    `assignment_doubled`, whose epoch is used where its batch is this one. test_accuracy_frac: after
    the assignment's epochs with a rate lr in proportion to the global batch; its difference is to
    one worker with that batch, paired by seed. Empty where the trainings have the assignment's
    batch. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, ASSIGNED_STUDY, DOUBLED_STUDY)
    alike = (planned["per_worker_batch"] == ASSIGNED_BATCH) & (planned["nodes"] == 1)
    planned = planned[alike]
    require_same_machine(planned)
    times, found = Launches(epoch_times), cells(planned)
    base = one_worker_bases(found).get(ASSIGNED_BATCH)
    learnt = in_study(runs, STUDY)
    learnt = learnt[learnt["arm"].isin([ASSIGNED_ARM, DOUBLED_BATCH]) & (learnt["nodes"] == 1)]
    learnt = learnt[learnt["per_worker_batch"] == ASSIGNED_BATCH]
    ends = RowsByKey(_seeds(learnt, trials, curves), "run")
    of_workers = {
        workers: _Trained(own, ends.of(*own["run"])) for workers, own in learnt.groupby("workers")
    }
    untrained = _Trained(learnt.iloc[:0], ends.of())
    alone = of_workers.get(1, untrained)
    rows = []
    for cell in found if base else []:
        row = _over_base(cell, base, times)
        ratio = estimate_of(row, "speedup_ratio")
        row |= interval_columns("efficiency_frac", _efficiency(ratio, cell.workers))
        if cell.train_samples:
            row["steps_per_epoch"] = full_steps(int(cell.train_samples), cell.global_batch)
        rows.append(row | _with_accuracy(row, of_workers.get(cell.workers, untrained), alone))
    return as_table(rows, ASSIGNED_COLUMNS)


TABLES = {
    "assignment": Table(
        trainings, ["trials", "curves", "steps", "runs"], TRAINING_COLUMNS, verdicts.trainings
    ),
    "assignment_utilisation": Table(
        utilisation,
        ["trials", "curves", "steps", "runs"],
        UTILISATION_COLUMNS,
        verdicts.utilisation,
    ),
    "assignment_loading": Table(loading, ["trials", "curves", "steps", "runs"], LOADING_COLUMNS),
    "assignment_split": Table(
        split, ["epoch_times", "spans", "steps", "runs"], SPLIT_COLUMNS, verdicts.losses
    ),
    "assignment_doubled": Table(
        doubled, ["epoch_times", "trials", "curves", "runs"], DOUBLED_COLUMNS
    ),
    "assignment_assigned": Table(
        assigned, ["epoch_times", "trials", "curves", "runs"], ASSIGNED_COLUMNS, verdicts.assigned
    ),
    "assignment_published": Table(
        published.beside_published,
        ["assignment", "accuracy", "assignment_utilisation"],
        published.COLUMNS,
    ),
}
