"""Measures the all-reduce of a payload in DDP-sized buckets alone, on one or more nodes.

Start it with torchrun on every node, for example on each of two:
torchrun --nnodes 2 --nproc-per-node 1 --node-rank RANK --master-addr HEAD --master-port 29500
workflow/scripts/measure_link.py --output link.json. Rank 0 writes the file.
"""

import argparse
import json
import os
import sys
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from dpscale.config.sections import HardwareConfig
from dpscale.derive.formulas import bandwidth, ring_allreduce_bytes
from dpscale.derive.statistics import median
from dpscale.records.storage import write_text
from dpscale.train.communication.link import ddp_bucket_bytes, payload_times, tcp_rate
from dpscale.train.worker import Place, join_launched

RESNET18_BYTES = 44_695_848  # the gradient of ResNet-18 with the CIFAR stem
NARROW_FRAC = 0.02  # half the interval's width, as a share of the median


def enough(times: list[float]) -> bool:
    """Whether the 95% interval of the median is narrow."""
    value, low, high, _ = median(times)
    if not value or low is None or high is None:
        return False
    return (high - low) / 2 <= NARROW_FRAC * value


def result(
    times: list[float], interface_bytes: float, workers: int, payload: int
) -> dict[str, Any]:
    """What the file holds: seconds of one all-reduce, bytes per second, bytes of all workers."""
    seconds, fastest_s, slowest_s, _ = median(times)
    moved = ring_allreduce_bytes(float(payload), workers)
    rates = [bandwidth(moved, 1.0, s) if s else None for s in (seconds, slowest_s, fastest_s)]
    names = ("busbw_bytes_per_s", "busbw_bytes_per_s_low", "busbw_bytes_per_s_high")
    return {
        "workers": workers,
        "payload_bytes": payload,
        "allreduce_s": seconds,
        **dict(zip(names, rates, strict=True)),
        "interface_bytes": round(interface_bytes),
    }


def measure(given: argparse.Namespace, place: Place) -> None:
    """Measures on all ranks; rank 0 writes and says what came out."""
    times, interface_bytes = payload_times(
        given.payload_bytes, place, repeats=given.repeats, budget_s=given.budget_s, enough=enough
    )
    found = result(times, interface_bytes, place.workers, given.payload_bytes)
    if place.leads:
        write_text(given.output, json.dumps(found, indent=1) + "\n")
    tcp = tcp_rate(given.payload_bytes, place)  # for the reader's eye; the file has what is asked
    if place.leads:
        said = speed(found["busbw_bytes_per_s"], tcp)
        print(f"{place.workers} workers, {len(times)} repeats, {said}; {given.output}")


def speed(rate: float | None, tcp: float | None) -> str:
    """The bus bandwidth in words, and its share of raw TCP where that is known."""
    if rate is None:
        return "no bus bandwidth: one worker"
    share = f", {rate / tcp:.1%} of raw TCP ({tcp / 1e6:.1f} MB/s)" if tcp else ""
    return f"bus bandwidth {rate / 1e6:.1f} MB/s{share}"


def main() -> None:
    """Read the command line, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--payload-bytes",
        type=int,
        default=RESNET18_BYTES,
        help="of one gradient, a multiple of 4 (default: %(default)s)",
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON file that rank 0 writes")
    parser.add_argument(
        "--backend",
        choices=["gloo", "nccl"],
        default="gloo",
        help="nccl takes one GPU a worker (default: %(default)s)",
    )
    parser.add_argument("--repeats", type=int, default=10, help="at least (default: %(default)s)")
    parser.add_argument(
        "--budget-s",
        type=float,
        default=30.0,
        help="no repeat starts after it (default: %(default)s)",
    )
    given = parser.parse_args()
    ddp_bucket_bytes(given.payload_bytes)  # before anybody waits for anybody
    device = "cuda" if given.backend == "nccl" else "cpu"
    with join_launched(HardwareConfig(device=device, backend=given.backend)) as place:
        measure(given, place)


if __name__ == "__main__":
    try:
        main()
        status = 0
    except (OSError, ValueError, RuntimeError) as error:
        rank = os.environ.get("RANK", "0")
        print(f"measure_link.py: rank {rank}: {' '.join(str(error).split())}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # The backend's threads sometimes abort at exit; a fork of torchrun has to tell it first.
    if status or parent_process() is None:
        os._exit(status)
