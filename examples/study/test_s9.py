"""S9: passes of a made-up lab in, sentences out."""

from collections.abc import Callable, Sequence

from builders import Tables, empty_lab, run_row, table
from cases import Case, says


def passes(seconds: dict[int, Sequence[float]]) -> Callable[[], Tables]:
    """A lab whose passes took so many seconds, by batch size."""

    def lab() -> Tables:
        runs = [
            run_row(f"inference-b{batch}", study="inference", per_worker_batch=batch)
            for batch in seconds
        ]
        rows = [
            {"run": f"inference-b{batch}", "repeat": repeat, "forward_s": forward_s}
            for batch, times in seconds.items()
            for repeat, forward_s in enumerate(times)
        ]
        return empty_lab() | {
            "runs": table("runs", runs),
            "inference_passes": table("inference_passes", rows),
        }

    return lab


ONE = [0.010, 0.011, 0.010, 0.012, 0.011]
CASES = [
    Case(
        "a larger batch takes longer, and answers more a second",
        lab=passes({1: ONE, 64: [0.040, 0.041, 0.040, 0.042, 0.041]}),
        says=["are answered at b = 64", "A pass of 64 samples takes longer than one of 1."],
    ),
    Case(
        "one sample is faster than its share of a batch, whose passes take longer",
        lab=passes({1: ONE, 2: [0.040, 0.041, 0.040, 0.042, 0.041]}),
        says=["are answered at b = 1.", "A pass of 2 samples takes longer than one of 1."],
    ),
    Case(
        "a larger batch takes less time",
        lab=passes({1: ONE, 64: [0.0050, 0.0051, 0.0049, 0.0050, 0.0051]}),
        says=["A pass of 64 samples takes less time than one of 1."],
    ),
    Case(
        "as long as far as can be seen",
        lab=passes({1: ONE, 64: [0.011, 0.010, 0.012, 0.010, 0.011]}),
        says=["A pass of 64 samples shows no measurable difference to one of 1."],
    ),
    Case(
        "a pass of each",
        lab=passes({1: [0.010], 64: [0.011]}),
        says=["cannot be compared, for want of repeats, with one of 1."],
    ),
    Case("nothing ran", lab=empty_lab, says=["is withheld"], never=["are answered at"]),
]


test_what_s9_says = says("S9", CASES)
