"""The audit of a hand-collected table of timings: what it derives, and what it calls a mistake.

A number in a table stands for every number that is rounded or cut to it (`cells`), and everything
derived keeps both ends. A printed number is right where its span meets the span of what the times
give; else the nearest known mistake whose span it meets names the reason, or else the one that it
misses by least, where that is less than 2% and less than it misses what is right ("nearly", with
both numbers). "perhaps" where at least 5% of the numbers near the printed one meet some mistake.

Conventions. Where a table may follow one of several ways, it is judged by the one that most of
its numbers follow, in doubt by the first, and says so (`conventions`):

- speed-up T_1/T_N from epoch_s, else from times without loading;
- computation T_1/N and communication T_N - T_1/N: sweep_compute_s with nodata_s, nodata_s
  throughout, epoch_s throughout; sweep_compute_s with epoch_s only where a row has no nodata_s
  (else that is the mistake "with loading minus without");
- T_1 of the same b, else of the same N*b;
- iterations of an epoch D/(N*b), rounded either way: a last partial one sends all gradients, or is
  dropped; bytes of 2(N-1)/N*X*itemsize;
- a rate whose header states no unit is in the unit that most of the column follows, else GB/s.

One slip is one finding: a number that follows from another printed one is not named again.

- speedup_times_workers: N*T_1/T_N. speedup_mismatch: any other wrong speed-up.
- compute_mismatch, comm_mismatch: neither what the times give, nor what is left of the measured
  time by the other printed number. sum_mismatch: the two do not add up to a measured time, where
  both are wrong or the times cannot tell which one is.
- negative_comm: printed below zero, or the times themselves leave less than nothing (beyond 3%
  of the epoch, doubtful alone, and not said already as superlinear).
- bandwidth_mismatch: not what the printed or the derived communication gives. Its named cases:
  bandwidth_wrong_unit (powers of 1000 against 1024, prefixes, bits),
  bandwidth_one_iteration (bytes of one iteration over an epoch's time),
  bandwidth_fractional (D/(N*b) iterations, not whole ones) and
  bandwidth_implausible (the batch size with a unit; 10 times what the times give and beyond
  PCIe 5; or right, and beyond the fastest link).
- superlinear: T_1/T_N beyond N by more than 3%, which is noise. loading_faster_than_without:
  epoch_s below the same epoch without loading by more than 6.4%. What is within these bounds is
  said among the doubts.
- batch_exceeds_dataset: N*b > D, which no step can fill. steps_mismatch: outside
  epochs*floor(D/(N*b)) to epochs*ceil(D/(N*b)).
"""

from dpscale.audit.conventions import Given
from dpscale.audit.judge import Audit, audit
from dpscale.audit.table import read_table

__all__ = ["Audit", "Given", "audit", "read_table"]
