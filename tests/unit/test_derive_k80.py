"""A published student lab (ResNet-18, CIFAR-10, NVIDIA K80) through the derived tables.

The paper's own communication seconds and bandwidths (GB = 1e9 bytes) must come out.
"""

import pytest

from builders import bandwidth_of, communication_of, run_row, table
from dpscale.derive.columns import as_table
from dpscale.derive.epoch_times import COLUMNS

TRAIN_SAMPLES = 50_000
PAYLOAD_BYTES = 4 * 11_173_962
ONE_WORKER_S = {32: 46.355837, 128: 18.280495, 512: 5.201220}
# workers, b, epoch without loading, printed communication, printed bandwidth in GB/s
PRINTED = [
    (2, 32, 40.171962, 16.9940435, 2.05475708297),
    (2, 128, 11.689425, 2.5491775, 3.42449978964),
    (2, 512, 3.216890, 0.61628, 3.54127093711),
    (4, 32, 27.699833, 16.11087375, 1.62554643801),
    (4, 128, 7.622034, 3.05191025, 2.14529354504),
    (4, 512, 2.277797, 0.977492, 1.67450049703),
]


def derived(one_worker_s: dict[int, float], epochs_s: dict[tuple[int, int], float]):
    """Return communication and bandwidth of single timings, indexed by (workers, b)."""
    times = {(1, batch): seconds for batch, seconds in one_worker_s.items()} | epochs_s
    runs = table(
        "runs",
        [
            run_row(
                f"n{n}-b{b}",
                workers=n,
                per_worker_batch=b,
                train_samples=TRAIN_SAMPLES,
                parameters=11_173_962,
                payload_bytes=PAYLOAD_BYTES,
            )
            for n, b in times
        ],
    )
    epoch_times = as_table(
        [
            {"run": f"n{n}-b{b}", "arm": "without_loading", "repeat": 0, "epoch_s": seconds}
            for (n, b), seconds in times.items()
        ],
        COLUMNS,
    )
    split = communication_of(epoch_times, runs)
    index = ["workers", "per_worker_batch"]
    return split.set_index(index), bandwidth_of(epoch_times, runs).set_index(index)


@pytest.fixture(scope="module")
def lab():
    return derived(ONE_WORKER_S, {(n, b): seconds for n, b, seconds, _, _ in PRINTED})


@pytest.mark.parametrize(
    ("workers", "batch", "printed_s"), [(n, b, c) for n, b, _, c, _ in PRINTED]
)
def test_subtraction_gives_the_printed_communication(lab, workers, batch, printed_s):
    assert lab[0].loc[(workers, batch), "subtraction_s"] == pytest.approx(printed_s, abs=1e-6)


@pytest.mark.parametrize(("workers", "batch", "printed"), [(n, b, r) for n, b, _, _, r in PRINTED])
def test_bandwidth_gives_the_printed_rate_in_units_of_1e9(lab, workers, batch, printed):
    rate = lab[1].loc[(workers, batch), "lab_bytes_per_s"] / 1e9
    assert f"{rate:.6g}" == f"{printed:.6g}"


def test_single_timings_have_no_interval_and_no_verdict_about_noise(lab):
    split, rates = lab[0].loc[[2, 4]], lab[1]
    nulls = [split["subtraction_s_low"], split["below_noise"], rates["lab_bytes_per_s_low"]]
    assert all(column.isna().all() for column in nulls)
    assert set(rates["note"]) == {"fewer than 2 repeats: no interval"}
