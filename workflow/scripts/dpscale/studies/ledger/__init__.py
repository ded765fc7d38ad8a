"""Q6: the ledger of collectives."""

from dpscale.plan.spec import Kind
from dpscale.studies.study import Study

LEDGER = Kind("ledger", 2, "dpscale.studies.ledger.measure:measure_ledger", timed=True)
STUDY = Study("ledger", kinds=(LEDGER,), questions=("Q6",))
