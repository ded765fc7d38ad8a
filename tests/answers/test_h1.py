"""H1: what it says of a busy device, and of what would raise that, follows the measured shares."""

from cases import Case, Edit, around, both, only, says, where

NAN = float("nan")
LARGEST = {"per_worker_batch": 1024}
QUOTED = {"claim": "utilisation_frac"}


def _batches(*edits: Edit) -> dict[str, Edit]:
    return {"assignment_utilisation": both(*edits)}


def _last(share: float) -> dict[str, Edit]:
    return _batches(where(LARGEST, **around("utilisation_frac", share)))


def _rate(value: float) -> dict[str, Edit]:
    return _batches(where(LARGEST, **around("samples_per_s", value)))


def _gpu(share: float) -> dict[str, Edit]:
    return _batches(where(device="NVIDIA H1", **around("load_frac", share)))


CASES = [
    Case(
        "a CPU",
        says=[
            "processor time of the worker",
            "the device is idle 49.7% of the time",
            "wait for the loader 20.0% of it. Where loading computes",
            "Loading ahead may raise it, where loading waits for a disk",
            "95.3% (95.1 to 95.5) at b = 1024: more with the largest batch.",
        ],
        never=["next to nothing left to raise", "NVML", "Without a number", "efficien"],
    ),
    Case(
        "a larger batch raises it",
        edits=_last(0.95),
        says=[
            "95.9) at b = 1024: more with the largest batch.",
            "one worker trains more slowly on a busier device.",
        ],
        never=["both"],
    ),
    Case(
        "a larger batch lowers it",
        edits=_last(0.30),
        says=[
            "at b = 1024: less with the largest batch.",
            "Between them, b = 512 is above both.",
            "on a less busy device.",
        ],
    ),
    Case(
        "a larger batch is no other",
        edits=_last(0.503),
        says=[
            "at b = 1024: not told apart.",
            "Between them, b = 512 is above both.",
            "on a device that is not told to be busier.",
        ],
    ),
    Case(
        "one epoch",
        edits=_batches(where(LARGEST, utilisation_frac_low=NAN, utilisation_frac_high=NAN)),
        says=["too few epochs were timed to tell.", "on a device timed too briefly"],
    ),
    Case(
        "one batch",
        edits=_batches(only(per_worker_batch=128)),
        says=[
            "of the time at b = 128; no larger batch has a result.",
            "Utilisation is the share of time in which the device works",
        ],
        never=["Utilisation is worth raising", "both"],
    ),
    Case(
        "little left to raise, and a larger batch is faster all the same",
        edits=_batches(
            where({"per_worker_batch": 128}, **around("utilisation_frac", 0.98)),
            where(LARGEST, **around("samples_per_s", 2000.0)),
        ),
        says=[
            "more than 95.0% of the time is used.",
            "The busy share has little room to rise.",
            "Yet with b = 1024 it trains faster (2 000 samples/s",
            "faster without a higher utilisation shows that this share does not tell how well",
        ],
        never=["the device is idle"],
    ),
    Case(
        "a GPU that waits for its loader",
        edits=_gpu(0.4),
        says=["NVML", "More loading processes", "pinned memory"],
        never=["leave gaps", "processor time", "Longer kernels"],
    ),
    Case(
        "a GPU that waits for launches",
        edits=_gpu(0.01),
        says=["may leave gaps", "Longer kernels"],
        never=["More loading processes", "pinned"],
    ),
    Case(
        "other programs had the core",
        edits=_batches(where(device="CPU core", **around("compute_frac", 0.99))),
        says=[
            "the worker did not have its core all the time, so they are not compared. The worker",
            "Utilisation is the share of time",
            "The worker was 99.0% of the time in its steps and 50.3% on a core at b = 128 and",
            "on a core at b = 512: it was in its steps and had no core",
        ],
        never=["more with the largest", "Utilisation is worth raising"],
    ),
    Case(
        "faster too",
        edits=_rate(2000.0),
        says=["it trains faster (2 000"],
        never=["does not tell how well"],
    ),
    Case("as fast", edits=_rate(1248.0), says=["it is not told apart in speed ("]),
    Case(
        "one time",
        edits=_batches(where(LARGEST, samples_per_s_low=NAN)),
        says=["it is not compared in speed ("],
    ),
    Case(
        "two without a number",
        edits=_batches(where({"per_worker_batch": [512, 1024]}, status="out_of_memory")),
        says=["their outcomes, are b = 512 (out of memory) and b = 1024 (out of memory)."],
    ),
    Case(
        "published",
        says=[
            "Published, and not judged here (other data, digits): utilisation 20% (19.5 to "
            "20.5) at b = 128 and 54% (53.5 to 54.5) at b = 1024."
        ],
        never=["Published figures, quoted", "Of the published"],
    ),
    Case(
        "published and so here",
        edits={"assignment_published": where(QUOTED, verdict="agrees", reason="")},
        says=["two agree.", "(95.1 to 95.5) agrees"],
        never=["(other data", "agrees:", "not judged"],
    ),
]


test_what_h1_says = says("H1", CASES)
