"""All figures by name: what draws them, from which derived tables, and their words."""

from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import (
    accuracy,
    bandwidth,
    batch_sweep,
    budget,
    communication,
    compression,
    ledger,
    link_fit,
    order,
    replicas,
    speedup,
    step_split,
    steps_to_goal,
    what_if,
)
from dpscale.figures.style import house_style
from dpscale.figures.svg import to_svg


@dataclass(frozen=True)
class FigureEntry:
    """A figure: `draw` takes the derived tables named in `inputs`, in that order."""

    draw: Callable[..., tuple[Figure, pd.DataFrame]]
    inputs: tuple[str, ...]
    title: str
    caption: str
    alt: Callable[[pd.DataFrame], str]


FIGURES: dict[str, FigureEntry] = {
    "batch_sweep": FigureEntry(
        batch_sweep.draw,
        ("sweep", "boundary"),
        "Throughput and memory against the batch size",
        "Full batches on one device, without data loading; the band is the 95% interval, and × "
        "a batch size that could not be run.",
        batch_sweep.alt,
    ),
    "speedup": FigureEntry(
        speedup.draw,
        ("scaling",),
        "Speed-up of one epoch, everything included",
        "A line per batch size with 95% intervals; hollow points had more workers than devices, "
        "and the dashed line is a speed-up equal to the number of workers.",
        speedup.alt,
    ),
    "communication": FigureEntry(
        communication.draw,
        ("communication",),
        "Computation and communication in one epoch",
        "The number beside a bar is its communication and the line its 95% interval; a negative "
        "difference is drawn left of zero.",
        communication.alt,
    ),
    "step_split": FigureEntry(
        step_split.draw,
        ("communication",),
        "Where an epoch goes, measured arm by arm",
        "Shares of the epoch given beside each bar, from arms interleaved in one run; a part below "
        "zero is drawn left of zero. On the right what communication takes by itself, hidden "
        "behind computation or not, with 95% intervals.",
        step_split.alt,
    ),
    "link_fit": FigureEntry(
        link_fit.draw,
        ("message_times", "link", "prediction"),
        "The ring model, fitted and scored",
        "Left: medians of all-reduces with 95% intervals, and the line of the fitted latency α and "
        "bandwidth β. Right: steps of numbers of workers that no fit has seen.",
        link_fit.alt,
    ),
    "what_if": FigureEntry(
        what_if.draw,
        ("what_if",),
        "What if: predicted speed-up up to 1,024 workers",
        "Predicted, not measured: this machine's computation, a device for each worker, and the "
        "links that the configuration names; thin lines are other ways to exchange gradients on "
        "the slowest of them. Percentages are the efficiency at the end of a line.",
        what_if.alt,
    ),
    "compression": FigureEntry(
        compression.draw,
        ("compression",),
        "Compressed gradients, measured",
        "Bytes as counted in the ledger and, where known, at the interface; step times interleaved "
        "with plain DDP, 95% intervals.",
        compression.alt,
    ),
    "bandwidth": FigureEntry(
        bandwidth.draw,
        ("bandwidth", "communication"),
        "Bandwidth reached by the all-reduce",
        "The ring all-reduce's bytes over the communication time found by subtraction, and over "
        "that of the same buckets alone, with 95% intervals; dotted to the edge where there is no "
        "upper bound.",
        bandwidth.alt,
    ),
    "accuracy": FigureEntry(
        accuracy.draw,
        ("accuracy",),
        "Accuracy with a small and a large batch",
        "Median over the seeds, and its 95% interval where there are several seeds.",
        accuracy.alt,
    ),
    "order": FigureEntry(
        order.draw,
        ("accuracy", "order"),
        "What the sampler's epoch number does",
        "Training loss with its interval over seeds, and the first samples that rank 0 sees in "
        "each epoch; where the orders are the same the marks lie on each other.",
        order.alt,
    ),
    "ledger": FigureEntry(
        ledger.draw,
        ("ledger",),
        "What is handed to the network, by purpose",
        "Logical payload of the collectives of one rank, for the largest number of workers.",
        ledger.alt,
    ),
    "replicas": FigureEntry(
        replicas.draw,
        ("replicas",),
        "Workers that share gradients, with and without buffers",
        "A line, and a range over the ranks, for each seed; every rank evaluates the whole test "
        "set with its own running statistics.",
        replicas.alt,
    ),
    "steps_to_goal": FigureEntry(
        steps_to_goal.draw,
        ("steps_to_goal", "scaling_fit"),
        "Steps to the goal error against the batch size",
        "Medians of the winner's repeats with 95% intervals, both axes logarithmic. Perfect "
        "scaling starts at the smallest batch; between the dotted lines lie diminishing returns, "
        "to the left perfect scaling, to the right maximal data parallelism.",
        steps_to_goal.alt,
    ),
    "budget": FigureEntry(
        budget.draw,
        ("budget",),
        "The same budget, read in epochs and in steps",
        "Error of the best trial of each batch size's search. Hollow: that trial reached the goal "
        "within the budget and stopped there.",
        budget.alt,
    ),
}


def draw_figure(name: str, tables: dict[str, pd.DataFrame]) -> tuple[str, pd.DataFrame]:
    """Return the SVG text of a figure and the frame of exactly what it shows.

    The SVG names itself: `<title>`, `<desc>` (alternative text) and `data-caption`.
    """
    entry = FIGURES[name]
    with house_style():
        figure, drawn = entry.draw(*(tables[source] for source in entry.inputs))
        svg = to_svg(figure, name)
    head, rest = svg.split(">", 1)
    words = f"<title>{escape(entry.title)}</title><desc>{escape(entry.alt(drawn))}</desc>"
    return f'{head} role="img" data-caption={quoteattr(entry.caption)}>{words}{rest}', drawn
