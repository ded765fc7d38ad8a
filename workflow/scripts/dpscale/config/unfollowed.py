"""Settings of `training` that a study of large batches would not follow.

A study's own section says what it trains: its rates, their schedule, the epochs. What `training`
alone says is followed or refused: a setting without effect would be taken for one that changed
nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dpscale.config.finding import Finding
from dpscale.config.root import Config
from dpscale.config.sections import TrainingConfig


class _Unfollowed(NamedTuple):
    """A value of a setting of `training`, and the dotted key of what has no use for it."""

    owner: str
    setting: str
    value: object
    why: str


LARS = "lr_scaling.lars_groups"
UNFOLLOWED = [
    *(
        _Unfollowed(study, *rest)
        for study in ("steps_to_goal", "model_averaging", "local_sgd")
        for rest in (
            ("precision", "bf16", "trains in fp32 or tf32"),
            ("channels_last", True, "keeps no images in channels-last format"),
            ("compile", True, "compiles no network"),
        )
    ),
    _Unfollowed(
        "steps_to_goal", "fused", True, "updates the trials of a stack by an SGD of its own"
    ),
    _Unfollowed("model_averaging", "nesterov", True, "trains by SGD without Nesterov's form"),
    _Unfollowed("lr_scaling", "optimizer", "adam", "scales the rates of SGD"),
    _Unfollowed(LARS, "fused", True, "asks for LARS, which is not fused"),
    _Unfollowed(LARS, "nesterov", True, "asks for LARS, which has no Nesterov's form"),
]


def unfollowed_settings(config: Config) -> Iterator[Finding]:
    """Yield a finding for each setting of `training` that a planned study would not follow."""
    for owner, setting, value, why in UNFOLLOWED:
        if getattr(config.training, setting) == value and _planned(config, owner):
            default = TrainingConfig.model_fields[setting].default
            yield (
                f"training.{setting}",
                f"{owner} {why}; set it to {_yaml(default)}, or {owner} to null",
            )


def _planned(config: Config, owner: str) -> bool:
    """Whether the configuration asks for what has no use for the setting."""
    if owner == LARS:
        study = config.lr_scaling
        return bool(study and study.lars_groups and study.lars_lrs)
    return getattr(config, owner) is not None


def _yaml(value: object) -> str:
    return str(value).lower()
