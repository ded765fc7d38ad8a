"""One timed run on this machine at a time, whichever call of snakemake asks for it.

A lock of the kernel (flock(2)) on a file that all calls of a user share: it is given back when its
process ends, however it ends.
"""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ValidationError

from dpscale.launch.supervise import workflow_is_gone
from dpscale.launch.temporary import NAME, private_folder
from dpscale.processes import identity, lives

# Of the user, whatever a session has set: TMPDIR and XDG_RUNTIME_DIR differ between sessions.
FOLDER = Path("/tmp") / NAME
INSTEAD = "DPSCALE_LOCKS"  # another folder: for tests side by side, whose times nobody reads
POLL_S = 0.2


class Holder(BaseModel):
    """Who had the machine last, as its file says."""

    process: str  # an `identity`
    run: str
    folder: str


@contextmanager
def machine(run: str, *, alone: bool, log: IO[str] | None = None) -> Iterator[None]:
    """Have the machine for the length of the block: alone, or with others that share it.

    Waits for it, and says on the terminal and in the log for whom. In a job of Slurm nothing is
    waited for: it has its nodes, or its part of one, from Slurm.
    """
    if "SLURM_JOB_ID" in os.environ:
        yield
        return
    try:
        folder = private_folder(Path(os.environ.get(INSTEAD, FOLDER)))
        files = (folder / "gate").open("a"), (folder / "machine").open("a+")
    except OSError as error:
        _say(f"{run}: other calls may time runs beside it: {error}", log)
        yield
        return
    # Whoever waits for the machine holds the gate, so that no stream of sharers keeps it out.
    with files[0] as gate, files[1] as held:
        waits = _Wait(run, folder / "machine", log)
        try:
            waits.until(gate, fcntl.LOCK_EX)
            waits.until(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        except KeyboardInterrupt:
            sys.exit(f"{run}: told to end while it waited")
        held.truncate(0)
        own = Holder(process=identity(os.getpid()), run=run, folder=str(Path.cwd()))
        held.write(own.model_dump_json())
        held.flush()
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


class _Wait:
    """Waits for locks, and says once for whom."""

    def __init__(self, run: str, machine: Path, log: IO[str] | None) -> None:
        self._run, self._machine, self._log = run, machine, log
        self._said = False

    def until(self, file: IO[str], kind: int) -> None:
        """Wait for a lock."""
        while True:
            try:
                return fcntl.flock(file, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if not self._said:
                    _say(f"{self._run} waits for {self._holder()}: one is timed", self._log)
                self._said = True
            if workflow_is_gone():
                sys.exit(f"{self._run}: the snakemake that started it was killed")
            time.sleep(POLL_S)

    def _holder(self) -> str:
        try:
            holder = Holder.model_validate_json(self._machine.read_bytes())
        except (OSError, ValidationError):
            return "another run on this machine"
        if not lives(holder.process):  # of several that share it, the last has ended
            return "other runs on this machine"
        return f"process {holder.process.split()[0]}, {holder.run} in {holder.folder}"


def _say(line: str, log: IO[str] | None) -> None:
    for stream in filter(None, (log, sys.stderr)):
        print(line, file=stream, flush=True)
