"""What the limit benchmark says: a row for each track and batch size, and the ratios of tracks."""

import statistics

import torch
from limit_tracks import EPOCH_IMAGES, PRECISIONS, TRACKS, Bench, Reading
from ratios import Ratio, compare, spread_frac

from dpscale.derive.formulas import epoch_seconds
from dpscale.plan import Spec
from dpscale.train.machine.device import device_model

HEAD = (
    f"{'track':10} {'b':>6} {'precision':9} {'epoch s':>8} {'samples/s':>10} {'spread':>6} "
    f"{'loading':>7} {'MFU':>6} {'busy':>5}"
)


def lacking(bench: Bench) -> list[Ratio]:
    """A row for each precision in which this processor multiplies no matrices."""
    cases = [f"{name}: not on this processor" for name in PRECISIONS if name not in bench.peaks]
    return [Ratio("limit", case, None, None, "", "samples/s", None, None, None) for case in cases]


def rates(readings: list[Reading]) -> list[float]:
    """Samples per second of each reading."""
    return [one.samples_per_s for one in readings]


def ratios_of(
    bench: Bench, case: str, specs: dict[str, Spec], readings: dict[str, list[Reading]]
) -> list[Ratio]:
    """The limit track over the lab track: rate, FLOP utilisation, share of loading."""
    used = {name: [bench.mfu(specs[name], one) for one in readings[name]] for name in TRACKS}
    loading = {name: [one.loading_frac for one in readings[name]] for name in TRACKS}
    rate = {name: rates(readings[name]) for name in TRACKS}
    frac = "fraction"
    return [
        compare("limit", case, "lab track", "samples/s", rate["limit"], rate["lab"]),
        compare("limit", f"MFU, {case}", "lab track", frac, used["limit"], used["lab"]),
        compare(
            "limit",
            f"loading, {case}",
            "lab track",
            frac,
            loading["limit"],
            loading["lab"],
            less_is_better=True,
        ),
    ]


def tell_head(bench: Bench) -> None:
    """Print what measures, its peaks, and the head of the table."""
    print(
        f"{device_model(bench.hardware)}, {bench.scale.threads} threads, torch "
        f"{torch.__version__}; {bench.scale.network}, {bench.sample_flops / 1e9:.3f} GFLOP a "
        "sample forward and backward; peak "
        + ", ".join(f"{name} {peak / 1e12:.3g} TFLOP/s" for name, peak in bench.peaks.items())
        + f"; {bench.rounds} rounds\n{HEAD}",
        flush=True,
    )


def tell(bench: Bench, name: str, spec: Spec, readings: list[Reading], note: str) -> None:
    """Print a row of the table: medians over the rounds."""
    rate = statistics.median(rates(readings))
    loading = statistics.median(one.loading_frac for one in readings)
    busy = statistics.median(one.busy_frac for one in readings)
    used = statistics.median(bench.mfu(spec, one) for one in readings)
    if used > 1:
        note = " ".join([note, "(no matrix product reached the peak of this device)"]).strip()
    epoch_s = epoch_seconds(1.0, rate, EPOCH_IMAGES)
    print(
        f"{name:10} {spec.per_worker_batch:6} {spec.training.precision:9} {epoch_s:8,.2f} "
        f"{rate:10,.0f} {spread_frac(rates(readings)):6.1%} {loading:7.1%} {used:6.1%} "
        f"{busy:5.0%}  {note}",
        flush=True,
    )
