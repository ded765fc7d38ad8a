"""The figures of the study."""

from dpscale.figures.registry import FigureEntry
from dpscale.studies.communication.figures import epochs, model, rates

FIGURES = {
    "communication": FigureEntry(
        epochs.draw_communication,
        ("communication",),
        "Computation and communication in one epoch",
        "The number beside a bar is its communication and the line its 95% interval; a negative "
        "difference is drawn left of zero.",
        epochs.alt_communication,
    ),
    "step_split": FigureEntry(
        epochs.draw_step_split,
        ("communication",),
        "Where an epoch goes, measured arm by arm",
        "Shares of the epoch given beside each bar, from arms interleaved in one run; a part below "
        "zero is drawn left of zero. On the right what communication takes by itself, hidden "
        "behind computation or not, with 95% intervals.",
        epochs.alt_step_split,
    ),
    "link_fit": FigureEntry(
        model.draw_link_fit,
        ("message_times", "link", "prediction"),
        "The ring model, fitted and scored",
        "Left: medians of all-reduces with 95% intervals, and the line of the fitted latency α and "
        "bandwidth β. Right: steps of numbers of workers that no fit has seen.",
        model.alt_link_fit,
    ),
    "what_if": FigureEntry(
        model.draw_what_if,
        ("what_if",),
        "What if: predicted speed-up up to 1,024 workers",
        "Predicted, not measured: this machine's computation, a device for each worker, and the "
        "links that the configuration names; thin lines are other ways to exchange gradients on "
        "the slowest of them. Percentages are the efficiency at the end of a line.",
        model.alt_what_if,
    ),
    "compression": FigureEntry(
        rates.draw_compression,
        ("compression",),
        "Compressed gradients, measured",
        "Bytes as counted in the ledger and, where known, at the interface; step times interleaved "
        "with plain DDP, 95% intervals.",
        rates.alt_compression,
    ),
    "bandwidth": FigureEntry(
        rates.draw_bandwidth,
        ("bandwidth", "communication"),
        "Bandwidth reached by the all-reduce",
        "The ring all-reduce's bytes over the communication time found by subtraction, and over "
        "that of the same buckets alone, with 95% intervals; dotted to the edge where there is no "
        "upper bound.",
        rates.alt_bandwidth,
    ),
}
