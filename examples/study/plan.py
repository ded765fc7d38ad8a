"""S9: a run for each batch size."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import Spec, build_spec
from dpscale.studies.inference import KIND
from dpscale.studies.inference.config import InferenceConfig, InferenceProtocol


def runs(config: Config, study: InferenceConfig) -> Iterator[Spec]:
    """Yield a run of one worker for each batch size, which finds its repeats in its section."""
    repeats = InferenceProtocol(repeats=study.repeats)
    for batch in study.batches_per_pass:
        given = {"study": "inference", "workers": 1, "per_worker_batch": batch}
        yield build_spec(config, KIND, run=f"inference-b{batch}", protocol=repeats, **given)


PLANS = {"inference": runs}
