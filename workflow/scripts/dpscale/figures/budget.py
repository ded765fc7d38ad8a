"""Error against the batch size at the same budget, read in epochs and in steps."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.steps_to_goal import NAMES, batch_axis
from dpscale.units import format_value

COLUMNS = [
    "model", "optimizer", "kind", "budget", "global_batch", "validation_error_frac",
    "goal_error_frac", "reached",
]  # fmt: skip
KINDS = {"epochs": "Equal epochs", "steps": "Equal steps"}
MOST_BUDGETS = 4


def draw(budget: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a row for each network, and a frame of what it shows."""
    drawn = _drawn(budget)
    models = list(dict.fromkeys(drawn.model))
    rows = max(1, len(models))
    figure, grid = style.panels(rows, 2, height_in=0.6 + 2.6 * rows)
    if drawn.empty:
        for axes in grid:
            style.note(axes, "not measured yet")
        return figure, drawn
    for row, model in enumerate(models):
        for axes, kind in zip(grid[2 * row : 2 * row + 2], KINDS, strict=True):
            own = drawn[(drawn.model == model) & (drawn.kind == kind)]
            optimizer = own.optimizer.iloc[0] if len(own) else "sgd"
            axes.set_title(f"{KINDS[kind]}: {model}, {NAMES.get(optimizer, optimizer)}")
            if own.empty:
                style.note(axes, "no budget that only some batch sizes meet")
            else:
                _panel(axes, own, kind)
        grid[2 * row].set_ylabel("validation error (%), log scale")
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Error at equal budgets: nothing measured yet."
    parts = []
    for (model, kind, size), own in drawn.groupby(["model", "kind", "budget"], sort=False):
        reached = own[own.reached].global_batch
        which = (
            f"the goal reached with B = {reached.min()} to {reached.max()}"
            if len(reached)
            else "the goal reached by none"
        )
        parts.append(f"{model}, {_label(size, str(kind))}: {which}")
    return "Best validation error at equal budgets. " + "; ".join(parts) + "."


def _label(size: float, kind: str) -> str:
    text = format_value(size, "count") if kind == "steps" else format_value(size, "number")
    return f"{text} {kind if size != 1 else kind[:-1]}"


def _drawn(budget: pd.DataFrame) -> pd.DataFrame:
    """The first optimiser of each network, at budgets that tell its batch sizes apart."""
    rows = budget[budget.validation_error_frac.notna()][COLUMNS]
    rows = rows.assign(
        reached=rows.reached.astype(str) == "True", global_batch=rows.global_batch.astype(int)
    )
    first = rows.groupby("model", sort=False).optimizer.transform("first")
    rows = rows[rows.optimizer == first]
    keys = ["model", "kind", "budget"]
    mixed = rows.groupby(keys).reached.transform(lambda one: 0 < one.sum() < len(one))
    several = rows.groupby(keys).reached.transform("size") > 1
    rows = rows[mixed & several]
    rank = rows.groupby(["model", "kind"]).budget.rank(method="dense", ascending=False)
    return rows[rank <= MOST_BUDGETS].reset_index(drop=True)


def _panel(axes: Axes, own: pd.DataFrame, kind: str) -> None:
    for index, (size, line) in enumerate(own.groupby("budget")):
        colour, marker = style.colour_of(index), style.marker_of(index)
        errors = 100 * line.validation_error_frac.where(~line.reached, line.goal_error_frac)
        axes.plot(line.global_batch, errors, color=colour, label=_label(float(str(size)), kind))
        for reached, face in ((False, colour), (True, "none")):
            chosen = line.reached == reached
            axes.plot(
                line.global_batch[chosen], errors[chosen], color=colour, marker=marker,
                linestyle="none", markerfacecolor=face,
            )  # fmt: skip
    goal = 100 * own.goal_error_frac.iloc[0]
    axes.axhline(goal, color=style.INK, linestyle="--", linewidth=0.9, label="goal")
    axes.set_yscale("log")
    low, high = goal / 1.4, 100.0
    axes.set_ylim(low, high * (high / low) ** 0.35)  # the top is the legend's
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    batch_axis(axes, sorted(own.global_batch.unique()))
    axes.legend(loc="upper left", ncols=2, fontsize=7.5)
