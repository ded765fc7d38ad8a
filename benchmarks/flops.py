"""Arithmetic of a training step: what a network asks for, and what a device can give."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dpscale.train.clock import make_clock

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
# Large enough to keep a device busy; which of them a device likes best is its own affair.
MATRIX_SIZES = {"cuda": (4096, 8192, 16384), "cpu": (512, 1024, 2048)}
SLOW_S = 1.0  # of a product: larger ones are not tried
COUNTED_SAMPLES = 2  # batch norm in training needs more than one


def training_flops_per_sample(network: nn.Module, sample_shape: tuple[int, ...]) -> float:
    """Return the FLOPs of forward and backward pass per sample, counted on the network itself.

    A multiplication and its addition are two; matrix products and convolutions alone count. The
    first layer has no gradient by its input. The network is on the CPU, and is run once.
    """
    samples = torch.randn(COUNTED_SAMPLES, *sample_shape)
    with FlopCounterMode(display=False) as counter:
        network(samples).sum().backward()
    return counter.get_total_flops() / COUNTED_SAMPLES


def peak_flops_per_s(device: torch.device, precision: str, repeats: int = 8) -> float | None:
    """Return the FLOP/s of the fastest large matrix product in a precision, measured here.

    None where none can be made. A processor may lack one of the ways to make it, as without AVX-512
    oneDNN's in bf16, and torch's own is then so slow that larger matrices would take minutes.
    """
    rates: list[float] = []
    for size in MATRIX_SIZES[device.type]:
        seconds = []
        for product in _products(device, DTYPES[precision], size):
            with suppress(RuntimeError):
                seconds.append(_fastest_s(product, device, repeats))
        rates += [2 * size**3 / one for one in seconds]
        if min(seconds, default=0.0) > SLOW_S:
            break
    return max(rates, default=None)


def _products(
    device: torch.device, dtype: torch.dtype, size: int
) -> Iterator[Callable[[], object]]:
    """The ways in which torch multiplies two square matrices on a device.

    Random values cost a device as much power as those of a training; zeros would be cheaper.
    """
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    yield lambda: torch.mm(left, right, out=out)
    # The BLAS of torch.mm may know a processor worse than oneDNN, which convolves: MKL multiplies
    # at half the rate of an AVX-512 processor that is not Intel's, and a peak must be above all.
    onednn = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if device.type == "cpu" and onednn is not None and torch.backends.mkldnn.is_available():
        yield lambda: onednn(left, right, None, "none", [], "")


@torch.no_grad()
def _fastest_s(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    work()  # chooses its kernel
    clock = make_clock(device)
    clock.start()
    for _ in range(repeats):
        work()
        clock.mark()
    return float(clock.intervals().min())
