"""The plan of the study of learning rates: rates by hand, each run once, groups over workers."""

from pathlib import Path

import pytest

from dpscale.config import Config
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs, read_config
from dpscale.studies.lr_scaling.plan import scaled_rate

FOLDER = Path(__file__).resolve().parents[2] / "config"


def specs(config: Config) -> dict[str, Spec]:
    return {run: spec for run, spec in planned_runs(config).items() if spec.kind == "scaled"}


@pytest.fixture(scope="module")
def published() -> dict[str, Spec]:
    return specs(read_config(FOLDER / "lr_scaling.yaml"))


@pytest.mark.parametrize(("rule", "rate"), [("linear", 3.2), ("sqrt", 0.5657), ("fixed", 0.1)])
def test_rates_of_32_times_the_reference_batch(rule, rate) -> None:
    assert scaled_rate(0.1, rule, 32) == pytest.approx(rate, abs=1e-4)


def test_the_published_batches_have_the_published_rates_and_warm_up(published) -> None:
    linear = "lr_scaling-linear-gradual-zero_gamma-kn{}"
    rates = {kn: published[linear.format(kn)].training.lr for kn in (128, 512, 1024, 2048, 8192)}
    assert rates == pytest.approx({128: 0.05, 512: 0.2, 1024: 0.4, 2048: 0.8, 8192: 3.2})
    schedule = published[linear.format(8192)].training.schedule
    assert (schedule.warmup, schedule.warmup_epochs) == ("gradual", 5.0)
    assert schedule.warmup_start_factor == pytest.approx(1 / 32)
    assert schedule.decay_epochs == (30, 60, 80)
    # Below the reference the warm-up has nowhere to rise from.
    assert published[linear.format(128)].training.schedule.warmup_start_factor == 1.0


def test_groups_are_shared_out_among_the_workers_and_keep_their_size(published) -> None:
    assert len(published) == 27
    for spec in published.values():
        batch = spec.per_worker_batch * spec.workers
        assert batch == spec.protocol.groups * 32
        assert spec.workers == 4
        assert spec.per_worker_batch % 32 == 0


def test_the_reference_is_trained_without_warm_up_and_with_both_gains(published) -> None:
    found = [published[f"lr_scaling-linear-none-{gamma}_gamma-kn256"] for gamma in ("zero", "unit")]
    assert [spec.model.zero_gamma for spec in found] == [True, False]
    assert [spec.training.schedule.warmup for spec in found] == ["none", "none"]


def test_the_linear_rule_is_trained_with_gains_of_one_at_each_batch_up_to_the_large_one() -> None:
    found = specs(read_config(FOLDER / "config.yaml"))
    ones = [name for name in found if name.startswith("lr_scaling-linear-gradual-unit_gamma")]
    assert {name.rpartition("-")[2] for name in ones} == {"kn64", "kn128", "kn256"}


def test_candidates_of_the_default_have_fewer_seeds_and_their_own_rate() -> None:
    found = specs(read_config(FOLDER / "config.yaml"))
    tried = found["lr_scaling-linear-none-zero_gamma-lr0.25-kn32"]
    assert (tried.protocol.role, tried.training.lr, tried.seeds) == ("search", 0.25, (0, 1))
    lars = found["lr_scaling-lars-gradual-zero_gamma-lr2-kn1024"]
    assert (lars.protocol.optimizer, lars.seeds) == ("lars", tuple(range(10)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": [2, 4]}, "holds reference_groups"),
        ({"groups": [128]}, "more than the 1,293 training images"),
        ({"workers": 8}, "8 workers where hardware.devices offers 2"),
    ],
)
def test_studies_that_cannot_run_are_refused(change, words) -> None:
    with pytest.raises(ValueError, match=words):
        load_config(
            {
                "name": "x",
                "hardware": {"devices": 2},
                "large_batch": None,
                "scaling": None,
                "communication": None,
                "ledger": None,
                "lr_scaling": change,
            }
        )
