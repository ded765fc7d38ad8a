"""Where a number comes from: what changes a timing is of the fingerprint, and nothing else."""

from typing import Any

import pytest

from dpscale import provenance

SETTINGS = {
    "NCCL_ALGO": "Ring",
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "CUDA_LAUNCH_BLOCKING": "1",
}
# Of an image, of a job, of a user's folders, and those that torchrun sets for its workers.
UNTIMED = {
    "CUDA_VERSION": "13.0",
    "CUDA_VISIBLE_DEVICES": "3",
    "NCCL_VERSION": "2.27",
    "TORCH_HOME": "/scratch/7",
    "TORCHINDUCTOR_CACHE_DIR": "/scratch/7/c",
    "CUDA_MPS_PIPE_DIRECTORY": "/run/7",
    "NCCL_DEBUG": "INFO",
    "CUDA_HOME": "/opt/cuda",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "TORCHELASTIC_RUN_ID": "8",
}


def of_gpu(environment: dict[str, str], **given: Any) -> dict[str, Any]:
    return provenance.provenance(
        device="A100", devices=1, backend="nccl", environment=environment, **given
    )


def test_settings_and_versions_of_libraries_are_of_the_fingerprint() -> None:
    plain = of_gpu({}, libraries={"nccl": "2.27.3", "cudnn": "9.10.2"})
    assert "| nccl 2.27.3 | cudnn 9.10.2 | nccl |" in plain["fingerprint"]
    assert plain["versions"]["cudnn"] == "9.10.2"
    for name, value in SETTINGS.items():
        facts = of_gpu({name: value})
        assert f"| {name}={value} |" in facts["fingerprint"]
        assert facts["variables"] == {name: value}


@pytest.mark.parametrize("name", UNTIMED)
def test_what_differs_from_job_to_job_is_no_part_of_the_fingerprint(name) -> None:
    facts = of_gpu({name: UNTIMED[name]})
    assert facts["fingerprint"] == of_gpu({})["fingerprint"]


def test_the_fingerprint_of_a_cpu_is_what_it_was() -> None:
    facts = provenance.provenance(device="CPU core", devices=2, backend="gloo", environment={})
    torch, cpu, host = f"torch {facts['versions']['torch']}", facts["cpu"], facts["host"]
    assert facts["fingerprint"] == f"CPU core | {cpu} | {torch} | gloo | {host}"


def test_links_are_what_nvidia_smi_and_the_kernel_say(monkeypatch, tmp_path) -> None:
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\nprintf '\\033[4mGPU0\\033[0m NV18\\n'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(smi.parent), prepend=":")
    for port, state in ((1, "4: ACTIVE"), (2, "1: DOWN")):
        folder = tmp_path / f"mlx5_0/ports/{port}"
        folder.mkdir(parents=True)
        (folder / "state").write_text(f"{state}\n")
        (folder / "rate").write_text("200 Gb/sec (4X HDR)\n")
    monkeypatch.setattr(provenance, "INFINIBAND", tmp_path)
    facts = of_gpu({})
    assert facts["topology"] == "GPU0 NV18"
    assert facts["infiniband"] == {"mlx5_0:1": "200 Gb/sec (4X HDR)"}
    smi.write_text("#!/bin/sh\necho no devices were found; exit 6\n")
    assert of_gpu({})["topology"] is None
