"""The figures of the study."""

from dpscale.figures.registry import FigureEntry
from dpscale.studies.communication.figures import epochs, model, rates

FIGURES = {
    "communication": FigureEntry(
        epochs.draw_communication, ("communication",), epochs.alt_communication
    ),
    "step_split": FigureEntry(epochs.draw_step_split, ("communication",), epochs.alt_step_split),
    "split_brief": FigureEntry(epochs.draw_split_brief, ("communication",), epochs.alt_step_split),
    "link_fit": FigureEntry(
        model.draw_link_fit, ("message_times", "link", "prediction"), model.alt_link_fit
    ),
    "compression": FigureEntry(rates.draw_compression, ("compression",), rates.alt_compression),
    "bandwidth": FigureEntry(
        rates.draw_bandwidth, ("bandwidth", "communication"), rates.alt_bandwidth
    ),
}
