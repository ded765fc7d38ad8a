"""H1: what it says of a busy device, and of what would raise that, follows the measured shares."""

import pytest

from cases import Case, Edit, around, both, check, only, where

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
    Case("a CPU",
         says=["processor time of the worker", "the device is idle 49.7% of the time",
               "wait for the loader 20.0% of it. Where loading waits for a disk",
               "A larger batch does raise it: at b = 1024 it is 95.3%"],
         never=["next to nothing left to raise", "NVML", "Without a number", "efficien"]),
    Case("a larger batch raises it", edits=_last(0.95),
         says=["95.9) at b = 1024: more with the largest batch than with the smallest."],
         never=["both"]),
    Case("a larger batch lowers it", edits=_last(0.30),
         says=["at b = 1024: less with the largest batch than with the smallest; b = 512 is above "
               "both."],
         never=["A larger batch does raise it"]),
    Case("a larger batch is no other", edits=_last(0.503),
         says=["the largest batch and the smallest are not told apart; b = 512 is above both."]),
    Case("one epoch",
         edits=_batches(where(LARGEST, utilisation_frac_low=NAN, utilisation_frac_high=NAN)),
         says=["too few epochs were timed to tell the largest batch from the smallest."]),
    Case("one batch", edits=_batches(only(per_worker_batch=128)),
         says=["of the time at b = 128; no larger batch has a result."],
         never=["Utilisation is worth raising", "A larger batch does"]),
    Case("a batch in the middle that is less busy",
         edits=_batches(where({"per_worker_batch": 512}, **around("utilisation_frac", 0.2))),
         says=["more with the largest batch than with the smallest; b = 512 is below both."]),
    Case("little left to raise, and a larger batch is faster all the same",
         edits=_batches(where({"per_worker_batch": 128}, **around("utilisation_frac", 0.98)),
                        where(LARGEST, **around("samples_per_s", 2000.0))),
         says=["more than 95.0% of the time is used, so this share has little room to rise.",
               "trains faster than with b = 128, 2 000 samples/s",
               "That the utilisation is not shown to be higher shows that this share does not"],
         never=["the device is idle"]),
    Case("a GPU that waits for its loader", edits=_gpu(0.4),
         says=["NVML", "more loading processes"], never=["leave gaps", "processor time"]),
    Case("a GPU that waits for launches", edits=_gpu(0.01),
         says=["may leave gaps"], never=["more loading processes"]),
    Case("other programs had the core",
         edits=_batches(where(device="CPU core", **around("compute_frac", 0.99))),
         says=["the worker did not have its core all the time, so they are not compared.",
               "The worker was 99.0% of the time in its steps and 50.3% on a core at b = 128 and",
               "on a core at b = 512: it was in its steps and had no core"],
         never=["more with the largest", "Utilisation is worth raising"]),
    Case("faster too", edits=_rate(2000.0),
         says=["one worker trains faster than with b = 128, 2 000"],
         never=["does not tell how well"]),
    Case("slower", edits=_rate(500.0),
         says=["one worker trains more slowly than with b = 128, 500"]),
    Case("as fast", edits=_rate(1248.0),
         says=["one worker is not told apart in speed from b = 128,"]),
    Case("one time", edits=_batches(where(LARGEST, samples_per_s_low=NAN)),
         says=["one worker cannot be called faster or slower than with b = 128,"]),
    Case("a batch without a number", edits=_batches(where(LARGEST, status="out_of_memory")),
         says=["Without a number, for its outcome, is b = 1024 (out of memory)."]),
    Case("two without a number",
         edits=_batches(where({"per_worker_batch": [512, 1024]}, status="out_of_memory")),
         says=["their outcomes, are b = 512 (out of memory) and b = 1024 (out of memory)."]),
    Case("published",
         says=["Published, and not judged here (other data, digits): utilisation 20% (19.5 to "
               "20.5) at b = 128 and 54% (53.5 to 54.5) at b = 1024."],
         never=["Published figures, quoted", "Of the published"]),
    Case("published and so here",
         edits={"assignment_published": where(QUOTED, verdict="agrees", reason="")},
         says=["two agree.", "(95.1 to 95.5) agrees"],
         never=["(other data", "agrees:", "not judged"]),
    Case("published and not so here",
         edits={"assignment_published": both(
             where(QUOTED, verdict="disagrees", reason=""),
             where(QUOTED | LARGEST, verdict="agrees"))},
         says=["one agrees and one disagrees."]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_h1_says(case: Case) -> None:
    check("H1", case)
