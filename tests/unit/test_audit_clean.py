"""No false alarm: consistent tables of any precision and convention have no finding."""

import math
import random
from collections.abc import Callable

import pytest

from audit_tables import audited
from dpscale.audit import Given

SAMPLES, PARAMETERS = 50_000, 11_173_962
ROUNDINGS: dict[str, Callable[[float, int], str]] = {
    "decimals": lambda number, digits: f"{number:.{digits}f}",
    "significant": lambda number, digits: f"{number:.{digits}g}",
    "significant, as a float": lambda number, digits: repr(float(f"{number:.{digits}g}")),
    "decimals, as a float": lambda number, digits: repr(round(number, digits)),
    "cut": lambda number, digits: f"{math.trunc(number * 10**digits) / 10**digits:.{digits}f}",
    "whole": lambda number, _: repr(number),
}
ITERATIONS = {
    "up": lambda batch: math.ceil(SAMPLES / batch),
    "down": lambda batch: SAMPLES // batch,
}
# One worker's column, N workers' column, of computation and communication.
SPLITS = [
    ("sweep_compute_s", "nodata_s"),
    ("sweep_compute_s", "epoch_s"),
    ("epoch_s", "epoch_s"),
    ("nodata_s", "nodata_s"),
]


def measured(draw: random.Random) -> dict[tuple[int, int], dict[str, float]]:
    """Times that N workers may take: a share of one worker's and communication, and loading."""
    times = {}
    for batch in draw.sample([32, 64, 128, 256, 512], 3):
        one, loading = draw.uniform(5, 80), draw.uniform(0, 20)
        times[1, batch] = {"nodata_s": one, "sweep_compute_s": one, "epoch_s": one + loading}
        for workers in draw.choice([(2, 4), (2, 4, 8), (3, 6)]):
            bare = one / workers * draw.uniform(1.02, 4)
            times[workers, batch] = {"nodata_s": bare, "epoch_s": bare + loading / workers}
    return times


def consistent(seed: int) -> tuple[str, Given]:
    """A table in which every printed number follows from the times, before or after rounding."""
    draw = random.Random(seed)
    rounding = ROUNDINGS[draw.choice(list(ROUNDINGS))]
    digits = draw.randint(3, 7)
    base_column, total_column = split = draw.choice(SPLITS)
    iterations = ITERATIONS[draw.choice(list(ITERATIONS))]
    from_rounded = draw.random() < 0.5
    optional = [
        "printed_speedup",
        "printed_compute_s",
        "printed_comm_s",
        "printed_bandwidth_gb_per_s",
        "steps",
    ]
    columns = sorted({*split, "epoch_s"}) + [name for name in optional if draw.random() < 0.7]
    times = measured(draw)

    def used(place: tuple[int, int], column: str) -> float:
        exact = times[place][column]
        return float(rounding(exact, digits)) if from_rounded else exact

    lines = [",".join(["workers", "per_worker_batch", *columns])]
    for (workers, batch), known in times.items():
        compute = used((1, batch), base_column) / workers
        comm = used((workers, batch), total_column) - compute if workers > 1 else 0.0
        moved = 2 * (workers - 1) / workers * PARAMETERS * 4 * iterations(workers * batch)
        ratio = used((1, batch), "epoch_s") / used((workers, batch), "epoch_s")
        cells = dict(known) | {
            "printed_speedup": ratio,
            "printed_compute_s": compute,
            "printed_comm_s": comm,
            "printed_bandwidth_gb_per_s": moved / comm / 1e9 if comm > 0 else 0.0,
        }
        texts = {name: rounding(value, digits) for name, value in cells.items()}
        texts["steps"] = str(math.ceil(SAMPLES / (workers * batch)))
        row = [str(workers), str(batch), *(texts.get(name, "") for name in columns)]
        lines.append(",".join(row))
    return "\n".join(lines) + "\n", Given(PARAMETERS, SAMPLES)


@pytest.mark.parametrize("block", range(8))
def test_consistent_tables_have_no_finding(tmp_path, block):
    for seed in range(block * 50, block * 50 + 50):
        text, given = consistent(seed)
        assert audited(tmp_path, text, given).findings == [], f"seed {seed}:\n{text}"


def test_a_fixed_global_batch_is_compared_with_the_same_global_batch(tmp_path):
    # 60 / 33 = 1.818 and 60 / 20 = 3; no row has one worker with b = 64 or 32.
    found = audited(tmp_path, "N,b,time,speedup\n1,128,60,1\n2,64,33,1.82\n4,32,20,3.00\n")
    assert found.findings == []
    assert any("same N*b" in line for line in found.assumptions)


def test_noise_of_a_few_percent_is_no_superlinear_speedup(tmp_path):
    assert audited(tmp_path, "N,b,time,speedup\n1,32,20.00,1\n2,32,9.80,2.04\n").findings == []


def test_zero_communication_within_rounding_is_no_finding(tmp_path):
    text = "N,b,sweep,nodata,comm\n1,32,20.01,,\n2,32,,10.00,0.00\n"
    assert audited(tmp_path, text).findings == []


def test_a_table_without_one_worker_says_that_speedups_are_unknown(tmp_path):
    found = audited(tmp_path, "N,b,time,speedup\n2,32,6.1,1.6\n")
    assert found.findings == []
    assert found.derived[0].speedup_ratio is None
    assert any("speed-ups of (N, b) = (2, 32) are unknown" in line for line in found.assumptions)
