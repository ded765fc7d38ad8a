"""Q6: counted runs of N workers."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import Spec, build_spec
from dpscale.studies.ledger import LEDGER
from dpscale.studies.ledger.config import LedgerConfig, LedgerProtocol


def runs(config: Config, study: LedgerConfig) -> Iterator[Spec]:
    """Q6: one counted run for each number of workers."""
    for workers in study.workers:
        yield build_spec(
            config,
            LEDGER,
            run=f"ledger-n{workers}",
            study="ledger",
            workers=workers,
            per_worker_batch=study.per_worker_batch,
            protocol=LedgerProtocol(steady_steps=study.steady_steps),
            data=config.data.model_copy(
                update={"loader": "resident", "augment": False, "loader_workers": 0}
            ),
        )


PLANS = {"ledger": runs}
