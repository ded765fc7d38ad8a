"""A table in which everything is right, worked by hand, to plant mistakes in.

1,000,000 parameters of 4 bytes, 12,800 samples. (2, 64): 50 / 32 = 1.5625; 40 / 2 = 20 and
30 - 20 = 10 s; 12,800 / 128 = 100 iterations of 4 MB in 10 s are 0.04 GB/s. (4, 256):
12,800 / 1,024 = 12.5, so 13 iterations of 2 * 3/4 * 4 = 6 MB in 2 s are 0.0390 GB/s.
"""

from collections.abc import Mapping
from pathlib import Path

from dpscale.audit import Audit, Given, audit, read_table
from dpscale.reporting.audits import worded

LAB = Given(parameters=1_000_000, samples=12_800)
HEADER = [
    *("workers", "per_worker_batch", "sweep_compute_s", "epoch_s", "nodata_s", "steps"),
    *("printed_speedup", "printed_compute_s", "printed_comm_s", "printed_bandwidth_gb_per_s"),
]
RIGHT = {
    (1, 64): "40.00,50.00,,200,1.00,40.00,,",
    (2, 64): ",32.00,30.00,100,1.56,20.00,10.00,0.0400",
    (4, 64): ",20.00,15.00,50,2.50,10.00,5.00,0.0600",
    (1, 256): "32.00,40.00,,50,1.00,32.00,,",
    (2, 256): ",25.00,20.00,25,1.60,16.00,4.00,0.0250",
    (4, 256): ",12.50,10.00,13,3.20,8.00,2.00,0.0390",
}
Place = tuple[int, int]
Edits = Mapping[Place, Mapping[str, str]]


def lines(edits: Edits | None = None, *, without: tuple[Place, ...] = ()) -> list[str]:
    """The right table as CSV lines with some cells replaced (by name) and some rows left out."""
    written = [",".join(HEADER)]
    for (workers, batch), text in RIGHT.items():
        cells = dict(zip(HEADER, [str(workers), str(batch), *text.split(",")], strict=True))
        cells |= {
            name: str(value) for name, value in (edits or {}).get((workers, batch), {}).items()
        }
        if (workers, batch) not in without:
            written.append(",".join(cells.values()))
    return written


def audited(folder: Path, text: list[str] | str | bytes, given: Given = LAB, **options) -> Audit:
    """The audit, in words, of a table with this content; `name` is its file's."""
    path = folder / options.pop("name", "table.csv")
    text = "\n".join(text) + "\n" if isinstance(text, list) else text
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return worded(audit(read_table(path, **options), given))


def codes(found: Audit) -> list[tuple[int, int, str]]:
    """Row and code of each finding."""
    return [(f.workers, f.per_worker_batch, f.code) for f in found.findings]
