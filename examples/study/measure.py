"""S9: forward passes without gradients, one batch over and over."""

import torch

from dpscale.plan import Spec
from dpscale.studies.inference.config import InferenceProtocol
from dpscale.train.clock import make_clock
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place, build_replica, build_spec_loader


def measure(spec: "Spec[InferenceProtocol]", dataset: Dataset, place: Place) -> Measurement:
    """Return the seconds of each forward pass after the first, in rows of its table."""
    loader = build_spec_loader(spec, dataset, place, seed=0)
    replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=len(loader))
    images, _ = replica.copied(next(loader.batches(0)))
    clock = make_clock(place.device)
    with torch.no_grad():
        replica.module.eval()(images)
        clock.start()
        for _ in range(spec.protocol.repeats):
            replica.module(images)
            clock.mark()
    rows = [{"repeat": n, "forward_s": float(s)} for n, s in enumerate(clock.intervals())]
    return Measurement(fields={"inference_passes": rows})
