"""E1: ways of sharing a training, at the same global batch."""

from dpscale.plan import ways
from dpscale.plan.spec import Kind
from dpscale.records.schemas import FLOAT, INT, TEXT, typed
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
        "sharing_losses": typed("way", TEXT)
        | typed("step", INT)
        | typed("loss parameter_gap_frac", FLOAT),
        "sharing_memory": typed("way", TEXT)
        | typed("rank parameter_bytes gradient_bytes state_bytes activation_bytes", INT)
        | typed("peak_bytes", INT),
        "sharing_batches": typed("way status", TEXT) | typed("per_worker_batch", INT)
        | typed("peak_bytes budget_bytes", INT),
    },
    questions=("E1",),
)  # fmt: skip
