"""Commands that run as if this machine had GPUs: torch's own CUDA build on doubles of them."""

import os
import shutil
import subprocess
from pathlib import Path

import torch

REHEARSE = Path(__file__).resolve().parents[3] / "shared/rehearsal/rehearse"
ENTRY_POINTS = Path(__file__).with_name("driver_entry.c")
TOOLS = ("cmake", "g++", "gcc", "nm", "xz")


def missing() -> str | None:
    """Why nothing can be rehearsed here, or None."""
    if not REHEARSE.exists():
        return "no ../shared/rehearsal"
    if absent := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"no {', '.join(absent)}"
    if torch.version.cuda is None:
        return "a torch without CUDA"
    return None


class Doubles:
    """Four GPUs of 1 GiB, whose kernels and matrix products do nothing."""

    def __init__(self, folder: Path) -> None:
        self._entry_points = folder / "driver_entry.so"
        compiler = ["gcc", "-shared", "-fPIC", str(ENTRY_POINTS), "-o", str(self._entry_points)]
        subprocess.run(compiler, check=True)

    def start(
        self, *words: str, folder: Path, gpus: int = 4, nodes: int = 1, **environment: str
    ) -> "subprocess.Popen[str]":
        """Start a command in a folder; its output and errors come through one pipe."""
        rehearse = [str(REHEARSE), "--gpus", str(gpus), "--nodes", str(nodes)]
        # The rehearsal sets LD_PRELOAD and the profile itself: this comes on top.
        on_top = 'LD_PRELOAD="$ENTRY_POINTS:$LD_PRELOAD" FAKEGPU_PROFILE=a100-1g exec "$@"'
        return subprocess.Popen(
            [*rehearse, "sh", "-c", on_top, "sh", *words],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ
            | {
                "ENTRY_POINTS": str(self._entry_points),
                "FAKEGPU_CPU_GEMM_MODE": "skip",
                "OMP_NUM_THREADS": "1",
                # Else each process writes it where it is: git in the repository.
                "FAKEGPU_REPORT_PATH": str(folder / "fake_gpu_report.json"),
                **environment,
            },
        )
