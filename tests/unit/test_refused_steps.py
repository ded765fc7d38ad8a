"""A step that this machine cannot make is refused by key and value, with what to set instead."""

from pathlib import Path
from typing import Any

import pytest

from dpscale.plan import Spec, check_spec
from dpscale.provenance import cpu_model
from dpscale.studies import load_config, planned_runs
from dpscale.train import tries

STUDIES = ("sweep", "large_batch", "replicas", "ledger", "data_parallel", "communication")
# On a processor that lacks what the autocast to bfloat16 takes for granted.
CRASHES = """\
import os, signal
import torch
from torch import nn
from torch.utils.data import TensorDataset

class Network(nn.Linear):
    def forward(self, x):
        if torch.is_autocast_enabled("cpu"):
            os.kill(os.getpid(), signal.SIGILL)
        return super().forward(x)

def model():
    return Network(4, 3)

def dataset(split):
    return TensorDataset(torch.randn(8, 4), torch.randint(0, 3, (8,)))
"""


def check(*, own: Path | None = None, **training: Any) -> Spec:
    scaling = {"workers": [1, 2], "per_worker_batches": [4]}
    files = {"own": {"file": str(own)}} if own else {"model": {"name": "softmax"}}
    raw = {"name": "test", "training": training, "scaling": scaling} | files
    config = load_config(raw | dict.fromkeys(STUDIES))
    return check_spec(config, planned_runs(config))


def test_an_instruction_that_ends_the_process_is_a_line_that_names_the_setting(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(CRASHES)
    assert tries.refusal(check(own=tmp_path / "mine.py", precision="bf16")) == (
        f"training.precision = bf16: {cpu_model()} does not train {tmp_path / 'mine.py'} so: "
        "ended by SIGILL; set it to fp32"
    )


def test_a_compiler_that_is_missing_is_named_by_what_gets_one(monkeypatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    line = tries.refusal(check(compile=True))
    assert line is not None
    assert line.startswith(f"training.compile = true: {cpu_model()} does not train softmax so: ")
    assert "/nowhere/g++" in line
    assert line.endswith("(gcc and python3-dev), or set it to false")
    assert "\n" not in line


@pytest.mark.parametrize("training", [{}, {"fused": True, "channels_last": True}])
def test_the_network_is_named_where_no_setting_is_at_fault(monkeypatch, training) -> None:
    monkeypatch.setattr(tries, "_step_error", lambda *_: "RuntimeError: no kernel image")
    line = tries.refusal(check(**training))
    assert line is not None
    assert line.startswith(f"model.name = softmax: {cpu_model()} does not train it: RuntimeError: ")
    assert "install a build of torch for this machine" in line


def test_a_step_is_of_two_samples_and_a_machine_that_makes_it_refuses_nothing() -> None:
    spec = check()
    epoch = tries.steps(spec)
    assert epoch.samples.tolist() == [2]
    assert epoch.losses[0] > 0
    assert tries.refusal(spec) is None
