"""The learning rate, by values worked by hand: 10 steps an epoch, base rate 0.8."""

import pytest

from dpscale.config.sections import ScheduleConfig
from dpscale.train.optim import learning_rate


def rate(step: int, epochs: int = 6, **settings: object) -> float:
    schedule = ScheduleConfig(**settings)
    return learning_rate(step, base_lr=0.8, schedule=schedule, steps_per_epoch=10, epochs=epochs)


GRADUAL = {"warmup": "gradual", "warmup_epochs": 2.0, "warmup_start_factor": 0.25}
CONSTANT = GRADUAL | {"warmup": "constant"}


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({}, {0: 0.8, 17: 0.8, 59: 0.8}),
        ({"warmup": "none", "warmup_epochs": 3.0}, {0: 0.8}),  # of no warm-up
        # From 0.2 by (0.8 - 0.2) / 20 = 0.03 a step.
        (GRADUAL, {0: 0.2, 1: 0.23, 10: 0.5, 19: 0.77, 20: 0.8, 59: 0.8}),
        (CONSTANT, {0: 0.2, 19: 0.2, 20: 0.8, 59: 0.8}),
        (CONSTANT | {"warmup_epochs": 0.5}, {4: 0.2, 5: 0.8}),
        (
            {"decay": "step", "decay_epochs": (3, 5)},
            {29: 0.8, 30: 0.08, 49: 0.08, 50: 0.008, 59: 0.008},
        ),
        # Epochs count from the start of training, not from the end of the warm-up.
        (
            GRADUAL | {"decay": "step", "decay_epochs": (3,), "decay_factor": 0.5},
            {20: 0.8, 29: 0.8, 30: 0.4},
        ),
        # After the warm-up 40 steps are left, the last is number 59, where the rate is 0; at step
        # 33, 13 of 39, the cosine is that of a third of pi.
        (GRADUAL | {"decay": "cosine"}, {10: 0.5, 20: 0.8, 33: 0.6, 59: 0.0}),
        ({"decay": "cosine"}, {60: 0.0}),  # after the last step
    ],
)
def test_the_rate_of_a_step_is_that_worked_by_hand(settings, rates):
    assert {step: rate(step, **settings) for step in rates} == pytest.approx(rates)


def test_cosine_decay_goes_from_the_base_rate_to_zero_at_the_last_step():
    # 61 steps, the last is number 60; the cosine of a third of pi is a half.
    schedule = ScheduleConfig(decay="cosine")
    made = [
        learning_rate(step, base_lr=0.8, schedule=schedule, steps_per_epoch=61, epochs=1)
        for step in (0, 20, 30, 40, 60)
    ]
    assert made == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0])


def test_a_cosine_over_a_single_step_uses_the_base_rate() -> None:
    schedule = ScheduleConfig(decay="cosine")
    assert learning_rate(0, base_lr=0.8, schedule=schedule, steps_per_epoch=1, epochs=1) == 0.8


@pytest.mark.parametrize("key", ["warmup", "decay"])
def test_an_unknown_word_names_its_key(key) -> None:
    schedule = ScheduleConfig().model_copy(update={key: "sudden"})
    with pytest.raises(ValueError, match=rf"schedule\.{key}: 'sudden'"):
        learning_rate(0, base_lr=0.8, schedule=schedule, steps_per_epoch=10, epochs=1)


def test_the_published_schedule_of_kn_8192_at_its_first_step_warmup_and_decays():
    # Goyal et al.: 3.2 at kn = 8,192, 5 epochs of warm-up from 0.1 (3.2 / 32), by 3.1 / 250 a
    # step, decays at 30, 60 and 80 of 90 epochs; here of 50 steps each.
    schedule = ScheduleConfig(
        warmup="gradual",
        warmup_epochs=5.0,
        warmup_start_factor=1 / 32,
        decay="step",
        decay_epochs=(30, 60, 80),
    )
    by_hand = {
        0: 0.1,
        1: 0.1124,
        249: 3.1876,
        250: 3.2,
        1499: 3.2,
        1500: 0.32,
        2999: 0.32,
        3000: 0.032,
        4000: 0.0032,
        4499: 0.0032,
    }
    found = {
        step: learning_rate(step, base_lr=3.2, schedule=schedule, steps_per_epoch=50, epochs=90)
        for step in by_hand
    }
    assert found == pytest.approx(by_hand)
