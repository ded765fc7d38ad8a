"""Q4: what a large batch does to accuracy, and remedies."""

from dpscale.studies.study import Study

STUDY = Study("large_batch", questions=("Q4.1", "Q4.2"))
