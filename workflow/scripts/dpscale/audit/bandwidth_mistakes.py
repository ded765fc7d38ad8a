"""What known mistakes would have printed as a bandwidth."""

from collections.abc import Iterator

from dpscale.audit.finding import Guess
from dpscale.audit.interval import Interval, reach
from dpscale.audit.scales import RATES, rate_name
from dpscale.audit.traffic import Traffic
from dpscale.derive.formulas import bandwidth, payload_bytes

IMAGENET_RESNET18 = 11_689_512  # parameters with a first layer and 1,000 classes for ImageNet


def named(flow: Traffic, scale: float) -> Iterator[Guess]:
    """Yield the mistakes with a code of their own, as rates in bytes per second.

    scale: bytes per second of the unit that the column states.
    """
    for unit, other in RATES.items():
        if other != scale:
            for rate in flow.rates(flow.moved_bytes):
                reason = _unit_reason(unit, rate_name(scale))
                yield Guess(rate.times(scale / other), "bandwidth_wrong_unit", reason)
    yield from _one_iteration(flow, scale)
    workers, batch = flow.row.workers, flow.row.per_worker_batch
    for number, words in (
        (batch, "b"),
        (2 * (workers - 1) / workers * batch, "2(N-1)/N*b"),
        (workers * batch, "N*b"),
    ):
        exact = Interval(number * scale, number * scale)
        reason = f"it is {words} = {number:g}, the batch size with a unit, and no rate"
        yield Guess(exact, "bandwidth_implausible", reason)


def _unit_reason(unit: str, stated: str) -> str:
    reason = f"it is the rate in {unit}, printed as {stated}"
    if ("bit" in unit) != ("bit" in stated):
        return f"{reason} (a byte has 8 bits)"
    if ("i" in unit) != ("i" in stated):
        return f"{reason}: powers of 1024 (GiB = 2^30) against powers of 1000 (GB = 10^9)"
    return reason


def _one_iteration(flow: Traffic, scale: float) -> Iterator[Guess]:
    payload = payload_bytes(flow.facts.parameters, flow.facts.itemsize)
    spans = [("communication of an epoch", comm) for comm in flow.comms]
    for name in ("nodata_s", "epoch_s"):
        if span := flow.row.span(name):
            spans.append(("time of an epoch", span))
    binary = {1e9: 2.0**30, 2.0**30: 1e9, 1e6: 2.0**20, 2.0**20: 1e6}.get(scale, scale)
    for words, seconds in spans:
        for moved in (flow.moved_bytes, payload):
            one = reach(lambda s, moved=moved: bandwidth(moved, 1, s), seconds)
            for factor, unit in ((1.0, ""), (scale / binary, ", and 2^30 is taken for 10^9")):
                reason = f"it is the bytes of one iteration over the {words}"
                mixed = unit if factor != 1 else ""
                yield Guess(one.times(factor), "bandwidth_one_iteration", reason + mixed)


def mistakes(flow: Traffic) -> Iterator[Guess]:
    """Yield other mistakes that explain a wrong rate, in bytes per second."""
    workers, facts = flow.row.workers, flow.facts
    whole = payload_bytes(facts.parameters, facts.itemsize)
    for moved, reason in (
        (whole, "the factor 2(N-1)/N is left out"),
        (flow.moved_bytes / 2, "the factor 2 of 2(N-1)/N is left out"),
        (whole * 2, "2 stands for 2(N-1)/N"),
        (whole * 2 * (workers - 1), "it is what all workers send together, 2(N-1) S"),
        (flow.moved_bytes * workers, "the iterations are D/b, those of one worker"),
        (
            flow.moved_bytes / facts.parameters * IMAGENET_RESNET18,
            f"it counts {IMAGENET_RESNET18:,} parameters (ResNet-18 for ImageNet), not "
            f"{facts.parameters:,}",
        ),
        (flow.moved_bytes * 2, "it counts twice the bytes"),
        (flow.moved_bytes / facts.itemsize, "it counts items, not bytes"),
    ):
        for rate in flow.rates(moved):
            yield Guess(rate, "bandwidth_mismatch", reason)
    for name in ("nodata_s", "epoch_s"):
        if seconds := flow.row.span(name):
            for count in flow.iterations:
                rate = reach(lambda s, n=count: bandwidth(flow.moved_bytes, n, s), seconds)
                yield Guess(rate, "bandwidth_mismatch", f"it is over {name}, not communication")
