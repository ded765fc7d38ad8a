"""Workers that are forks begin once all of them exist."""

import os
import subprocess
import sys
from pathlib import Path

from patience import HANG_S

import dpscale

SCRIPTS = Path(dpscale.__file__).parents[1]

FORKS = """
import os, time
from dpscale.train.agent import begin_together

def say(line):
    os.write(1, f"{line}\\n".encode())  # whole, beside those of the others

begin_together(3)
for number in range(3):
    if os.fork() == 0:
        say(f"begins {time.monotonic()}")
        if os.fork() == 0:
            say("a fork of a fork")
            os._exit(0)
        os.wait()
        os._exit(0)
    time.sleep(0.1)
    say(f"forked {time.monotonic()}")
for number in range(3):
    os.wait()
"""


def test_no_fork_begins_before_the_last_exists_and_forks_of_forks_begin_at_once():
    made = subprocess.run(
        [sys.executable, "-c", FORKS],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
    )
    lines = made.stdout.splitlines()
    begun = [float(line.split()[1]) for line in lines if line.startswith("begins")]
    forked = [float(line.split()[1]) for line in lines if line.startswith("forked")]
    assert len(begun) == len(forked) == 3
    assert min(begun) > forked[-2]  # the last is noted 0.1 s after it exists
    assert lines.count("a fork of a fork") == 3
    assert made.stderr == ""
