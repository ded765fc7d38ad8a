"""E2: how many workers and which batch size, and whether the advice holds."""

import math
from operator import itemgetter
from typing import Any

from dpscale.derive.ring import LARGEST_ERROR
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import PER_CELL, Inputs, Row, lacking, named_values
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import GASSER, QIAO, SHALLUE, ZOU
from dpscale.reporting.words import by
from dpscale.studies.choose.derive.doublings import LOSSES
from dpscale.vocabulary import VERDICTS, words

TIMES = ("step_s", "time_to_goal_s", "worker_s")
LONG_START = 10  # a start-up of so many trainings is said beside the advice
TURNED_FRAC = 0.1  # of a median: trainings that are sooner by less turn no order round
UNQUIET = ("disturbed", "unknown")  # of `quiet`
ROLES = ("recommended", "fastest", "cheapest", "most_workers")


def facts_e2(inputs: Inputs) -> Facts:
    """Return the cells, the advice with what each further worker buys, and how it was checked."""
    rows, grid = inputs.rows("time_to_goal"), inputs.rows("step_grid")
    trained = inputs.rows("goal_trainings")
    missing = lacking(grid, {"workers": "N"}, "choose")
    missing += lacking(trained, {"workers": "N"}, "choose, trained")
    searched = [row for row in inputs.rows("steps_to_goal") if _searched(row, rows)]
    missing += lacking(searched, {"model": "network", "optimizer": "optimiser"}, "steps_to_goal")
    timed = [row for row in rows if row["time_to_goal_s"] is not None]
    roles = {row["role"]: row for row in inputs.rows("advice")}
    if not missing and not set(ROLES) <= roles.keys():
        missing = ["choose: no cell has a time to the goal"]
    said: dict[str, Any] = {"grid": grid, "trained": trained, "best": [], "doublings": []}
    places = {(row["workers"], row["global_batch"]) for row in timed}
    said["hatched"] = any(row["predicted"] for row in timed)
    said["empty"] = len(places) < math.prod(len({*ends}) for ends in zip(*places, strict=True))
    if not missing:
        checked = next((row for row in trained if row["advised"]), None)
        said |= chosen(roles, timed) | moves(inputs.rows("doublings", predicted=False))
        said |= {
            "limits": limited(inputs),
            "doublings": [doubled(row) for row in inputs.rows("doublings", adjacent=True)],
            "too_short": next(iter(_too_short(inputs, roles["recommended"]["workers"])), None),
            "predictions": predicted(inputs),
            **start_up(inputs, checked),
            "buffers": any(row["buffer_bytes"] for row in inputs.tidy_rows("runs", study="choose")),
            "goal_error": searched[0]["goal_error_frac"] if searched else None,
            "luck": any(row["searched_steps_low"] is not None for row in searched),
            "seeds": max((row["seeds"] or 0 for row in trained), default=0),
            "rivals": [row for row in trained if row["to_advised"]],
            "checked": checked,
            "confirmed": confirmed(roles["recommended"], said["moves"], trained),
            **paid(roles["recommended"], trained),
            "moves": [
                row | {"trained": trained_ratio(row, roles["recommended"], trained)}
                for row in said["moves"]
            ],
            **beside_others(inputs, trained),
            "as_well": as_well(roles, timed),
            "turned": turned(trained),
            "instead": next((row for row in trained if row["taken"] and not row["advised"]), None),
        }
        batch = (said["instead"] or roles["recommended"])["global_batch"]
        solo = [row for row in timed if row["workers"] == 1 and row["global_batch"] == batch]
        said["alone"] = next(iter(solo), None)
    take = roles["recommended"]["workers"] if "recommended" in roles else None
    further = inputs.rows("doublings", adjacent=True, predicted=False, workers=take)
    effects = [row.value("time_ratio", "ratio") for row in further]
    references = [GASSER] if said.get("luck") else []
    return Facts(
        missing, values(timed, trained, roles), said, references=references, effects=effects
    )


def start_up(inputs: Inputs, checked: Row | None) -> dict[str, Any]:
    """Return what starting one worker took in H3, and whether that is long beside the training."""
    alone = inputs.rows("assignment", workers=1)
    started = next((row for row in alone if row["startup_s"]), None)
    trained_s = checked["measured_s"] if checked else None
    long = bool(started and trained_s and started["startup_s"] > LONG_START * trained_s)
    return {"started": started, "long_start": long}


def _too_short(inputs: Inputs, workers: int) -> list[Row]:
    """Return the larger numbers of workers that cannot pay, fewest first."""
    rows = inputs.rows("doublings", predicted=False, workers=workers, too_short=True)
    return sorted(rows, key=lambda row: int(row["next_workers"]))


def _searched(row: Row, cells: list[Row]) -> bool:
    """Whether a row of the search is of the network that is chosen for."""
    return bool(cells) and all(row[key] == cells[0][key] for key in ("model", "optimizer"))


def chosen(roles: dict[str, Row], timed: list[Row]) -> dict[str, Any]:
    """Return the recommended cell and the others in roles, and the cells not told from the fastest.

    best: the best cell of each number of workers, predicted ones after the measured; sooner: of the
    predicted ones the soonest, where the whole interval is sooner than the fastest measured.
    """
    measured = [row for row in timed if not row["predicted"]]
    found = [row for row in measured if row["rank_of_workers"] == 1]
    ahead = [
        min(own, key=lambda row: float(row["time_to_goal_s"]))
        for _, own in by([row for row in timed if row["predicted"]], "workers")
    ]
    alike = [row for row in measured if row["to_fastest"] in ("indistinct", "unknown")]
    take = roles["recommended"]
    sooner = [row for row in ahead if (row["to_fastest_ratio_high"] or 1.0) < 1.0]
    return {
        "take": take,
        "roles": roles,
        "best": found + ahead,
        "sooner": min(sooner, key=lambda row: float(row["time_to_goal_s"]), default=None),
        "alike": [row for row in alike if not _same(row, take)],
        "model": measured[0]["model"],
        "optimizer": measured[0]["optimizer"],
        "both": all(_same(roles[role], take) for role in ("fastest", "cheapest")),
        "front": [row for row in measured if row["on_front"]],
    }


def _same(row: Row, other: Row) -> bool:
    return all(row[key] == other[key] for key in ("workers", "per_worker_batch"))


def limited(inputs: Inputs) -> Row | None:
    """Return what the choice had to keep to; None where nothing was asked."""
    given = inputs.tidy_rows("limits")
    asked = ("deadline_s", "worker_hours", "memory_bytes")
    return given[0] if given and any(given[0][key] is not None for key in asked) else None


def moves(rows: list[Row]) -> dict[str, Any]:
    """Return what larger numbers of workers take, over one from which on none is told faster.

    stop: that number, None where the most that were measured are faster than all; moves: the rows
    from it, or from the fewest, to each larger number.
    """
    stop = next((row["workers"] for row in rows if row["stops"]), None)
    first = min((row["workers"] for row in rows), default=None) if stop is None else stop
    return {"stop": stop, "moves": [row for row in rows if row["workers"] == first]}


def confirmed(take: Row, further: list[Row], trained: list[Row]) -> list[Row] | None:
    """Return whether numbers of workers predicted to take longer did when trained, first who did.

    standing: `longer` where they did with every batch that was trained, `open` where all else may
    be as long as either the advised or the predicted, and else `not_longer`; ratios: to the
    advised, of each batch; longer and rest: of those that took longer and of the others, longer_at
    and rest_at: their global batches (mixed: both are); a number that was not compared is open.
    None where all that were compared did, or not all are predicted to, where time is not what is
    aimed at, and where the recommended cell is not of the number that they are set beside.
    """
    rows = []
    for row in further:
        own = [
            one
            for one in trained
            if one["workers"] == row["next_workers"] and one["to_advised"] in VERDICTS[:3]
        ]
        if row["pays"] != "above" or row["workers"] != take["workers"]:
            return None
        longer = [one for one in own if one["to_advised"] == "above"]
        rest = [one for one in own if one["to_advised"] != "above"]
        wide = all(
            one["to_advised_ratio_low"] <= 1 and row["time_ratio"] <= one["to_advised_ratio_high"]
            for one in rest
        )
        rows.append(
            Row(
                workers=row["next_workers"],
                standing="longer" if own and not rest else "open" if wide else "not_longer",
                ratios=[one.value("to_advised_ratio", "ratio") for one in own],
                longer=[one.value("to_advised_ratio", "ratio") for one in longer],
                rest=[one.value("to_advised_ratio", "ratio") for one in rest],
                longer_at=[one["global_batch"] for one in longer],
                rest_at=[one["global_batch"] for one in rest],
                mixed=bool(longer and rest),
            )
        )
    rows.sort(key=lambda row: bool(row["standing"] != "longer"))
    unlike = any(row["ratios"] and row["standing"] != "longer" for row in rows)
    return rows if take["aim"] == "time" and unlike else None


def turned(trained: list[Row]) -> list[dict[str, Row]]:
    """Return the best setting of a number of workers by prediction and by training, where the
    medians of both prefer another by more than TURNED_FRAC: `predicted` and `trained`, a pair a
    number of workers."""
    timed = [row for row in trained if row["predicted_s"] and row["measured_s"]]
    found = []
    for _, own in by(timed, "workers"):
        predicted, best = (
            min(own, key=lambda row: row[name]) for name in ("predicted_s", "measured_s")
        )
        if best["measured_s"] < (1 - TURNED_FRAC) * predicted["measured_s"]:
            found.append({"predicted": predicted, "trained": best})
    return found


def paid(take: Row, trained: list[Row]) -> dict[str, Any]:
    """Return whether trainings of other numbers of workers than those advised show that more pay.

    Fewer take longer to the goal then, and more are sooner. unpaid: of every number whose trainings
    do not show it the batch that came nearest; paid: every number was trained, and all show it.
    Cost says nothing of it.
    """
    timed = [row for row in trained if row["to_advised"] and take["aim"] == "time"]
    others = by([row for row in timed if row["workers"] != take["workers"]], "workers")
    nearest = [min(own, key=lambda row: row["to_advised_ratio"] or math.inf) for _, own in others]
    planned = {row["workers"] for row in trained if row["workers"] != take["workers"]}
    unpaid = [
        row
        for row in nearest
        if row["to_advised"] != ("above" if row["workers"] < take["workers"] else "below")
    ]
    return {"unpaid": unpaid, "paid": len(nearest) == len(planned) > 0 and not unpaid}


def trained_ratio(move: Row, take: Row, trained: list[Row]) -> Value | None:
    """Return how long a larger number of workers took at best, over the advised setting.

    None where none was compared, or where the move is not from the workers that are advised.
    """
    rows = [
        row
        for row in trained
        if row["workers"] == move["next_workers"] and row["to_advised"] in VERDICTS[:3]
    ]
    if not rows or take["aim"] != "time" or move["workers"] != take["workers"]:
        return None
    return min(rows, key=itemgetter("to_advised_ratio")).value("to_advised_ratio", "ratio")


def beside_others(inputs: Inputs, trained: list[Row]) -> dict[str, Any]:
    """Return how many of the launches that were trained a machine may have disturbed, by quietness.

    unquiet: with the settings that they are of, each with how many (`launches`). grid_disturbed: of
    the launches that timed steps, how many were.
    """
    grid = {run for row in inputs.rows("step_grid") for run in row.runs}
    found = {
        kind: [
            row | {"launches": len(own)}
            for row in trained
            if (own := inputs.runs_judged(kind) & set(row.runs))
        ]
        for kind in UNQUIET
    }
    return {
        "launches": len({run for row in trained for run in row.runs}),
        "unquiet": [(kind, settings) for kind, settings in found.items() if settings],
        "grid_disturbed": len(grid & inputs.runs_judged("disturbed")),
        "grid_launches": len(grid),
    }


def as_well(roles: dict[str, Row], timed: list[Row]) -> list[Row]:
    """Return the cells of the least and the largest batch between which every batch does as well.

    Of the number of workers that is recommended, as no measurable difference from the fastest; none
    where the recommended cell is not the fastest, or has no such neighbour.
    """
    take = roles["recommended"]
    cells = [row for row in timed if row["workers"] == take["workers"] and not row["predicted"]]
    cells.sort(key=lambda row: int(row["global_batch"]))
    place = next(n for n, row in enumerate(cells) if _same(row, take))
    low = high = place
    while low and cells[low - 1]["to_fastest"] == "indistinct":
        low -= 1
    while high + 1 < len(cells) and cells[high + 1]["to_fastest"] == "indistinct":
        high += 1
    alone = low == high or not _same(roles["fastest"], take)
    return [] if alone else [cells[low], cells[high]]


def doubled(row: Row) -> Row:
    """Return what a further number of workers buys, with its losses other than exactly one."""
    losses = [(name, row.value(f"{name}_ratio", "ratio")) for name in LOSSES]
    known = [(name, loss) for name, loss in losses if loss.value not in (None, 1.0)]
    return row | {"factors": sorted(known, key=lambda one: -float(one[1].value or 0))}


def predicted(inputs: Inputs) -> Row:
    """Return what the ring model said of other numbers of workers, and how well it did.

    refused: why not, for the fewest workers of each b.
    """
    rows = inputs.rows("step_prediction")
    scored = [row for row in rows if row["error_frac"] is not None]
    worst = max(scored, key=lambda row: abs(row["error_frac"]), default=None)
    refused = by([row for row in rows if row["status"] == "refused"], "per_worker_batch")
    reasons = [min(own, key=lambda row: row["workers"])["note"] for _, own in refused]
    return Row(
        asked=bool(rows),
        fit_workers=min((row["fit_workers"] for row in rows), default=None),
        made=[row for row in rows if row["status"] == "predicted"],
        worst=worst,
        limit=Value(value=LARGEST_ERROR, unit="fraction", runs=[]),
        refused=list(dict.fromkeys(filter(None, reasons))),
    )


def values(timed: list[Row], trained: list[Row], roles: dict[str, Row]) -> dict[str, Value]:
    """Return the values of the answer, by role, cell and number of workers."""
    counts, times = dict.fromkeys(("workers", "global_batch"), "count"), TIMES[1:]
    found: dict[str, Value] = {}
    for role, row in roles.items():
        for columns in (counts, times):
            found |= named_values([row], f"{{column}}_{role}", columns)
    found |= named_values(timed, PER_CELL, TIMES)
    for row in trained:
        cell = f"n{row['workers']}_b{row['per_worker_batch']}"
        found[f"measured_s_{cell}"] = row.measured_s
        found[f"measured_to_predicted_{cell}"] = row.value("ratio", "ratio")
    return found or {"time_to_goal_s": nothing("s")}


QUESTIONS = [
    Question(
        "E2",
        facts_e2,
        formula=[
            r"T(N, B) = \text{steps}(B) \cdot \text{seconds of a step}(N, b), \qquad b = B / N",
            r"\text{time of all workers} = N \, T(N, B)",
        ],
        references=[SHALLUE, QIAO, ZOU],
        vocabulary={"optimizer": "steps_to_goal.optimizer"}
        | words("standing", ("longer", "not_longer", "open"))
        | words("quietness", UNQUIET),
    )
]
