"""Q3: computation, communication, bandwidth, and links that were not measured."""

from dpscale.studies.study import Study

STUDY = Study(
    "communication",
    derived=(
        "communication",
        "ddp_at_one",
        "link",
        "message_times",
        "bandwidth",
        "compression",
        "prediction",
        "what_if",
        "phases",
    ),
    figures=(
        "communication",
        "step_split",
        "split_brief",
        "link_fit",
        "compression",
        "bandwidth",
    ),
    questions=("Q3.1", "Q3.2"),
    runs=("scaling",),
)
