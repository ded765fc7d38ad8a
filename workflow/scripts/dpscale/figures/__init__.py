"""Figures: derived tables in, a figure and the frame of what it shows out."""

from dpscale.figures.registry import FIGURES, FigureEntry, draw_figure

__all__ = ["FIGURES", "FigureEntry", "draw_figure"]
