"""The learning rate, by values worked by hand: 10 steps an epoch, base rate 0.8."""

import pytest

from dpscale.config.sections import ScheduleConfig
from dpscale.train.optim import learning_rate


def rate(step: int, epochs: int = 6, **settings: object) -> float:
    schedule = ScheduleConfig(**settings)
    return learning_rate(step, base_lr=0.8, schedule=schedule, steps_per_epoch=10, epochs=epochs)


GRADUAL = {"warmup": "gradual", "warmup_epochs": 2.0, "warmup_start_factor": 0.25}
CONSTANT = {"warmup": "constant", "warmup_epochs": 2.0, "warmup_start_factor": 0.25}


def test_without_warmup_and_decay_the_rate_never_moves() -> None:
    assert [rate(step) for step in (0, 17, 59)] == [0.8, 0.8, 0.8]


def test_without_warmup_its_epochs_are_ignored() -> None:
    assert rate(0, warmup="none", warmup_epochs=3.0) == 0.8


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.2), (1, 0.23), (10, 0.5), (19, 0.77), (20, 0.8), (59, 0.8)]
)
def test_gradual_warmup_rises_in_a_line_step_by_step(step: int, expected: float) -> None:
    # From 0.2 by (0.8 - 0.2) / 20 = 0.03 a step.
    assert rate(step, **GRADUAL) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.2), (19, 0.2), (20, 0.8), (59, 0.8)])
def test_constant_warmup_jumps_at_its_end(step: int, expected: float) -> None:
    assert rate(step, **CONSTANT) == pytest.approx(expected)


def test_a_warmup_of_half_an_epoch_ends_after_half_the_steps() -> None:
    half = {**CONSTANT, "warmup_epochs": 0.5}
    assert [rate(step, **half) for step in (4, 5)] == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize(
    ("step", "expected"), [(29, 0.8), (30, 0.08), (49, 0.08), (50, 0.008), (59, 0.008)]
)
def test_step_decay_falls_at_the_first_step_of_each_decay_epoch(step: int, expected: float) -> None:
    assert rate(step, decay="step", decay_epochs=(3, 5)) == pytest.approx(expected)


def test_decay_epochs_count_from_the_start_of_training_not_from_the_warmup() -> None:
    settings = {**GRADUAL, "decay": "step", "decay_epochs": (3,), "decay_factor": 0.5}
    assert [rate(step, **settings) for step in (20, 29, 30)] == pytest.approx([0.8, 0.8, 0.4])


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.8), (20, 0.6), (30, 0.4), (40, 0.2), (60, 0.0)]
)
def test_cosine_decay_goes_from_the_base_rate_to_zero_at_the_last_step(
    step: int, expected: float
) -> None:
    # 61 steps, the last is number 60; the cosine of a third of pi is a half.
    schedule = ScheduleConfig(decay="cosine")
    made = learning_rate(step, base_lr=0.8, schedule=schedule, steps_per_epoch=61, epochs=1)
    assert made == pytest.approx(expected)


def test_cosine_decay_starts_after_the_warmup() -> None:
    settings = {**GRADUAL, "decay": "cosine"}
    # 40 steps are left, the last is number 59, and 0 is reached there; 0.5 before the warm-up ends.
    assert rate(10, **settings) == pytest.approx(0.5)
    assert rate(20, **settings) == pytest.approx(0.8)
    assert rate(33, **settings) == pytest.approx(0.6)  # 13 of 39 steps: a third of pi
    assert rate(59, **settings) == pytest.approx(0.0)


def test_the_rate_stays_at_zero_after_the_last_step_of_a_cosine() -> None:
    assert rate(60, decay="cosine") == pytest.approx(0.0)


def test_a_cosine_over_a_single_step_uses_the_base_rate() -> None:
    schedule = ScheduleConfig(decay="cosine")
    assert learning_rate(0, base_lr=0.8, schedule=schedule, steps_per_epoch=1, epochs=1) == 0.8


@pytest.mark.parametrize("key", ["warmup", "decay"])
def test_an_unknown_word_names_its_key(key: str) -> None:
    schedule = ScheduleConfig().model_copy(update={key: "sudden"})
    with pytest.raises(ValueError, match=rf"schedule\.{key}: 'sudden'"):
        learning_rate(0, base_lr=0.8, schedule=schedule, steps_per_epoch=10, epochs=1)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 0.1),  # the reference's rate: 3.2 / 32
        (1, 0.1124),  # 3.1 / 250 a step
        (249, 3.1876),
        (250, 3.2),  # the end of the warm-up
        (1499, 3.2),
        (1500, 0.32),
        (2999, 0.32),
        (3000, 0.032),
        (4000, 0.0032),
        (4499, 0.0032),
    ],
)
def test_the_published_schedule_of_kn_8192_at_its_first_step_warmup_and_decays(
    step: int, expected: float
) -> None:
    # Goyal et al.: 3.2 at kn = 8,192, 5 epochs of warm-up from 0.1, decays at 30, 60 and 80 of 90
    # epochs; here of 50 steps each.
    schedule = ScheduleConfig(
        warmup="gradual", warmup_epochs=5.0, warmup_start_factor=1 / 32,
        decay="step", decay_epochs=(30, 60, 80),
    )  # fmt: skip
    made = learning_rate(step, base_lr=3.2, schedule=schedule, steps_per_epoch=50, epochs=90)
    assert made == pytest.approx(expected)
