"""Runs of S3 in this process: what they record, that they repeat, and a loss that is not finite."""

import pytest
import torch

from dpscale.config.sections import DataConfig
from dpscale.studies import load_config, planned_runs
from dpscale.studies.model_averaging.measure.averaging import measure_averaging
from dpscale.studies.model_averaging.measure.learners import measure_learners
from dpscale.train.data import load_dataset
from dpscale.train.worker import Place

HERE = Place(0, 1, 1, torch.device("cpu"))
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")


@pytest.fixture(scope="module")
def dataset():
    return load_dataset(DataConfig())


def planned(training=None, **given):
    section = {
        "learners": 2,
        "per_learner_batch": 32,
        "epochs": 1,
        "seeds": [0],
        "alphas": [0.5],
        "cells": [{"model": "mlp", "batch": 16}],
        "max_learners": 2,
        "repeats": 3,
        "repeat_s": 1e-4,
    }
    raw = {"name": "x", "model_averaging": section | given} | dict.fromkeys(STUDIES)
    raw |= {"training": training} if training else {}
    return planned_runs(load_config(raw))


def test_a_run_records_every_arm_and_repeats_bitwise(dataset):
    spec = planned(evaluations_per_epoch=2)["model_averaging-seed0"]
    one, two = (measure_averaging(spec, dataset, HERE).fields for _ in range(2))
    assert [row["arm"] for row in one["trials"]] == [
        "sgd_small",
        "sgd_large",
        "sgd_large_linear",
        "sma α = 0.5",
        "sma_tuned α = 0.5",
    ]
    # 1,293 images: 40 batches of 32, or 20 of 64.
    assert [row["steps"] for row in one["trials"]] == [40, 20, 20, 20, 20]
    assert [row["rounds"] for row in one["trials"]] == [40, 20, 20, 20, 20]
    assert len(one["curves"]) == 10
    timed = {"wall_s", "evaluation_s"}
    for name in ("trials", "curves"):
        for row, again in zip(one[name], two[name], strict=True):
            assert {k: v for k, v in row.items() if k not in timed} == {
                k: v for k, v in again.items() if k not in timed
            }


def test_a_loss_that_is_not_finite_ends_its_own_arm_alone(dataset):
    spec = planned(averaging_lr=1e6, epochs=2)["model_averaging-seed0"]
    measured = measure_averaging(spec, dataset, HERE)
    statuses = {row["arm"]: row["status"] for row in measured.fields["trials"]}
    assert statuses.pop("sma_tuned α = 0.5") == "diverged"
    assert set(statuses.values()) == {"complete"}
    assert "sma_tuned" in (measured.message or "")
    last = [row for row in measured.fields["curves"] if row["trial"] == 4][-1]
    assert last["train_loss"] is None


def test_learners_are_timed_beside_one_plain_network(dataset):
    spec = planned()["model_averaging-learners-mlp-b16"]
    rows = measure_learners(spec, dataset, HERE).fields["throughputs"]
    assert {(row["learners"], row["stacked"]) for row in rows} == {(1, False), (1, True), (2, True)}
    assert len(rows) == 9
    assert all(row["seconds"] > 0 for row in rows)
    assert all(row["samples"] % (16 * row["learners"]) == 0 for row in rows)


def test_learners_that_cannot_be_dealt_out_are_refused():
    with pytest.raises(ValueError, match=r"learners = 9: cannot be dealt out to 2"):
        planned(learners=9, workers=2)
