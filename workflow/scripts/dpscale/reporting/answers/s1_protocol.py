"""S1's protocol in words: how it searched, how good the searches are, and what was expected."""

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.s1_words import grouped, search
from dpscale.units import format_value


def protocol(inputs: Inputs, rows: list[Row]) -> str:
    """Return how the steps were measured; rows: those of steps_to_goal with a batch size."""
    given = inputs.tidy_rows("searches")
    if not given or not rows:
        return ""
    one = given[0]
    goals = {row["model"]: format_value(row["goal_error_frac"], "fraction") for row in given}
    named = prose.join([f"{goal} for {model}" for model, goal in goals.items()])
    repeats = max(row["repeats"] or 0 for row in rows)
    coarse = max(row["step_resolution"] for row in rows)
    return (
        f"At every batch size {int(one['planned_trials'])} quasi-random points (a scrambled Halton "
        "sequence, other points for each batch size) were trained: effective learning rate "
        f"$\\eta/(1-\\mu)$ from {one['effective_lr_low']:g} to {one['effective_lr_high']:g} and, "
        f"with momentum, $1-\\mu$ from {one['momentum_rest_low']:g} to 1, both uniform on a "
        "logarithmic axis. A trial ends when its validation error first reaches the goal "
        f"({named}), when its loss is not finite, or with its budget: {int(one['max_steps'])} "
        f"steps, {int(one['max_epochs'])} epochs, or {one['patience']:g} times the steps of the "
        f"first trial at the goal, and earlier once {int(one['finalists'])} trials are there. "
        "These were trained with further seeds, and the one with the lowest median won. What is "
        f"reported are {repeats} repeats of the winner with seeds that the search never saw: "
        "median steps with 95% bootstrap interval, and the error on test images. Validation error "
        f"is taken at least every {coarse} steps at the smallest batch and after every step at "
        "large ones, which is the resolution of the steps."
    )


def quality(rows: list[Row]) -> str:
    """Return how much of each search came to something, and where its winners lie."""
    totals = {name: sum(row[f"{name}_trials"] or 0 for row in rows)
              for name in ("complete", "incomplete", "infeasible")}  # fmt: skip
    count = sum(totals.values())
    if not count:
        return ""
    shares = {name: format_value(total / count, "fraction") for name, total in totals.items()}
    return (
        f"Of {format_value(count, 'count')} trials {shares['complete']} reached the goal before "
        f"the search ended, {shares['incomplete']} were incomplete and {shares['infeasible']} "
        "infeasible (loss not finite); a search ends its other trials once enough are there. "
        f"{_borders(rows)} {_unreached(rows)}"
    ).strip()


def _borders(rows: list[Row]) -> str:
    near = [row for row in rows if row.get("at_border") is True]
    if not near:
        return (
            "No winner lies in the outer tenth of the search space, so the space did not decide "
            "where the best points are."
        )
    places = [
        f"{search(own[0])} at B = {prose.join([str(row['global_batch']) for row in own])}"
        for own in grouped(near, search).values()
    ]
    return (
        f"{prose.capitalised(prose.counted(len(near), 'winner'))} of {len(rows)} "
        f"{prose.verb(len(near), 'lies', 'lie')} in the outer tenth of the search space "
        f"({'; '.join(places)}): there a wider space might do better."
    )


def _unreached(rows: list[Row]) -> str:
    lacking = [row for row in rows if (row.get("repeats_reached") or 0) < (row.get("repeats") or 0)]
    without = [row for row in rows if row.get("steps_to_goal") is None]
    parts = []
    if lacking:
        places = prose.join([
            f"{row['repeats'] - row['repeats_reached']} of {row['repeats']} for {search(row)} at "
            f"B = {row['global_batch']}" for row in lacking
        ])  # fmt: skip
        parts.append(f"Repeats that did not reach the goal count as slower than all: {places}.")
    if without:
        places = prose.join([f"{search(row)} at B = {row['global_batch']}" for row in without])
        parts.append(f"Without a median, and left out of the fit: {places}.")
    return " ".join(parts)


def expectation(inputs: Inputs, outcome: str) -> str:
    """Return what the configuration expected before the run, beside what came out."""
    texts = dict.fromkeys(
        row["expected"] for row in inputs.tidy_rows("searches") if row["expected"]
    )
    if not texts:
        return ""
    return f"Expected before the run: “{' '.join(texts)}” What came out: {outcome}"
