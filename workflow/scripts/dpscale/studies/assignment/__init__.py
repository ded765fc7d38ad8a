"""H1 to H6: the cluster-training assignment."""

from dpscale.studies.study import Study

STUDY = Study(
    "assignment",
    derived=("assignment", "assignment_utilisation", "assignment_split", "assignment_published"),
    figures=(
        "assignment_utilisation",
        "assignment_time",
        "assignment_split",
        "assignment_accuracy",
    ),
    questions=("H1", "H2", "H3", "H4", "H5", "H6"),
)
