"""Which column of a table means what: the fixed names, and what people write instead."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dpscale.audit.grid import NEEDED
from dpscale.audit.scales import count_scale, rate_scale, ratio_scale, time_scale

Scale = Callable[[str], float | None]
COUNT, TIME, RATIO, RATE = count_scale, time_scale, ratio_scale, rate_scale

KINDS: dict[str, Scale] = {
    "workers": COUNT,
    "per_worker_batch": COUNT,
    "sweep_compute_s": TIME,
    "epoch_s": TIME,
    "nodata_s": TIME,
    "steps": COUNT,
    "printed_speedup": RATIO,
    "printed_compute_s": TIME,
    "printed_comm_s": TIME,
    "printed_bandwidth_gb_per_s": RATE,
}
DEFAULT_UNITS: dict[Scale, str] = {COUNT: "", TIME: "s", RATIO: "", RATE: "GB/s"}
# Lower case, words apart by one space; "printed", "measured" and the like are left out before.
SPELLINGS = {
    "workers": "n|gpus|gpu|ngpus|n gpus|num gpus|no of gpus|number of gpus|gpu count|workers|"
    "worker|n workers|number of workers|no of workers|world size|worldsize|processes|nproc|"
    "ranks|devices|number of devices|number of gpu",
    "per_worker_batch": "b|bs|batch|batch size|batchsize|minibatch|mini batch|mini batch size|"
    "per worker batch|per worker batch size|batch per worker|batch size per worker|"
    "batch per gpu|batch size per gpu|per gpu batch|per gpu batch size|local batch|"
    "local batch size|batch gpu|batch size gpu",
    "sweep_compute_s": "sweep compute|sweep|sweep time|single gpu compute|one gpu compute|"
    "single gpu time|q1 time|one worker compute|single worker compute",
    "epoch_s": "epoch|epoch time|time|total|total time|time per epoch|training time|running time|"
    "runtime|run time|t|t n|tn|wall time|elapsed|elapsed time|epoch total|time with loading|"
    "with loading|time epoch",
    "nodata_s": "nodata|no data|no loading|without loading|without data loading|"
    "time without loading|time without data loading|epoch without loading|"
    "epoch without data loading|time w o loading|nodata time|epoch nodata",
    "steps": "steps|step|n steps|num steps|number of steps|iterations|iters|"
    "number of iterations|updates|global steps",
    "printed_speedup": "speedup|speed up|t1 tn|t 1 t n",
    "printed_compute_s": "compute|computation|compute time|computation time|computing|"
    "computing time|comp|comp time",
    "printed_comm_s": "comm|communication|comm time|communication time|allreduce time|"
    "all reduce time|sync time",
    "printed_bandwidth_gb_per_s": "bandwidth|bw|bandwidth utilization|bandwidth utilisation|"
    "bus bandwidth|busbw|link bandwidth|effective bandwidth",
}
NAMES = {text: name for name, texts in SPELLINGS.items() for text in texts.split("|")}
GLOBAL = re.compile(r"\b(global|overall|effective batch)\b", re.I)
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
LONGEST = 80  # characters of a header that are looked at
_MARKUP = re.compile(r"[*`$]")
_LEADING = re.compile(r"^(printed|reported|measured|mean|average|avg|median) ")
_LAST = re.compile(r"^(.*?)(?:[\s_,/]+in)?[\s_,/]+([^\s_,/]+(?:[\s_]*(?:/|per[\s_])[\s_]*\S+)?)$")


@dataclass(frozen=True)
class Column:
    """A column that the audit reads; unit as the header states it, else the usual one."""

    name: str
    index: int
    header: str
    unit: str
    stated: bool

    @property
    def scale(self) -> float:
        """Base units of one of the column's unit."""
        return (KINDS[self.name](self.unit) if self.unit else None) or 1.0


def found_columns(header: list[str]) -> dict[str, Column]:
    """Return the columns of a header by their fixed names.

    Raises ValueError that names the columns where two mean the same.
    """
    found: dict[str, Column] = {}
    for index, text in enumerate(header):
        column = _column(index, text)
        if column and column.name in found:
            raise ValueError(
                f"the columns {found[column.name].header!r} and {column.header!r} both mean "
                f"{column.name}; leave one out"
            )
        if column:
            found[column.name] = column
    return found


def suits(header: list[str]) -> bool:
    """Return whether a header has what every table needs."""
    names = {column.name for i, text in enumerate(header) if (column := _column(i, text))}
    return set(NEEDED) <= names


def _column(index: int, text: str) -> Column | None:
    header = _MARKUP.sub("", text[:LONGEST]).strip()
    inside = [text.strip() for text in _BRACKETS.findall(header)]
    outside = _BRACKETS.sub(" ", header).strip()
    if outside == "B" or GLOBAL.search(header):
        return None  # the global batch
    last = _LAST.match(outside)
    split = [(last[1], last[2])] if last else []
    for text, unit in [*((outside, unit) for unit in inside), *split]:
        name = NAMES.get(_key(text))
        if name and KINDS[name](unit) is not None:
            return Column(name, index, header, "" if KINDS[name] is COUNT else unit, stated=True)
    name = NAMES.get(_key(outside)) or NAMES.get(_key(" ".join([outside, *inside])))
    return Column(name, index, header, DEFAULT_UNITS[KINDS[name]], stated=False) if name else None


def _key(text: str) -> str:
    """A header's words, as NAMES has them."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower().replace("#", " number of ")).strip()
    return _LEADING.sub("", words)
