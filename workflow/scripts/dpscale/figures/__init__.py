"""Figures: derived tables in, a figure and the frame of what it shows out."""

from dpscale.figures.registry import FigureEntry, draw_figure, failed_figure

__all__ = ["FigureEntry", "draw_figure", "failed_figure"]
