"""E1: ways of sharing a training, at the same global batch."""

from dpscale.plan import ways
from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

WAYS = ("ddp", *ways.WAYS)  # DDP is what other timed runs have too
AGAIN = "ddp_again"  # DDP a second time from the same start: what two runs of one way differ by
SHARING = Kind(
    "sharing", 2, __name__, "measure:measure_sharing", "config:SharingProtocol", timed=True
)
STUDY = Study(
    "strategies",
    kinds=(SHARING,),
    tidy={
        "runs": columns("micro_batches"),
        "sharing_losses": columns("way step loss parameter_gap_frac"),
        "sharing_memory": columns(
            "way rank parameter_bytes gradient_bytes state_bytes activation_bytes peak_bytes"
        ),
        "sharing_batches": columns("way status per_worker_batch peak_bytes budget_bytes"),
    },
    questions=("E1",),
)
