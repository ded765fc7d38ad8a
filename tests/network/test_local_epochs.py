"""Local SGD on links of known rate: what H local steps save, predicted and measured.

Minutes: pytest -m slow tests/network/test_local_epochs.py
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from raw_tcp import tcp_ceiling
from rig import Rig
from shaped import SCRIPTS

from dpscale.config.sections import ModelConfig
from dpscale.derive.formulas import ring_allreduce_seconds
from dpscale.plan.spec import Spec, build_spec
from dpscale.records import read_record
from dpscale.studies import load_config
from dpscale.studies.local_sgd import LOCAL
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol

pytestmark = pytest.mark.slow
MakeRig = Callable[[int, str], Rig]
STUDIES = (
    "sweep",
    "scaling",
    "communication",
    "large_batch",
    "replicas",
    "ledger",
    "data_parallel",
)
WORKERS, BATCH, STEPS = 2, 8, 32  # steps an epoch: a multiple of every H
LOCAL_STEPS = (1, 4, 16)
NEVER = 10**6  # local steps: no average but the final one, after the last epoch that counts
EPOCHS = 4
CLOSE_FRAC = 0.2


def spec_of(root: Path) -> Spec:
    """An MLP of 1.6 million parameters on images of 64x64, two learners with a process each.

    All H in one run, so that they meet the same machine.
    """
    data = {
        "dataset": "synthetic",
        "channels": 3,
        "image_size": 64,
        "classes": 10,
        "samples": WORKERS * BATCH * STEPS,
        "root": str(root),
        "loader": "resident",
        "validation_frac": 0.0,
    }
    raw = {"name": "local", "hardware": {"allow_oversubscription": True}, "data": data}
    config = load_config(raw | dict.fromkeys(STUDIES))
    training = config.training.model_copy(update={"epochs": EPOCHS, "lr": 1e-3})
    arms = tuple(
        LocalArm(name=f"H={every}", local_steps=every, local_from_epoch=0)
        for every in (NEVER, *LOCAL_STEPS)
    )
    protocol = LocalProtocol(
        learners=WORKERS,
        arms=arms,
        rate_factors=(1.0,),
        tuning_seeds=(9,),
        label_noise_frac=0.0,
        evaluate_epochs=1,
    )
    return build_spec(
        config,
        LOCAL,
        run="local",
        study="local_sgd",
        workers=WORKERS,
        per_worker_batch=BATCH,
        training=training,
        seeds=(0, 1),
        model=ModelConfig(name="mlp"),
        protocol=protocol,
    )


def epoch_s(rig: Rig, folder: Path, root: Path) -> tuple[dict[int, float], int]:
    """Seconds of an epoch by H, and the bytes of an average.

    The least of all epochs but a training's first and last, since other work disturbs only upward.
    """
    spec = spec_of(root)
    path = folder / spec.run / "spec.json"
    path.parent.mkdir(parents=True)
    path.write_text(spec.model_dump_json(), encoding="utf-8")
    ended = rig.torchrun(SCRIPTS / "run.py", path, nodes=WORKERS)
    assert all(one.status == 0 for one in ended), ended
    record = read_record(path.with_name("record.json"))
    found: dict[int, list[float]] = {}
    for trial in record.trials:
        every = trial["local_steps"]
        assert trial["rounds"] == max(1, EPOCHS * STEPS // every)
        times = [row["wall_s"] for row in record.curves if row["trial"] == trial["trial"]]
        found.setdefault(every, []).extend(np.diff(times)[:-1])
    assert record.payload_bytes is not None
    return {every: float(min(times)) for every, times in found.items()}, record.payload_bytes


def test_the_epoch_of_h_local_steps_is_predicted_on_a_fast_and_a_slow_link(
    make_rig, tmp_path
) -> None:
    rig = make_rig(WORKERS, "1gbit")
    errors = {}
    for rate in ("1gbit", "200mbit"):
        rig.set_rate(rate)
        beta = tcp_ceiling(rig)
        measured, payload = epoch_s(rig, tmp_path / rate, tmp_path)
        compute_s = measured.pop(NEVER)
        # The rig's latency is nothing beside the milliseconds of its bytes.
        average_s = ring_allreduce_seconds(float(payload), WORKERS, 0.0, beta)
        for every, seconds in measured.items():
            predicted = compute_s + STEPS / every * average_s
            errors[rate, every] = predicted / seconds - 1
            print(
                f"{rate}, H = {every}: {seconds:.3f} s, predicted {predicted:.3f} s, "
                f"{errors[rate, every]:+.1%}"
            )
        assert measured[1] > measured[4] > measured[16]
    assert max(map(abs, errors.values())) < CLOSE_FRAC, errors
