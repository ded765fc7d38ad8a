"""Q6: the ledger of collectives."""

from dpscale.plan.spec import Kind
from dpscale.studies.study import Study

LEDGER = Kind("ledger", 2, __name__, "measure:measure_ledger", "config:LedgerProtocol", timed=True)
STUDY = Study("ledger", kinds=(LEDGER,), questions=("Q6",))
