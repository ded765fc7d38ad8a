"""Does one run from its spec: `python run.py SPEC` or, for N > 1, `torchrun ... run.py SPEC`.

The record and the steps are written beside the spec, whole or not at all.
"""

import argparse
import os
import signal
import sys
import traceback
from multiprocessing import parent_process
from pathlib import Path

from dpscale.errors import one_line
from dpscale.forks import end_work
from dpscale.plan import Spec
from dpscale.processes import AGENT, end_with_parent, node_name, show_as
from dpscale.records.storage import about
from dpscale.studies import measure_of, read_spec
from dpscale.train.run import run

# isort: split
# After dpscale.train, which imports torch faster.
from torch.distributed.elastic.multiprocessing.errors import record

RANK = f"rank {os.environ.get('RANK', '0')}"
WHO = f"run.py: {RANK} on {node_name()}"


def whole_spec(path: Path) -> Spec:
    """The spec of a run; an error's note names its file."""
    text = path.read_bytes()
    with about(path):
        spec = read_spec(text)
        if spec.completed_by:
            raise ValueError("completed_by: it lacks what earlier runs tell; start it by launch.py")
    return spec


@record  # torchrun ends its log with the error of the rank that failed first
def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path, help="spec.json of the run")
    parser.add_argument("--output", type=Path, help="folder of the record; default: the spec's")
    arguments = parser.parse_args()
    folder = arguments.output or arguments.spec.parent
    with one_line(WHO):
        spec = whole_spec(arguments.spec)
        measure = measure_of(spec)
    run(spec, measure, record=folder / "record.json", steps=folder / "steps.parquet")


if __name__ == "__main__":
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # A fork has torchrun's handler, which would wait for the collective that it is to end.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with_parent(int(os.environ.get(AGENT) or os.getppid()))
    show_as(RANK)  # forks of one agent have its command line
    try:
        main()
        status = 0
    except Exception as error:
        if not isinstance(error, OSError | ValueError | RuntimeError):  # a slip of the program
            traceback.print_exc()
        # One line, for the last one tells why it ended: CUDA's errors go on with advice.
        print(f"{WHO}: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # The backend's threads sometimes abort or hang at exit; everything is written by now. A fork of
    # agent.py ends so as well, but tells torchrun first that it is done.
    if status or parent_process() is None:
        os._exit(status)
    end_work()
