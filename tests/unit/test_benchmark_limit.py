"""The benchmark of the limit track: its counts against hand-worked ones, and its search."""

import itertools
from dataclasses import replace

import documents
import flops
import limit
import limit_tracks
import pytest
import torch
from flops import peak_flops_per_s, training_flops_per_sample
from limit_fit import fits, largest_batch
from limit_tracks import Bench, Trainee
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def test_an_mlp_takes_six_flops_a_weight_less_the_gradient_of_its_input() -> None:
    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    # 8 * 16 + 16 * 4 = 192 weights, six FLOPs each; two for each of the first 128 are not needed.
    assert training_flops_per_sample(network, (8,)) == 6 * 192 - 2 * 128


def test_a_convolution_multiplies_its_kernel_at_every_pixel() -> None:
    first = nn.Conv2d(3, 4, kernel_size=3, padding=1)
    second = nn.Conv2d(4, 5, kernel_size=1)
    # On 8 * 8 pixels 3 * 4 * 9 = 108 weights, forward and for their gradient, and 4 * 5 = 20
    # weights, which have a gradient by their input too.
    flops = 64 * (4 * 108 + 6 * 20)
    assert training_flops_per_sample(nn.Sequential(first, second), (3, 8, 8)) == flops


def test_the_peak_is_that_of_the_fastest_product(monkeypatch) -> None:
    seconds = itertools.chain([0.5, 0.25], itertools.repeat(1.0))
    monkeypatch.setitem(flops.MATRIX_SIZES, "cpu", (100,))
    monkeypatch.setattr(flops, "_products", lambda *_: [None, None, None])
    monkeypatch.setattr(flops, "_fastest_s", lambda *_: next(seconds))
    # 2 * 100^3 FLOPs in a quarter of a second.
    assert peak_flops_per_s(torch.device("cpu"), "fp32") == 8e6


def lacks(*_: object) -> float:
    raise RuntimeError("could not create a primitive descriptor for the inner product")


def test_a_way_to_multiply_that_the_processor_lacks_has_no_part_in_the_peak(monkeypatch) -> None:
    monkeypatch.setitem(flops.MATRIX_SIZES, "cpu", (100,))
    monkeypatch.setattr(flops, "_products", lambda *_: [lacks, None])
    monkeypatch.setattr(flops, "_fastest_s", lambda product, *_: lacks() if product else 0.25)
    assert peak_flops_per_s(torch.device("cpu"), "bf16") == 8e6


def test_a_precision_that_the_processor_lacks_is_a_row_and_trains_in_fp32(monkeypatch) -> None:
    of = {"fp32": 2e12}
    monkeypatch.setattr(limit_tracks, "peak_flops_per_s", lambda _, name, *__: of.get(name))
    assert Bench("cpu", 1, network="mlp").spec("limit", 8).training.precision == "fp32"
    (row,) = limit.run(device="cpu", rounds=1, batches=(), network="mlp")
    assert (row.case, row.ours, row.ratio) == ("bf16: not on this processor", None, None)
    assert documents.row(row) == "| limit | bf16: not on this processor | – | – | – | – |"
    assert documents.headline([row]) == []


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_way_to_multiply_is_a_whole_product(precision) -> None:
    with FlopCounterMode(display=False) as counter:
        for product in flops._products(torch.device("cpu"), flops.DTYPES[precision], 16):
            try:
                result = product()
            except RuntimeError:  # this processor lacks it
                continue
            assert isinstance(result, torch.Tensor)
            assert result.shape == (16, 16)
    assert counter.get_total_flops() >= 2 * 16**3


@pytest.mark.parametrize("true_limit", [32, 33, 63, 100, 777, 20_000])
def test_the_largest_batch_is_found_to_a_sixteenth_of_one_beyond(true_limit) -> None:
    tried: list[int] = []

    def fits(batch: int) -> bool:
        tried.append(batch)
        return batch <= true_limit

    found = largest_batch(fits, first=32)
    assert found <= true_limit
    beyond = min(batch for batch in tried if batch > true_limit)
    assert beyond - found <= max(1, beyond / 16)
    assert len(tried) == len(set(tried))  # each costs a compilation


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(
        limit_tracks, "peak_flops_per_s", lambda _, name, *__: {"fp32": 2e12}.get(name, 1e12)
    )
    monkeypatch.setitem(
        limit_tracks.SCALES,
        "cpu",
        replace(limit_tracks.SCALES["cpu"], network="mlp", compiled=(8,)),
    )
    return Bench("cpu", rounds=2)


@pytest.mark.parametrize("ooms", [0, 1])
def test_a_batch_does_not_fit_where_an_allocation_failed_behind_other_words(
    ooms, monkeypatch
) -> None:
    counts = iter([4, 4 + ooms])
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda _=None: {"num_ooms": next(counts)})

    def work() -> None:
        raise RuntimeError("FIND was unable to find an engine to execute this computation")

    if ooms:
        assert not fits(work, "b = 8")
    else:
        with pytest.raises(RuntimeError, match="unable to find an engine"):
            fits(work, "b = 8")


def test_bf16_is_left_where_its_peak_is_lower(bench) -> None:
    assert bench.spec("limit", 8).training.precision == "fp32"
    bench.peaks["bf16"] = 4e12
    assert bench.spec("limit", 8).training.precision == "bf16"


def test_the_tracks_are_those_of_the_configurations(bench) -> None:
    lab, track = bench.spec("lab", 8), bench.spec("limit", 8)
    assert (lab.data.loader, track.data.loader) == ("dataloader", "resident")
    assert not lab.training.fused
    assert track.training.fused
    assert track.training.channels_last


def test_a_failed_compilation_is_said_and_measured_without(bench, monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no C++ compiler\nand more")

    monkeypatch.setattr(torch, "compile", fails)
    trainee = Trainee(bench, "limit", 8)
    assert trainee.note == "compilation failed: RuntimeError: no C++ compiler"
    reading = trainee.read()
    assert reading.samples_per_s > 0
    assert 0 < reading.loading_frac < 1


def test_every_batch_size_has_rate_utilisation_and_loading(bench) -> None:
    found = limit.at_batch(bench, 16)
    case = "mlp, b = 16 (not compiled)"
    assert [one.case for one in found] == [case, f"MFU, {case}", f"loading, {case}"]
    rate, used, _ = found
    # Both in fp32, so that utilisation is the rate in another unit.
    assert used.ratio == pytest.approx(rate.ratio)
    assert used.ours == pytest.approx(rate.ours * bench.sample_flops / 2e12)
