"""All figures by name: what draws them, from which derived tables, and their words."""

from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import (
    accuracy,
    assignment_accuracy,
    assignment_split,
    assignment_time,
    assignment_utilisation,
    bandwidth,
    batch_sweep,
    budget,
    communication,
    compression,
    iteration_times,
    learners,
    ledger,
    link_fit,
    local_sgd,
    local_sgd_curves,
    local_sgd_times,
    lr_scaling,
    model_averaging,
    order,
    replicas,
    speedup,
    step_split,
    steps_to_goal,
    warmups,
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
    "assignment_utilisation": FigureEntry(
        assignment_utilisation.draw,
        ("assignment_utilisation", "assignment_published"),
        "Utilisation of one worker's device against the batch size",
        "While it trains, loading included, with 95% intervals; utilisation is the share of time "
        "in which the device works, not how well it works.",
        assignment_utilisation.alt,
    ),
    "assignment_time": FigureEntry(
        assignment_time.draw,
        ("assignment", "assignment_published"),
        "Training time and scaling efficiency",
        "Medians over the seeds, and 95% intervals of the efficiency; hollow points had more "
        "workers than devices, and the dashed line is an efficiency of 100%.",
        assignment_time.alt,
    ),
    "assignment_split": FigureEntry(
        assignment_split.draw,
        ("assignment_split",),
        "Where an epoch goes on N workers",
        "Shares of the epoch given beside each bar; a part below zero is noise and drawn left of "
        "zero.",
        assignment_split.alt,
    ),
    "assignment_accuracy": FigureEntry(
        assignment_accuracy.draw,
        ("assignment", "assignment_published"),
        "Test accuracy by workers and by rule for the rate",
        "After the last epoch, median over the seeds with its 95% interval.",
        assignment_accuracy.alt,
    ),
    "model_averaging": FigureEntry(
        model_averaging.draw,
        ("averaging_curves", "model_averaging"),
        "Model averaging against synchronous SGD",
        "Median over the seeds with its 95% interval. The dotted line is the target, and a point "
        "on it the median time to it, drawn where every seed reaches it and full for SGD. Seconds "
        "are of training alone, all arms in turn in one process.",
        model_averaging.alt,
    ),
    "learners": FigureEntry(
        learners.draw,
        ("learners",),
        "Throughput against the number of learners on one device",
        "Medians with 95% intervals; a ring marks the number that adding learners, and stepping "
        "back at the first that gains too little, settles on. Dashed: one network by itself.",
        learners.alt,
    ),
    "lr_scaling": FigureEntry(
        lr_scaling.draw,
        ("lr_scaling", "lr_scaling_elbow", "published_lr_scaling"),
        "Error against the global batch, by the rule of the learning rate",
        "Median over the seeds with 95% intervals, gradual warm-up and zero gamma; × where a seed "
        "diverged. On the right figure 1 of Goyal et al. (2017), which was not measured here.",
        lr_scaling.alt,
    ),
    "warmups": FigureEntry(
        warmups.draw,
        ("lr_scaling_curves",),
        "Warm-ups at the large batch, epoch by epoch",
        "Median over the seeds and its 95% interval; a line ends where a seed diverged. Training "
        "errors are of an epoch's samples while the model learns.",
        warmups.alt,
    ),
    "iteration_times": FigureEntry(
        iteration_times.draw,
        ("iteration_times",),
        "Time of an iteration and of an epoch against workers",
        "Each worker has b samples of its own, loading included, 95% intervals; hollow points had "
        "more workers than devices.",
        iteration_times.alt,
    ),
    "local_sgd": FigureEntry(
        local_sgd.draw,
        ("local_sgd",),
        "Mini-batch, local and post-local SGD",
        "Test accuracy after the last epoch, median over the seeds with its 95% interval, and what "
        "a worker sends in a ring all-reduce in all rounds of a training.",
        local_sgd.alt,
    ),
    "local_sgd_curves": FigureEntry(
        local_sgd_curves.draw,
        ("local_sgd_curves",),
        "Curves of mini-batch, local and post-local SGD",
        "Medians over the seeds, of the mean of all learners; the dotted line is where post-local "
        "SGD begins its local steps, at the first fall of the rate.",
        local_sgd_curves.alt,
    ),
    "local_sgd_times": FigureEntry(
        local_sgd_times.draw,
        ("local_sgd_times",),
        "Time of an epoch against the local steps",
        "Predicted, not measured: this machine's computation, a device for each worker, and the "
        "links that the configuration names.",
        local_sgd_times.alt,
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
