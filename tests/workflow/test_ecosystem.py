"""What Snakemake's users expect of a workflow: lint, environments, modules, other folders."""

import subprocess
import sys
from pathlib import Path

import yaml
from checkouts import ROOT, WITHOUT_SLURM, command
from patience import HANG_S

LEFT_OUT = ("sweep", "large_batch", "communication", "replicas", "data_parallel", "scaling")
TINY = {"name": "tiny", "ledger": {"workers": [2]}} | dict.fromkeys(LEFT_OUT)
MODULE = f"""
configfile: "my.yaml"

module dpscale:
    snakefile: "{ROOT}/Snakefile"
    config: config["dpscale"]

use rule * from dpscale as lab_*
"""


def call(folder: Path, *arguments: str) -> str:
    """What snakemake prints in a folder; fails where it fails."""
    ended = subprocess.run(
        [*command(), *arguments],
        cwd=folder,
        env=WITHOUT_SLURM,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-4000:]
    return ended.stdout


def test_snakemake_finds_nothing_to_mend_in_the_rules() -> None:
    assert "your workflow is in a good condition" in call(ROOT, "--lint")


def test_another_workflow_uses_the_rules_as_a_module(tmp_path) -> None:
    (tmp_path / "Snakefile").write_text(MODULE, encoding="utf-8")
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"dpscale": TINY}), encoding="utf-8")
    said = call(tmp_path, "-n", "--cores", "2", "lab_all")
    assert "lab_timed_run" in said
    assert "results/tiny/report.html" in said


def test_the_rules_work_in_another_folder(tmp_path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    # The tables of an audit lie beside the configuration, not there.
    tiny = TINY | {"audit": {"tables": ["config/tables/k80_lab_timings.csv"]}}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(tiny), encoding="utf-8")
    (tmp_path / "config").symlink_to(ROOT / "config")
    configured = ("--configfile", str(tmp_path / "my.yaml"))
    said = call(ROOT, "--directory", str(folder), "-n", *configured)
    assert "ledger-n2: not there: results/tiny/runs/ledger-n2/record.json" in said
    assert "not there: results/tiny/audits/k80_lab_timings.json" in said


def test_the_conda_environments_have_the_pinned_versions() -> None:
    lines = (ROOT / "envs/requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    for name in ("conda", "conda-cpu"):
        made = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text(encoding="utf-8"))
        by_pip = made["dependencies"][-1]["pip"]
        assert [line for line in by_pip if not line.startswith("--")] == pinned
    assert sys.version_info >= (3, 11)
    assert "python=3.11" in made["dependencies"]
