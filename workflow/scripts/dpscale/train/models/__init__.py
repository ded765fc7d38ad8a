"""The networks, by the name that the configuration gives them."""

from dpscale.train.models.registry import build_model, model_names

__all__ = ["build_model", "model_names"]
