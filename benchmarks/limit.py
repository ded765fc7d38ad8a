"""The limit track against the lab's own settings: epoch time, loading, FLOP utilisation, DDP.

    python benchmarks/limit.py [--device cuda|cpu] [--rounds 5] [--batches 32 128 512]

The lab track trains as config/lab.yaml says (fp32, DataLoader), the limit track as
config/limit.yaml (resident images, batched augmentation, bf16, channels_last, fused, compiled,
CUDA graphs), both by the library's own loop, on random images of CIFAR-10's shape. All take turns
in one process, in random order, an epoch at a time. For each batch size: seconds of an epoch of
50,000 images with the spread over rounds; the share of the time in loading, which is waiting for a
batch and moving it to the device; and the model FLOP utilisation, whose peak is the fastest large
matrix product in the track's precision, measured on the same device. At one batch size DDP around
a single device stands beside none. `busy` is the share of the time in which the device worked: on a
CPU well below 100% it was somebody else's, and the seconds are too long.

On a GPU also the largest batch of each track, found by doubling up to a real out-of-memory error
and bisecting; as each fills the device, the tracks are measured there one after the other. On a
CPU a smaller network trains few images, and the network is compiled at one batch size alone: each
compilation takes as long as all the rest. Nothing loads beside it in processes of their own, which
would take the cores that train, and bf16 is used only where its measured peak is the higher one.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from limit_fit import fits, largest_batch, trains  # noqa: E402
from limit_table import lacking, rates, ratios_of, tell, tell_head  # noqa: E402
from limit_tracks import DDP_BATCH, TRACKS, Bench, Trainee, free  # noqa: E402
from ratios import Ratio, compare, interleaved, told  # noqa: E402

BATCHES = (32, 128, 512)


def at_batch(bench: Bench, batch: int) -> list[Ratio]:
    """Ratios of the tracks at a batch size, and of DDP around one device where it is asked for."""
    trainees = {name: Trainee(bench, name, batch) for name in TRACKS}
    if batch == DDP_BATCH:
        for name in bench.scale.ddp_tracks:
            trainees[f"{name}, DDP"] = Trainee(bench, name, batch, ddp=True)
    readings = interleaved({name: one.read for name, one in trainees.items()}, bench.rounds)
    for name, one in trainees.items():
        tell(bench, name, one.spec, readings[name], one.note)
    case = f"{bench.scale.network}, b = {batch}"
    if not trainees["limit"].spec.training.compile:
        case += " (not compiled)"
    specs = {name: one.spec for name, one in trainees.items()}
    found = ratios_of(bench, case, specs, readings)
    for name in TRACKS:
        if with_ddp := readings.get(f"{name}, DDP"):
            case = f"DDP at one device, {name} track, b = {batch}"
            rate, bare_rate = rates(with_ddp), rates(readings[name])
            found.append(compare("limit", case, "without DDP", "samples/s", rate, bare_rate))
    return found


def at_largest(bench: Bench, first: int) -> list[Ratio]:
    """Ratios of the tracks, each with the largest batch that fits the device."""
    specs, readings, sizes = {}, {}, []
    for name in TRACKS:
        batch = largest_batch(partial(trains, bench, name), first)
        trainee = Trainee(bench, name, batch)
        specs[name] = trainee.spec
        readings[name] = [trainee.read() for _ in range(bench.rounds)]
        tell(bench, name, trainee.spec, readings[name], "the largest that fits")
        sizes.append(f"{name} {batch:,}")
        del trainee
        free()
    case = f"{bench.scale.network}, the largest b ({', '.join(sizes)})"
    return ratios_of(bench, case, specs, readings)


def run(
    device: str = "auto",
    rounds: int = 5,
    batches: tuple[int, ...] = BATCHES,
    largest: bool = True,
    **scale: Any,
) -> list[Ratio]:
    """All ratios, printed with the table behind them; `largest` concerns GPUs alone."""
    kind = device if device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(kind, rounds, **scale)
    tell_head(bench)
    found = lacking(bench)
    try:
        fitting = [
            batch
            for batch in batches
            if fits(lambda batch=batch: found.extend(at_batch(bench, batch)), f"b = {batch:,}")
        ]
        if kind == "cuda" and largest and fitting:
            found += at_largest(bench, first=max(fitting))
    finally:  # minutes of a GPU are in these rows
        for one in found:
            print(told(one), flush=True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    return found


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--largest", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    run(arguments.device, arguments.rounds, tuple(arguments.batches), arguments.largest)


if __name__ == "__main__":
    main()
