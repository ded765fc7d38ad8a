"""Q2, Q3: speed-up of N workers, computation, communication, bandwidth, links not measured."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

LOOKS = Kind(  # what it launches are timed runs
    "looks", TIMED.version, __name__, "measure:measure_looks", "config:LooksProtocol", True
)
# As runs name them: the launches of the plan, those that a look adds, and the looks themselves.
PLANNED, AGAIN, LOOKED = "scaling", "scaling_again", "scaling_looks"
# One worker with the least batches of strong scaling: what several gain with a step as short.
LEAST = "scaling_least"
STUDY = Study(
    "scaling",
    kinds=(LOOKS,),
    tidy={"runs": columns("first_launches repeat_budget_s looks_ended")},
    questions=("Q2", "Q3.1", "Q3.2"),
)
