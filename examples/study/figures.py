"""S9: samples per second against the batch size."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry


def draw(inference: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the rates, and a frame of what it shows."""
    drawn = inference.loc[inference.samples_per_s.notna(), ["per_worker_batch", "samples_per_s"]]
    figure, (axes,) = style.panels(1, 1, height_in=2.4)
    if not style.nothing(drawn, axes):
        axes.loglog(drawn.per_worker_batch, drawn.samples_per_s, marker="o")
        axes.set(xlabel="batch", ylabel="samples/s")
    return figure, drawn


FIGURES = {"inference": FigureEntry(draw, ("inference",))}
