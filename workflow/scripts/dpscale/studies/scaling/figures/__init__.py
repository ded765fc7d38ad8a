"""The figures of the study."""

from dpscale.figures.registry import FigureEntry
from dpscale.studies.scaling.figures import epochs, model, rates, speedup

FIGURES = {
    "speedup": FigureEntry(speedup.draw, ("scaling",)),
    "communication": FigureEntry(epochs.draw_communication, ("communication",)),
    "step_split": FigureEntry(epochs.draw_step_split, ("communication",)),
    "link_fit": FigureEntry(model.draw_link_fit, ("message_times", "link", "prediction")),
    "compression": FigureEntry(rates.draw_compression, ("compression",)),
    "bandwidth": FigureEntry(rates.draw_bandwidth, ("bandwidth", "communication")),
}
