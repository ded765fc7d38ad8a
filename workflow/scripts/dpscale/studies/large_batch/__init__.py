"""Q4: what a large batch does to accuracy, and remedies."""

from dpscale.studies.study import Study

STUDY = Study(
    "large_batch",
    derived=("large_batch",),
    figures=("accuracy",),
    questions=("Q4.1", "Q4.2"),
)
