"""H1 to H6: the cluster-training assignment."""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dpscale.config.sections import ScheduleConfig
from dpscale.derive.contrasts import by_chance
from dpscale.derive.formulas import (
    full_steps,
    iterations_per_epoch,
    run_steps,
    sharing_seconds,
    workers_of_steps,
)
from dpscale.derive.verdicts import beside, ends, lies, of_row
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import PER_CELL, Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import FAR_RATIO, complement, exactly, ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import (
    GOYAL,
    GUSTAFSON,
    HOFFER,
    KINGMA,
    KRIZHEVSKY,
    LI,
    MALLADI,
    NVML,
    PASZKE,
)
from dpscale.studies.assignment.plan import LINEAR, STUDY
from dpscale.studies.assignment.published import ASSIGNED, CONTRADICTS, stands_in
from dpscale.studies.assignment.verdicts import LOSSES, in_order
from dpscale.units import group_digits, unit_of
from dpscale.units.text import SPACE
from dpscale.vocabulary import words

CELL = {"rule": "rule", "workers": "N", "nodes": "nodes", "per_worker_batch": "b"}


def _trainings(inputs: Inputs) -> tuple[list[Row], list[Row], list[str]]:
    """Return the trainings by nodes, workers and rule, those of the linear rule, and what lacks.

    That is a line for each training without a result, and for one worker's that has no number.
    """
    rows = in_order(inputs.rows(STUDY))
    linear = [row for row in rows if row["rule"] == LINEAR]
    missing = lacking(rows, CELL, STUDY)
    status = next((row["status"] for row in linear if row["workers"] == 1), "not run yet")
    if not missing and status != "complete":
        missing = [f"{STUDY}, one worker, the base of every comparison: {status}"]
    return rows, linear, missing


def _complete(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "complete"]


def _values(rows: Sequence[Row], columns: Sequence[str]) -> dict[str, Value]:
    """Return some columns of all rows by name: `train_s_n2`, `train_s_n2_on2`, `lr_n4_sqrt`.

    A column whose name tells no unit counts something. One `nothing` where there is no row.
    """
    units = {column: unit_of(column) or "count" for column in columns}
    units |= {"lr": "setting"} if "lr" in units else {}
    found: dict[str, Value] = {}
    for row in rows:
        nodes, rule = row["nodes"] or 1, row.get("rule", LINEAR)
        place = f"n{row['workers']}" + (f"_on{nodes}" if nodes > 1 else "")
        place += "" if rule == LINEAR else f"_{rule}"
        found |= {f"{column}_{place}": row.value(column, unit) for column, unit in units.items()}
    return found or {columns[0]: nothing(units[columns[0]])}


def _published(inputs: Inputs, *claims: str, nodes: int | None = None) -> list[Row]:
    """Return the published figures of some columns (on so many nodes) beside this machine's.

    published: as it was printed; measured: a Value.
    """
    return [
        _beside(row)
        for row in inputs.rows("assignment_published")
        if row["claim"] in claims and nodes in (None, row["nodes"])
    ]


def _beside(row: Row) -> Row:
    unit = {"steps": "count", "speedup_ratio": "number"}.get(row["claim"], unit_of(row["claim"]))
    here = row.value("measured", unit)
    if here.low == here.high:  # a count
        here = here.without_interval()
    printed = _printed(unit, *(float(row[f"published{end}"]) for end in ("", "_low", "_high")))
    return row | {"batch": row["per_worker_batch"], "published": printed, "measured": here}


def _printed(unit: str, number: float, low: float, high: float) -> str:
    """A published number with the digits that it was published with, and its interval."""
    if unit == "count":
        return group_digits(number)
    if unit != "fraction":
        return f"{number:.6g}" + (f"{SPACE}{unit}" if unit == "s" else "")
    between = f" ({100 * low:.4g} to {100 * high:.4g})" if low < high else ""
    return f"{100 * number:.4g}%{between}"


# H1: what one worker makes of its device at each batch, and what would raise it.

UTILISATION = (
    "utilisation_frac",
    "load_frac",
    "compute_frac",
    "samples_per_s",
    "test_accuracy_frac",
)
FEW_STEPS = 10  # of an epoch: each is more than a tenth of it
LOADING = ("more_loading_ratio", "samples_per_s", "load_frac", "utilisation_frac")


def gain_without(share: Value) -> Value:
    """Return 1/(1 - share): how many times as fast at most is what loses that share no more.

    The speed-up that is left where only a part is sped up (Amdahl, 1967), that part to no time.
    """
    return ratio_of(exactly(1), complement(share))


def steps_of_batches(samples: int | None, *batches: int) -> list[int] | None:
    """Return the steps of an epoch with each of some batches; None where they are one batch."""
    if not samples or len(set(batches)) == 1:
        return None
    return [full_steps(samples, batch) for batch in batches]


def step_s(row: Row) -> Value:
    """Return how long a step takes, loading included, by the samples a second."""
    step = ratio_of(exactly(row["per_worker_batch"]), row.samples_per_s)
    return step.model_copy(update={"unit": "s"})


def an_image(part: str, row: Row, base: Row) -> Value:
    """Return how many times as long as with another batch a part takes for each image."""
    took, base_took = (
        ratio_of(one.value(f"{part}_frac", "fraction"), one.samples_per_s) for one in (row, base)
    )
    return ratio_of(took, base_took)


def _beside_assignment(inputs: Inputs, found: Sequence[Row]) -> dict[str, Any]:
    """Return how many steps H1's batches make beside that of the assignment, and in H2 to H6.

    as_assigned: the assignment's batch, where it was trained as a larger one. asked: the steps of
    an epoch with the first batch and with the assignment's, where they differ, and updates with the
    first and with the last. elsewhere: the batch of a worker in H2 to H6, None where they have
    several; crew: the most workers there, and crew_asked: the steps of an epoch that they make of
    both batches, few: whether those of the assignment's are.
    """
    samples = inputs.train_samples(found[0].runs)
    first, last = (row["per_worker_batch"] for row in (found[0], found[-1]))
    linear = _complete(_trainings(inputs)[1])
    elsewhere = {row["per_worker_batch"] for row in linear}
    crew = max((row["workers"] for row in linear), default=1)
    larger = {row["per_worker_batch"]: row for row in found[1:]}
    crew_asked = steps_of_batches(samples, crew * first, crew * ASSIGNED["batch"])
    return {
        "assigned": ASSIGNED,
        "samples": samples,
        "as_assigned": larger.get(ASSIGNED["batch"]),
        "asked": steps_of_batches(samples, first, ASSIGNED["batch"]),
        "updates": steps_of_batches(samples, first, last),
        "elsewhere": elsewhere.pop() if len(elsewhere) == 1 else None,
        "crew": crew,
        "crew_asked": crew_asked,
        "few": crew_asked is not None and crew_asked[1] < FEW_STEPS,
    }


def facts_h1(inputs: Inputs) -> Facts:
    """Return the batches of one worker: the first, the last, the fastest, and what it awaits.

    raises: whether a larger batch is advised first, and advised: which, with advised_gain; costs:
    whether the fastest is not, since it learns less in as many epochs. busy: the utilisation with
    each. steps: the seconds of a step of the first and of the fastest batch, longer: their ratio.
    gained: how many times the samples a second of the first batch the fastest has.
    an_image: what loading and computing take for each image with the last batch beside the first.
    loading: the batch that was trained with `more` loading processes too, and the gain of that;
    could: what no wait for the loader would gain there at most.
    """
    table, loading = "assignment_utilisation", "assignment_loading"
    rows, ahead = inputs.rows(table), inputs.rows(loading)
    found = [row for row in _complete(rows) if row["utilisation_frac"] is not None]
    missing = lacking(rows, {"per_worker_batch": "b"}, table)
    missing += lacking(ahead, {"per_worker_batch": "b"}, loading)
    missing += [] if found or missing else [f"{table}: no batch size has a utilisation"]
    values = named_values(rows, "{column}_b{per_worker_batch}", UTILISATION)
    values = values or {"utilisation_frac": nothing("fraction")}
    values |= named_values(ahead, "{column}_b{per_worker_batch}_more_loading", LOADING)
    said: dict[str, Any] = {"rows": rows, "found": found, "published": [], "loading": None}
    if not missing:
        said["loading"] = next((_loading(row, found) for row in _complete(ahead)), None)
        best = max(found, key=lambda row: row["samples_per_s"] or 0.0)
        crowd = [row for row in found if row["crowded"]]
        advised = next(row for row in found if row["advised"])
        said |= _beside_assignment(inputs, found) | {
            "published": _published(inputs, "utilisation_frac"),
            "gain": gain_without(found[0].load_frac),
            "best": best,
            "raises": advised is not found[0] and not crowd,
            "advised": advised,
            "costs": best["accuracy_to_first"] == "below",
            "advised_gain": gain_without(advised.load_frac),
            "first": (first := found[0]),
            "last": (last := found[-1]),
            "busy": [row.utilisation_frac for row in found],
            "steps": (steps := [step_s(row) for row in (first, best)]),
            "longer": ratio_of(steps[1], steps[0]),
            "gained": ratio_of(exactly(1), first.value("rate_to_best_ratio", "ratio")),
            "an_image": {part: an_image(part, last, first) for part in ("load", "compute")},
            "crowd": crowd,
        }
    return Facts(missing, values, said)


def _loading(row: Row, found: Sequence[Row]) -> Row:
    """Return a batch with more loading processes, and its gain beside what it could gain.

    waits: where its wait for the loader lies of that with fewer.
    """
    plain = next((own for own in found if own["per_worker_batch"] == row["per_worker_batch"]), None)
    return row | {
        "more": row["loader_workers"] - row["base_loader_workers"],
        "gain": row.more_loading_ratio,
        "could": plain and gain_without(plain.load_frac),
        "waited": plain and plain.load_frac,
        "waits": beside(row, plain, "load_frac") if plain else "unknown",
    }


# H2: the steps of a run, and the seconds of a full one.

STEPS = ("steps", "planned_steps", "full_run_steps", "full_run_s", "startup_s")


def facts_h2(inputs: Inputs) -> Facts:
    """Return the trainings, those whose records hold other steps or workers, and the asked run."""
    _, linear, missing = _trainings(inputs)
    said: dict[str, Any] = {"rows": linear, "published": [], "assigned": ASSIGNED}
    if not missing:
        found = _complete(linear)
        wrong = [row for row in found if row["mislabelled"]]
        said |= {"found": found, "wrong": wrong, "published": _published(inputs, "steps")}
    return Facts(missing, _values(linear, STEPS), said)


# H3: test accuracy, training time and scaling efficiency for each number of workers.

EFFICIENCY = (
    "test_accuracy_frac",
    "train_s",
    "evaluation_s",
    "startup_s",
    "speedup_ratio",
    "speedup_with_startup_ratio",
    "efficiency_frac",
    "epochs_efficiency_frac",
)
ASSIGNED_PACE = ("epoch_s", "speedup_ratio", "efficiency_frac", "test_accuracy_frac")
QUOTED = ("train_s", "speedup_ratio", "efficiency_frac", "test_accuracy_frac")


def facts_h3(inputs: Inputs) -> Facts:
    """Return the training of one worker, and those of several with pace and accuracy against it.

    most: the most workers, fewer: the others; lost: see there; started: the start-ups that were
    timed; disturbed: those of the `launched` launches that others disturbed, by workers;
    again: how many launches were made again, and disturbed_again: whether all those were.
    as_assigned: several whose epoch was timed with the assignment's batch, where they train with
    another, of assigned_rows; assigned_one: the one worker of those rows, where it was trained, and
    assigned_learnt: the several that were.
    """
    _, linear, missing = _trainings(inputs)
    said: dict[str, Any] = {"rows": linear, "published": [], "several": [], "lost": None}
    said["disturbed"] = []
    said["assigned_rows"] = timed = inputs.rows("assignment_assigned")
    said["as_assigned"] = [
        row
        | {"speedup": row.speedup_ratio, "efficiency": row.efficiency_frac}
        | {"reached": row.test_accuracy_frac}
        for row in _complete(timed)
        if row["workers"] > 1 and row["speedup_ratio"] is not None
    ]
    learnt = [row for row in timed if row["test_accuracy_frac"] is not None]
    said["assigned_one"] = next((row for row in learnt if row["workers"] == 1), None)
    said["assigned_learnt"] = [row for row in said["as_assigned"] if row["accuracy_kept"]]
    if not missing:
        alone, *several = (row | _written(row) for row in _complete(linear))
        published = _published(inputs, *QUOTED, nodes=1)
        judged = [row[name] != "unknown" for row in several for name in ("pace", "accuracy_kept")]
        judged += [row["pace"] != "unknown" for row in said["as_assigned"]]
        judged += [row["accuracy_kept"] != "unknown" for row in said["assigned_learnt"]]
        said |= {"alone": alone, "several": several, "published": published}
        said |= {"chance": by_chance(sum(judged)), "stand_in": stands_in(alone)}
        said |= {"most": several[-1:], "fewer": several[:-1]}
        said["started"] = [row.startup_s for row in (alone, *several) if row["startup_s"]]
        said["lost"] = _lost(inputs, several[-1]) if several else None
        disturbed = inputs.runs_judged("disturbed")
        again = {row["run"] for row in inputs.rows("quiet") if row["repeated"]}
        every = {run for row in (alone, *several) for run in row["runs"].split()}
        said["disturbed"] = inputs.disturbed((alone, *several))
        said |= {"launched": len(every), "again": len(every & again)}
        said["disturbed_again"] = disturbed & every <= again
    effects = [row["speedup"] for row in said["several"]]
    values = _values(linear, EFFICIENCY) | named_values(timed, PER_CELL, ASSIGNED_PACE)
    return Facts(missing, values, said, effects=effects)


def _lost(inputs: Inputs, most: Row) -> Row | None:
    """Return the largest loss of an epoch of the most workers (H4), where one leads.

    None where another may be as large. explains: whether it is at least half of what the efficiency
    lacks of 1 by both intervals, a loss that one worker alone does not have, and leads by one
    worker's pace in H1 too; next: the loss after it, where that is told from it.
    """
    _, split = _splits(inputs)
    place = itemgetter("workers", "nodes")
    if not split or place(split[-1]) != place(most):
        return None
    last, elsewhere = split[-1], _elsewhere(inputs, split)
    if len(last["leading"]) != 1 or last["unclear"]:
        return None
    lost, second = last["leading"][0], _next(last)
    low, high = most["efficiency_frac_low"], most["efficiency_frac_high"]
    explains = (
        lost["part"] not in ("load", "copy")
        and None not in (low, high)
        and high < 1
        and lost["share"].low >= (1 - low) / 2
        and not (elsewhere and elsewhere["most"]["overtaken"])
    )
    return lost | {"explains": explains, "next": second if second and second.beyond_rest else None}


def _written(row: Row) -> dict[str, Value]:
    """Return numbers of a training as values, for lists of them."""
    return {
        "reached": row.test_accuracy_frac,
        "time": row.train_s,
        "speedup": row.speedup_ratio,
        "efficiency": row.efficiency_frac,
        "of_epochs": row.epochs_efficiency_frac,
    }


# H4: the bottlenecks, from measured shares of an epoch.

SHARES = ("computation_frac", *(f"{part}_frac" for part in LOSSES), "rest_frac", "epoch_s")
OTHER_RATIO = 1.05  # of two times of the same, from which a reader asks why they differ


def _splits(inputs: Inputs) -> tuple[list[Row], list[Row]]:
    """Return the numbers of workers whose epoch was split, and those with a split: their losses."""
    rows = inputs.rows("assignment_split")
    rows.sort(key=lambda row: (row["nodes"] or 1, row["workers"]))
    return rows, [row | _losses(row) for row in _complete(rows) if row["rest_frac"] is not None]


def facts_h4(inputs: Inputs) -> Facts:
    """Return the numbers of workers with the parts of their epoch that cost time.

    next: the largest of the losses that are less than the one that leads with the most workers, by
    `next.behind`; next.beyond_rest: whether that is, by its lower end, more than the rest is in
    size, which says how far the parts are from adding up; with_devices: see there; rests_below:
    those whose rest is below zero; leads_by_h1: whether the largest loss leads by H1's pace of one
    worker too. other: the network that Q3.1 is
    about, where that is another one or is trained otherwise, there: the cause of its losses with
    as many workers as the last of these, longer: what its longer steps take, and waited: how much
    less it waits with a larger batch; tried: their epoch with twice the batch (`_tried`),
    one_worker: that of one worker with a larger one; alone: that of one worker in H1; turns:
    what sharing devices costs them by arithmetic, sharing: contention and stragglers as measured.
    """
    rows, split = _splits(inputs)
    missing = lacking(rows, {"workers": "N", "nodes": "nodes"}, "assignment_split")
    missing += [] if split or missing else ["assignment_split: no number of workers was split"]
    doubled = inputs.rows("assignment_doubled")
    missing += lacking(doubled, {"workers": "N", "nodes": "nodes"}, "assignment_doubled")
    asked = inputs.tidy_rows("runs", study="scaling")
    ways = ("model", "optimizer")
    others = [row for row in asked if rows and any(row[way] != rows[0][way] for way in ways)]
    causes = [inputs.rows("split_causes", workers=row["workers"]) for row in split[-1:]]
    said = {
        "rows": rows,
        "split": split,
        "hooks": inputs.rows("compression", status="complete"),
        "other": others[0] if others else None,
        "there": causes[0][0] if causes and causes[0] else Row(cause=None),
        "alone": _alone(inputs, split[0]) if split else None,
        "elsewhere": (elsewhere := _elsewhere(inputs, split) if split else None),
        "leads_by_h1": not elsewhere
        or not elsewhere["several"]
        or (elsewhere["most"]["led"] and not elsewhere["most"]["overtaken"]),
        "below_zero": any((row[f"{part}_frac"] or 0.0) < 0 for row in split for part in LOSSES),
        "rests_below": [row for row in split if row["rest_frac"] < 0],
        "next": _next(split[-1]) if split else None,
        "with_devices": _with_devices(split),
        "longer": _longer(inputs, split[-1]) if split else None,
        "waited": _waited(inputs, split[-1]) if split else [],
        "tried": (tried := _tried(doubled, split) if split else None),
        "one_worker": _one_worker(inputs, tried, split[-1]) if tried else None,
        "assigned": (larger := _with_larger_batch(inputs, tried) if tried else []),
        "soonest": _soonest(larger, tried) if tried else None,
        "doubled_rows": doubled,
        "turns": inputs.taking_turns(split[-1], split[-1].computation_frac, sharing_seconds)
        if split
        else None,
        "sharing": _sharing(split[-1]) if split else None,
    }
    lost = [one["share"] for row in split[-1:] for one in row["leading"][:1]]
    effects = [gain_without(share) for share in lost]
    return Facts(missing, _values(rows, SHARES), said, effects=effects)


def _sharing(row: Row) -> Value:
    """Return contention and stragglers, which Q3.1 counts as one, as a share of an epoch."""
    both = (row["sharing_frac"] or 0.0) + (row["stragglers_frac"] or 0.0)
    return Value(value=both, unit="fraction", runs=row.runs)


def _epoch_by_rate(samples: int, row: Row) -> Value:
    """Return the seconds of an epoch of so many samples by the samples a second."""
    return ratio_of(exactly(samples), row.samples_per_s).model_copy(update={"unit": "s"})


def _alone(inputs: Inputs, one: Row) -> Row | None:
    """Return the epoch of one worker in H1's trainings where it is not that of the split.

    far: whether so far that it may change what leads.
    """
    same = {"per_worker_batch": one["per_worker_batch"], "status": "complete"}
    trained = inputs.rows("assignment_utilisation", **same) if one["workers"] == 1 else []
    samples = inputs.train_samples(one.runs)
    if not trained or not trained[0]["samples_per_s"] or not samples:
        return None
    epoch = _epoch_by_rate(samples, trained[0]).without_interval()
    apart = math.exp(abs(math.log(one["epoch_s"] / epoch.value)))
    if apart <= OTHER_RATIO:
        return None
    return Row(epoch=epoch, far=apart > FAR_RATIO)


def _with_larger_batch(inputs: Inputs, tried: Row) -> list[Row]:
    """Return the epochs of H3 with the assignment's batch, one worker's first, where it is larger.

    Than that which was tried against the largest loss; none without one worker's or another's.
    """
    timed = [row for row in _complete(inputs.rows("assignment_assigned")) if row["epoch_s"]]
    larger = [row for row in timed if row["per_worker_batch"] > tried["per_worker_batch"]]
    return larger if [row["workers"] for row in larger[:1]] == [1] and larger[1:] else []


def _soonest(larger: list[Row], tried: Row) -> Row | None:
    """Return of the epochs with the assignment's batch the shortest that is worth advice.

    It is one worker's, or measurably shorter and as accurate by what was measured; none where the
    accuracy of some is unknown, or where none is shorter than that which was tried.
    """
    if any(row["accuracy_kept"] in (None, "unknown") for row in larger[1:]):
        return None
    worth = [
        row for row in larger[1:] if row["pace"] == "above" and row["accuracy_kept"] != "loses"
    ]
    found = min((*larger[:1], *worth), key=lambda row: float(row["epoch_s"]), default=None)
    return found if found and found["epoch_s"] < (tried["epoch_s"] or 0) else None


def _one_worker(inputs: Inputs, tried: Row, last: Row) -> Row | None:
    """Return the epoch of one worker with the batch that H1 advises, where that is a larger one.

    by_h1: where it lies of the epoch of several with twice the batch.
    """
    found = inputs.rows("assignment_utilisation", status="complete", advised=True)
    samples = inputs.train_samples(last.runs)
    if not found or not samples or found[0]["per_worker_batch"] <= last["per_worker_batch"]:
        return None
    epoch = _epoch_by_rate(samples, found[0])
    its_ends = None if epoch.low is None or epoch.high is None else (epoch.low, epoch.high)
    return found[0] | {"epoch": epoch, "by_h1": lies(its_ends, ends(tried, "epoch_s"))}


def _elsewhere(inputs: Inputs, split: list[Row]) -> dict[str, Any] | None:
    """Return the epoch of one worker in H1's trainings where it is far from that of the split.

    several: the others with their speed-up by either epoch and in H3; shares: those of the most
    workers if one worker's epoch were H1's, and most: the largest loss then, and whether it leads
    as measured too. both: contention and stragglers, which Q3.1 counts as
    one, at H1's pace; overtaken: whether these two are more than the
    largest loss, another one.
    """
    alone, last = split[0], split[-1]
    found = _alone(inputs, alone)
    if not found or not found["far"]:
        return None
    there, here_s = found["epoch"], alone["epoch_s"]
    several = [
        row
        | {"by_own": ratio_of(alone.epoch_s, row.epoch_s), "by_h1": ratio_of(there, row.epoch_s)}
        | {"in_h3": _in_h3(inputs, row)}
        for row in split[1:]
    ]
    shares = at_pace(last, there.value / here_s)
    runs = list(dict.fromkeys([*last.runs, *there.runs]))
    most = max(LOSSES, key=lambda part: shares[part])
    both = shares["sharing"] + shares["stragglers"]
    return {"several": several} | {
        "shares": {
            part: Value(value=one, unit="fraction", runs=runs) for part, one in shares.items()
        },
        "both": Value(value=both, unit="fraction", runs=runs),
        "most": Row(
            part=most,
            led=most in [one["part"] for one in last["leading"]],
            overtaken=most not in ("sharing", "stragglers") and both > shares[most],
        ),
    }


def _with_devices(split: list[Row]) -> Row | None:
    """Return the most workers that have a device each, where more share them.

    None where the most have one, and where no loss of either number leads alone.
    """

    def led(row: Row) -> bool:
        return len(row["leading"]) == 1 and not row["unclear"]

    apart = [row for row in split if row["workers"] > 1 and not row["oversubscribed"]]
    if not apart or apart[-1] is split[-1] or not (led(apart[-1]) and led(split[-1])):
        return None
    return apart[-1] | {"next": _next(apart[-1])}


def _tried(doubled: list[Row], split: list[Row]) -> Row | None:
    """Return the epoch with twice the batch on the most workers of a split; None where none ran.

    fewer: the row of fewer workers that it is compared with; half: how many times as fast half of
    the largest loss less would make it; to_half: where it lies of that.
    """
    place, last = itemgetter("workers", "nodes"), split[-1]
    alike = [row for row in _complete(doubled) if place(row) == place(last)]
    if not alike or alike[0]["speedup_ratio"] is None:
        return None
    rival = itemgetter("fewer_workers", "fewer_nodes")(alike[0])
    alike[0]["fewer"] = next((row for row in split if place(row) == rival), None)
    if not last["leading"]:
        return alike[0]
    share = last["leading"][0].share
    half = gain_without(Value(value=share.value / 2, unit="fraction", runs=share.runs))
    gain = float(half.value or 1)
    return alike[0] | {"half": half, "to_half": of_row(alike[0], "speedup_ratio", gain)}


def _next(row: Row) -> Row | None:
    """Return the largest loss of those that are less than the one that leads; None without one."""
    less = [part for part in LOSSES if row[f"{part}_rank"] == "less"]
    if len(row["leading"]) != 1 or not less:
        return None
    part = max(less, key=lambda part: row[f"{part}_frac"])
    behind = row.value(f"{part}_behind_frac", "fraction")
    return Row(
        part=part,
        share=row.value(f"{part}_frac", "fraction"),
        behind=behind,
        beyond_rest=behind.low is not None and behind.low > abs(row["rest_frac"]),
    )


def _above(one: Value, other: Value) -> bool:
    """Return whether one number's interval lies above another's."""
    return one.low is not None and other.high is not None and bool(one.low > other.high)


def _longer(inputs: Inputs, last: Row) -> Row | None:
    """Return what Q3.1's epoch of as many workers, samples and steps takes beside this one.

    That is where its step is the longer one, by one worker here in H1, and contention there is more
    than here, and more times so than waiting is. Seconds of an epoch, but for the steps.
    """
    same = {"per_worker_batch": last["per_worker_batch"], "status": "complete"}
    place = {"workers": last["workers"], "nodes": last["nodes"]}
    alone = inputs.rows("assignment_utilisation", **same)
    there = inputs.rows("communication", **same, **place)
    samples = inputs.train_samples(last.runs)
    if not alone or not there or not samples or samples != inputs.train_samples(there[0].runs):
        return None
    one, row = step_s(alone[0]), there[0]
    steps = exactly(samples / last["per_worker_batch"])
    its = ratio_of(row.base_epoch_s, steps).model_copy(update={"unit": "s"})
    here_s = (last["sharing_s"] or 0.0) + (last["stragglers_s"] or 0.0)
    contention = ratio_of(row.contention_s, Value(value=here_s, unit="s")).value or 0.0
    waiting = ratio_of(row.exposed_s, last.exposed_s).value or 0.0
    if not 0 < waiting < contention or contention <= 1 or not _above(its, one):
        return None
    return Row(
        step=its,
        step_here=one,
        contention=row.contention_s,
        contention_here=Value(value=here_s, unit="s", runs=last.runs),
        waits=row.exposed_s,
        waits_here=last.exposed_s,
    )


def _waited(inputs: Inputs, last: Row) -> list[Row]:
    """Return Q3.1's batches with as many workers where it waits for less with the largest."""
    place = {"workers": last["workers"], "nodes": last["nodes"], "status": "complete"}
    rows = [row for row in inputs.rows("communication", **place) if row["exposed_s"] is not None]
    rows.sort(key=lambda row: int(row["per_worker_batch"]))
    fell = bool(rows) and _above(rows[0].exposed_s, rows[-1].exposed_s)
    return rows if fell else []


def _in_h3(inputs: Inputs, row: Row) -> Value | None:
    """Return the speed-up of H3's training of as many workers; None where it has none."""
    same = {"workers": row["workers"], "nodes": row["nodes"], "status": "complete"}
    found = inputs.rows(STUDY, rule=LINEAR, **same)
    return found[0].speedup_ratio if found and found[0]["speedup_ratio"] else None


def at_pace(row: Mapping[str, Any], factor: float) -> dict[str, float]:
    """Return the shares of an epoch if one worker's own were factor times as long.

    Of the parts two depend on it: computation, with the copy, is proportional to it, and contention
    is what copies side by side take beyond it, so that it takes what computation gives.
    """
    shares = {part: row[f"{part}_frac"] for part in (*LOSSES, "computation")}
    less = (1 - factor) * (shares["computation"] + shares["copy"])
    moved = {"computation": shares["computation"] - less, "sharing": shares["sharing"] + less}
    return shares | moved


def _losses(row: Row) -> dict[str, Any]:
    """Return the parts beside computation that cost most time: the largest, and those alike.

    unclear: others whose interval holds zero and goes as far as the largest, or that have none.
    """
    parts = [
        Row(part=part, share=row.value(f"{part}_frac", "fraction"))
        for part in LOSSES
        if row[f"{part}_rank"] in ("largest", "alike")
    ]
    leading = sorted(parts, key=lambda one: -one.share.value)
    unclear = [
        Row(part=part, share=row.value(f"{part}_frac", "fraction"))
        for part in LOSSES
        if leading and not row[f"{part}_rank"] and _reach(row, part) >= leading[0].share.value
    ]
    return {"leading": leading, "unclear": unclear}


def _reach(row: Row, part: str) -> float:
    """Return the upper end of a part's share, of one above zero without an interval none."""
    if row[f"{part}_frac_high"] is not None:
        return float(row[f"{part}_frac_high"])
    return math.inf if (row[f"{part}_frac"] or 0) > 0 else 0.0


# H5: the global batch and the rate when workers are added, and how accuracy is kept.

SETTINGS = ("test_accuracy_frac", "global_batch", "lr", "steps")


def facts_h5(inputs: Inputs) -> Facts:
    """Return the trainings, that of one worker, and the rules beside the one that is advised.

    assigned_loses: those of H3 that lose accuracy with the assignment's batch by the linear rule.
    """
    rows, _, missing = _trainings(inputs)
    values = _values(rows, SETTINGS)
    said: dict[str, Any] = {"rows": rows, "judged": not missing}
    if not missing:
        rows = [row | {"reached": row.test_accuracy_frac} for row in rows]
        advised = next((row for row in rows if row["advised"]), None)
        said |= {
            "rows": rows,
            "base": _complete(rows)[0],
            "advised": advised,
            "others": [row for row in rows if row["advised"] is False],
            "slow": advised and advised["rule"] != "fixed" and _losing_at_one_rate(rows, advised),
            "kept_elsewhere": _kept_elsewhere(inputs, advised),
            "linear": [row for row in _complete(rows) if row["rule"] == LINEAR],
            "assigned_loses": inputs.rows("assignment_assigned", accuracy_kept="loses"),
            "warmups": _warmups(inputs),
            "chance": by_chance(sum(row["accuracy_kept"] not in (None, "unknown") for row in rows)),
            "twins": [row for row in rows if row["to_one_node"] not in (None, "unknown")],
        }
    return Facts(missing, values, said)


def _losing_at_one_rate(rows: list[Row], advised: Row) -> bool:
    """Return whether one worker's rate loses accuracy with as many workers, and the advised not."""
    fixed = [row for row in rows if row["rule"] == "fixed" and row["workers"] == advised["workers"]]
    kept = advised["accuracy_kept"] != "loses"
    return kept and any(row["accuracy_kept"] == "loses" for row in fixed)


def _kept_elsewhere(inputs: Inputs, advised: Row | None) -> Row | None:
    """Return S2's unscaled rate where that keeps the error of a batch as many times as large.

    on_test_alone: whether validation data do not keep it.
    """
    references = inputs.rows("lr_scaling", reference=True)
    for row in inputs.rows("lr_scaling_elbow", rule="fixed", status="complete"):
        if advised and references and (row["elbow_ratio"] or 0) >= advised["workers"]:
            at = {"rule": "fixed", "optimizer": "sgd", "global_batch": row["elbow_batch"]}
            alone = bool(inputs.rows("lr_scaling", kept_on_validation=False, **at))
            named = {name: references[0][name] for name in ("lr", "optimizer")}
            return row | named | {"on_test_alone": alone}
    return None


def _warmups(inputs: Inputs) -> list[Row]:
    """Return a row for each kind of warm-up of the trainings with the linear rule."""
    planned = inputs.tidy_rows("runs", study=STUDY, arm=LINEAR)
    kinds = dict.fromkeys(row["warmup"] for row in planned if row["workers"] > 1)
    return [Row(warmup=kind) for kind in kinds if kind]


# H6: the best test accuracy over the numbers of workers, on two nodes where they were run.

COUNTS = ("test_accuracy_frac", "steps", "counted_workers")


def facts_h6(inputs: Inputs) -> Facts:
    """Return the best numbers of workers, those not measurably less, and those less.

    doubted: the published accuracies of numbers of workers that the published steps contradict.
    by_workers: what was published of each number of workers, with its steps by formula.
    """
    _, linear, missing = _trainings(inputs)
    values = _values(linear, COUNTS)
    if missing:
        return Facts(
            missing, values, {"rows": linear, "published": [], "doubted": [], "by_workers": []}
        )
    found = [row | {"reached": row.test_accuracy_frac} for row in _complete(linear)]
    tried = [row for row in found if row["nodes"] > 1] or found
    known = [row for row in tried if row["test_accuracy_frac"] is not None]
    top = max((row["test_accuracy_frac"] for row in known), default=None)
    highest = [row for row in known if row["test_accuracy_frac"] == top]
    best = highest[0] if highest else None
    compared = [row for row in known if row is not best and row["to_best"] != "unknown"]
    said = {
        "rows": linear,
        "highest": highest,
        "alike": [row for row in known if row not in highest and row["to_best"] != "below"],
        "less": [row for row in known if row["to_best"] == "below"],
        "chance": by_chance(len(compared)),
        "assigned": ASSIGNED,
        "published": _published(inputs, "test_accuracy_frac", "steps", nodes=2),
        "doubted": _doubted(inputs, nodes=2),
        "by_workers": _by_workers(inputs, nodes=2),
        "best_published": _best_published(inputs, nodes=2),
    }
    value = best.test_accuracy_frac if best else nothing("fraction")
    return Facts([], values | {"best_test_accuracy_frac": value}, said)


def _best_published(inputs: Inputs, nodes: int) -> list[Row]:
    """Return the highest published accuracy on so many nodes that is not doubted, if any is."""
    rows = inputs.rows("assignment_published", nodes=nodes, claim="test_accuracy_frac")
    doubted = {row["workers"] for row in _doubted(inputs, nodes)}
    found = (row for row in rows if row["workers"] not in doubted)
    ranked = sorted(found, key=lambda row: -float(row["published"]))
    return [_beside(row) for row in ranked[:1]]


def _by_workers(inputs: Inputs, nodes: int) -> list[Row]:
    """Return a row for each published number of workers and epochs on so many nodes.

    accuracy, steps: as they were printed, None where nothing was. counted_steps: those that these
    workers make of the published images. makers: the workers that the published steps fit, by
    steps_an_epoch, exact: before rounding down; None without steps. contradict: whether the steps
    contradict the number of workers.
    """
    samples = ASSIGNED["samples"]
    found: dict[tuple[int, int, int], Row] = {}
    for row in inputs.rows("assignment_published", nodes=nodes):
        workers, epochs, batch = row["workers"], row["epochs"], row["per_worker_batch"]
        new = Row(workers=workers, epochs=epochs, batch=batch, contradict=False)
        new |= dict.fromkeys(("accuracy", "steps", "makers", "steps_an_epoch", "exact"))
        new["counted_steps"] = run_steps(full_steps(samples, batch * workers), epochs)
        own = found.setdefault((workers, epochs, batch), new)
        if row["claim"] == "test_accuracy_frac":
            own["accuracy"] = _beside(row)["published"]
        if row["claim"] == "steps":
            own["steps"] = _beside(row)["published"]
            own["steps_an_epoch"] = row["published"] / epochs
            own["makers"] = workers_of_steps(samples, batch, row["published"], epochs)
            # D/(N*b) steps, solved for N.
            own["exact"] = iterations_per_epoch(samples, own["steps_an_epoch"], batch)
            own["contradict"] = row["verdict"] == CONTRADICTS
    return [found[place] for place in sorted(found)]


def _doubted(inputs: Inputs, nodes: int) -> list[Row]:
    """Return published accuracies whose steps, published too, come from other workers: makers.

    accuracy: as it was printed, without its interval; steps: as they were; counted_steps: those
    that the published workers make.
    """
    rows = [row for row in inputs.rows("assignment_published") if row["nodes"] == nodes]
    place = itemgetter("workers", "epochs")
    found = []
    for row in rows:
        if row["claim"] != "steps" or row["verdict"] != CONTRADICTS:
            continue
        makers = workers_of_steps(
            ASSIGNED["samples"], row["per_worker_batch"], row["published"], row["epochs"]
        )
        of_all = row["per_worker_batch"] * row["workers"]
        steps = _printed("count", *3 * [row["published"]])
        found += [
            one
            | {
                "makers": makers,
                "counted_steps": run_steps(full_steps(ASSIGNED["samples"], of_all), row["epochs"]),
                "accuracy": _printed("fraction", *3 * [one["published"]]),
                "steps": steps,
            }
            for one in rows
            if one["claim"] == "test_accuracy_frac" and place(one) == place(row)
        ]
    return found


QUESTIONS = [
    Question(
        "H1",
        facts_h1,
        formula=[r"u = \frac{\text{time in which the device works}}{\text{wall time}}"],
        references=[NVML],
        vocabulary={"waits": "assignment_utilisation.load_to_first"},
    ),
    Question(
        "H2",
        facts_h2,
        formula=[
            r"\text{steps} = \text{epochs} \cdot \left\lfloor \frac{D}{B} \right\rfloor, \qquad "
            r"\text{as the assignment counts: } \text{epochs} \cdot \frac{D}{B}, \qquad B = N b"
        ],
        references=[PASZKE],
    ),
    Question(
        "H3",
        facts_h3,
        formula=[
            r"\text{speed-up} = \frac{T_1}{T_N}, \qquad "
            r"\text{scaling efficiency} = \frac{T_1}{N \, T_N}"
        ],
        references=[KINGMA, GUSTAFSON],
        vocabulary=words("part", LOSSES),
    ),
    Question(
        "H4",
        facts_h4,
        formula=[
            r"T_N = T_{\text{load}} + T_{\text{copy}} + T_{\text{contention}} + "
            r"T_{\text{stragglers}} + T_{\text{overhead}} + T_{\text{exposed}} + "
            r"T_{\text{compute}} + T_{\text{rest}}"
        ],
        references=[LI],
        vocabulary=words("part", LOSSES)
        | {"hook": "compression.hook", "verdict": "compression.step_side"}
        | {"cause": "split_causes.cause", "to_half": "assignment_doubled.pace"}
        | {"by_h1": "assignment_doubled.pace"},
    ),
    Question(
        "H5",
        facts_h5,
        of_accuracy=True,
        formula=[
            r"B = N b, \qquad \text{rate}_{\text{linear}} = N \, \text{rate}_1, \qquad "
            r"\text{rate}_{\text{square root}} = \sqrt{N} \, \text{rate}_1"
        ],
        references=[GOYAL, KRIZHEVSKY, MALLADI, KINGMA, HOFFER],
        vocabulary=words("warmup", ScheduleConfig.model_fields["warmup"].annotation),
    ),
    Question("H6", facts_h6, of_accuracy=True, references=[KINGMA, GOYAL]),
]
