"""Jobs of an interrupted snakemake that had written all of their files are not done again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from patience import HANG_S, until

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
SNAKEFILE = f"""
import sys
sys.path.insert(0, {str(SCRIPTS)!r})
from dpscale.launch.interrupt import end_on_signals, keep_finished

onstart:
    end_on_signals()

onerror:
    keep_finished(workflow)

rule all:
    input: "whole", "half", "other half"

# Written, and its job has not ended yet: as a run that writes its record in that moment.
rule whole:
    output: "whole"
    shell: "date +%s%N > {{output}}; sleep 1000"

rule halves:
    output: half="half", other="other half"
    shell: "date +%s%N > half; sleep 1000"
"""


def test_a_signal_ends_the_jobs_and_keeps_those_whose_files_are_all_written(tmp_path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    words = [sys.executable, "-m", "snakemake", "--cores", "2", "--rerun-incomplete"]
    environment = os.environ | {"SLURM_CONF": os.devnull}
    call = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    )
    until(lambda: all((tmp_path / name).exists() for name in ("whole", "half")))
    os.kill(call.pid, signal.SIGINT)
    assert call.wait(HANG_S) == 1
    planned = subprocess.run(
        [*words, "--dry-run"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "rule halves:" in planned.stdout
    assert "rule whole:" not in planned.stdout
