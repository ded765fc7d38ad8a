"""What Goyal et al. published on rate scaling and warm-up.

Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour (2017, arXiv:1706.02677): top-1
validation error of ResNet-50 on ImageNet after 90 epochs, n = 32 a worker, reference kn = 256.
"""

from typing import NamedTuple

REFERENCE_BATCH = 256
# Figure 1: error in percent against the minibatch.
CURVE_PERCENT = {
    128: 23.49,
    256: 23.60,
    512: 23.48,
    1024: 23.53,
    2048: 23.49,
    4096: 23.56,
    8192: 23.74,
    16384: 24.79,
    32768: 27.55,
    65536: 33.96,
}
REFERENCE_PERCENT = CURVE_PERCENT[REFERENCE_BATCH]
FLAT_UP_TO = 8192  # section 5.2: "no loss of accuracy up to 8k"
LARGE_BATCH, IMAGES = 8192, 1_281_167  # of tables 1 and 2; for training, section 5
EFFICIENCY_FRAC, EFFICIENT_WORKERS = 0.90, 352  # section 5.5: GPUs, against 8


class Way(NamedTuple):
    """How one side of a comparison was trained, at the large batch unless told otherwise."""

    rule: str = "linear"
    warmup: str = "gradual"
    zero_gamma: bool = True
    at_reference: bool = False


class Claim(NamedTuple):
    """A published comparison of two errors in percent; same: published as no difference."""

    id: str
    arm: Way
    other: Way
    percent: float
    other_percent: float
    source: str
    same: bool = False


_NONE, _CONSTANT = Way(warmup="none"), Way(warmup="constant")
_REFERENCE = Way(warmup="none", at_reference=True)
_UNIT, _UNIT_NONE, _UNIT_CONSTANT, _UNIT_REFERENCE = (
    way._replace(zero_gamma=False) for way in (Way(), _NONE, _CONSTANT, _REFERENCE)
)
# Table 1: warm-up at 8k, zero gamma. Table 2: (a) rules at 8k, (b) zero gamma at 256 and 8k.
CLAIMS = (
    Claim("gradual_none", Way(), _NONE, 23.74, 24.84, "Table 1"),
    Claim("constant_none", _CONSTANT, _NONE, 25.88, 24.84, "Table 1"),
    Claim("gradual_none_unit", _UNIT, _UNIT_NONE, 23.74, 24.84, "Table 1"),
    Claim("constant_none_unit", _UNIT_CONSTANT, _UNIT_NONE, 25.88, 24.84, "Table 1"),
    Claim("gradual_reference", Way(), _REFERENCE, 23.74, 23.60, "Table 1", same=True),
    Claim("sqrt_linear", Way("sqrt"), Way(), 26.22, 23.74, "Table 2a"),
    Claim("fixed_linear", Way("fixed"), Way(), 41.67, 23.74, "Table 2a"),
    Claim("gamma_reference", _REFERENCE, _UNIT_REFERENCE, 23.60, 23.84, "Table 2b"),
    Claim("gamma_large", Way(), _UNIT, 23.74, 24.11, "Table 2b"),
)


def updates_per_epoch(claim: str) -> int:
    """Return the updates of an epoch where a published error was measured, by the claim's id.

    Of a comparison at the large batch, also with the reference, it is the large one.
    """
    batches = {one.id: REFERENCE_BATCH if one.arm.at_reference else LARGE_BATCH for one in CLAIMS}
    batches |= {f"error_{batch}": batch for batch in CURVE_PERCENT}
    return IMAGES // batches[claim]
