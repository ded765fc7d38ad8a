"""Starts all workers of a run, on one node or on those of a Slurm job, and says how they ended."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from dpscale.attempts import History
from dpscale.errors import one_line
from dpscale.launch.machine import machine
from dpscale.launch.supervise import supervise
from dpscale.plan import Spec
from dpscale.plan.check import RUN as CHECK
from dpscale.records import write_text
from dpscale.records.storage import about
from dpscale.studies import read_spec, timed_alone


@one_line("launch.py")
def main() -> int:
    """Read the command line, and launch; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path, help="spec.json of the run; its record comes beside it")
    parser.add_argument("--history", type=Path, required=True, help="folder of the run's attempts")
    parser.add_argument("--attempt", type=int, default=1, help="which attempt at the run this is")
    parser.add_argument("--earlier", nargs="*", default=[], help="runs that complete the spec")
    parser.add_argument("--log", type=Path, required=True, help="what the workers print")
    arguments = parser.parse_args()
    with about(arguments.spec):
        spec = read_spec(arguments.spec.read_bytes())
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    alone = timed_alone(spec) or spec.hardware.device == "cuda"
    with arguments.log.open("w", encoding="utf-8") as log, ExitStack() as held:
        if spec.study != CHECK:  # who checks the machine has it
            held.enter_context(machine(spec.run, alone=alone, log=log))

        def start(spec: Spec, path: Path) -> int:
            if path != arguments.spec:  # the last line of a probe that is killed
                print(f"{spec.run} begins", file=log, flush=True)
            history = History(arguments.history)
            return supervise(spec, path, history=history, number=arguments.attempt, log=log)

        if spec.completed_by:
            from dpscale.studies.completion import completed  # few runs need it

            spec = completed(spec, arguments.spec.parent, arguments.earlier, start)
            write_text(arguments.spec, spec.model_dump_json())
        return start(spec, arguments.spec)


if __name__ == "__main__":
    sys.exit(main())
