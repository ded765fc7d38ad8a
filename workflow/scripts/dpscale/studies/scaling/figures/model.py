"""The ring model: times of messages, and steps of unseen workers."""

import math
import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value

CLOSE_FRAC = 0.15  # the band around a perfect prediction
MESSAGES = ["bytes", "seconds", "seconds_low", "seconds_high", "fitted_s"]
FIT = ["alpha_s", "beta_bytes_per_s"]
STEPS = ["predicted_step_s", "measured_step_s", "measured_step_s_low", "measured_step_s_high"]
PLACE = ["workers", "nodes"]
NAME_WIDTH = 0.34  # of a point's name, as a share of its panel
LEAST_RANGE = 2.0  # of the steps' axes, largest to smallest, before the names
LEGEND_LINE = 0.085  # height of a line of the legend as a share of its panel


def draw_link_fit(
    message_times: pd.DataFrame, link: pd.DataFrame, prediction: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per message size, or predicted cell."""
    messages, steps = _messages(message_times, link), _steps(prediction)
    figure, (left, right) = style.panels(1, 2, height_in=2.4)
    left.set_title("All-reduce of one message")
    right.set_title("Step of workers not in the fit")
    if messages.empty:
        style.note(left)
    else:
        _fits(left, messages)
    if steps.empty:
        why = ": ".join(["no prediction to score", *prediction.note.dropna().unique()[:1]])
        style.note(right, textwrap.fill(why, 34))
    else:
        _scores(right, steps)
    style.legend_above(figure, right)
    panels = [messages.assign(panel="messages"), steps.assign(panel="steps")]
    return figure, pd.concat(panels, ignore_index=True)


def _fit_words(own: pd.DataFrame) -> str:
    alpha_s, beta = own[FIT].iloc[0]
    if pd.isna(alpha_s) or pd.isna(beta):
        return "no fit"
    return f"α = {format_value(alpha_s, 's')}, β = {format_value(beta, 'bytes/s')}"


def _fits(axes: Axes, messages: pd.DataFrame) -> None:
    """Medians with intervals, and the fitted line, for each number of workers."""
    groups = list(messages.groupby(PLACE, dropna=False))
    several = messages.nodes.nunique() > 1
    for index, ((workers, nodes), own) in enumerate(groups):
        colour, marker = style.colour_of(index), style.marker_of(index)
        where = f" on {nodes} nodes" if several and nodes > 1 else ""
        label = f"N = {workers}{where}: {_fit_words(own)}"
        axes.plot(
            own.bytes, own.seconds, marker=marker, color=colour, linestyle="none", label=label
        )
        axes.vlines(own.bytes, own.seconds_low, own.seconds_high, color=colour, linewidth=1.2)
        if own.fitted_s.notna().all():
            axes.plot(own.bytes, own.fitted_s, color=colour, linewidth=1.2)
    times = messages[["seconds", "seconds_low", "seconds_high", "fitted_s"]]
    low, high = float(times.min().min()) / 1.3, float(times.max().max()) * 1.3
    # The legend has the top of the panel to itself.
    room = 1 - LEGEND_LINE * (len(groups) + 0.5)
    log_axes.log_ticks(axes.yaxis, low, low * (high / low) ** (1 / room), "s")
    smallest, largest = float(messages.bytes.min()), float(messages.bytes.max())
    log_axes.log_ticks(axes.xaxis, smallest / 1.4, largest * 1.4, "bytes")
    axes.set(xlabel="message (log scale)", ylabel="time (log scale)")
    axes.legend(loc="upper left", borderaxespad=0.1, handletextpad=0.3, fontsize=7.5)


def _scores(axes: Axes, steps: pd.DataFrame) -> None:
    """Predicted against measured steps, with the diagonal and a band around it."""
    low, high = _limits(steps)
    ends = np.array([low, high])
    axes.fill_between(
        ends,
        ends * (1 - CLOSE_FRAC),
        ends * (1 + CLOSE_FRAC),
        color=style.INK,
        alpha=0.12,
        linewidth=0,
        label=f"within {CLOSE_FRAC:.0%}",
    )
    axes.plot(ends, ends, color=style.INK, linewidth=0.8, linestyle="--", label="as measured")
    for index, (_, own) in enumerate(steps.groupby("workers"), start=1):
        colour, marker = style.colour_of(index), style.marker_of(index)
        x, y = own.measured_step_s, own.predicted_step_s
        axes.hlines(
            y, own.measured_step_s_low, own.measured_step_s_high, color=colour, linewidth=1.2
        )
        axes.plot(x, y, marker=marker, color=colour, linestyle="none")
    log_axes.log_ticks(axes.xaxis, low, high, "s")
    log_axes.log_ticks(axes.yaxis, low, high, "s")
    axes.set(xlabel="measured step (log scale)", ylabel="predicted step (log scale)")
    below = _below(steps)
    _names(axes, steps[below], "left")
    _names(axes, steps[~below], "right")


def _below(steps: pd.DataFrame) -> pd.Series:
    return steps.predicted_step_s < steps.measured_step_s


def _limits(steps: pd.DataFrame) -> tuple[float, float]:
    """Limits of both axes, with room for names on the sides where `_names` writes them."""
    low, high = (math.log(value) for value in (steps[STEPS].min().min(), steps[STEPS].max().max()))
    below, above = int(_below(steps).any()), int((~_below(steps)).any())
    free = 1 - NAME_WIDTH * (below + above)
    whole = max(high - low, math.log(LEAST_RANGE)) / free
    rest = (whole - (high - low)) / 2
    lean = whole * NAME_WIDTH / 2 * (below - above)
    edge = whole * 0.06
    return math.exp(low - rest + lean - edge), math.exp(high + rest + lean + edge)


def _names(axes: Axes, steps: pd.DataFrame, side: str) -> None:
    """Name the points, away from the diagonal: those below it on their right."""
    low, high = axes.get_ylim()
    ends = steps.measured_step_s_high if side == "left" else steps.measured_step_s_low
    heights = style.spread(
        [math.log(value) for value in steps.predicted_step_s], 0.065 * math.log(high / low)
    )
    points = zip(ends.fillna(steps.measured_step_s), map(math.exp, heights), strict=True)
    for label, point in zip(steps.label, points, strict=True):
        axes.annotate(
            label,
            point,
            xytext=(6 if side == "left" else -6, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=7.5,
        )


def _messages(message_times: pd.DataFrame, link: pd.DataFrame) -> pd.DataFrame:
    """The all-reduces, with the fit of their run and the time that it gives."""
    rows = message_times[(message_times.operation == "allreduce") & message_times.seconds.notna()]
    rows = rows.merge(link[["runs", *FIT]], on="runs", how="left")
    return rows[[*PLACE, *MESSAGES, *FIT]].sort_values([*PLACE, "bytes"], ignore_index=True)


def _steps(prediction: pd.DataFrame) -> pd.DataFrame:
    rows = prediction[prediction.predicted_step_s.notna() & prediction.measured_step_s.notna()]
    rows = rows.sort_values([*PLACE, "per_worker_batch"], ignore_index=True)
    rows["label"] = style.cell_labels(rows)
    return rows[[*PLACE, "per_worker_batch", "label", *STEPS]]
