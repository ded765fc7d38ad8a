"""The search of the boundary is tried again as runs are."""

import shutil

from checkouts import Checkout, snakemake

DIES_ONCE = """
import os
if not os.path.exists("died"):
    open("died", "w").close()
    os.kill(os.getpid(), 9)
"""


def test_a_probe_that_is_killed_gets_twice_the_memory_at_the_next_attempt(
    checkout: Checkout,
) -> None:
    folder = checkout.folder.with_name("killed-probe")
    shutil.copytree(checkout.folder, folder, symlinks=True)
    (folder / "results/smoke/boundary.json").unlink()
    probe = max(folder.glob("results/smoke/runs/boundary-b*"), key=lambda p: p.stat().st_mtime)
    shutil.rmtree(probe)
    run = folder / "workflow/scripts/run.py"
    run.write_text(run.read_text().replace("import argparse", DIES_ONCE + "import argparse", 1))
    rule = folder / "rules/sweep.smk"
    asked = '"echo {resources.mem_mb} >> asked; python workflow/scripts/find_boundary.py'
    rule.write_text(rule.read_text().replace('"python workflow/scripts/find_boundary.py', asked, 1))

    more = ("--retries", "1", "--default-resources", "mem_mb=100", "runtime=1")
    ended = snakemake(folder, "results/smoke/boundary.json", *more)
    assert ended.returncode == 0, ended.stderr[-3000:]
    first_mb, second_mb = map(int, (folder / "asked").read_text().split())
    assert first_mb > 100  # the samples come on top
    assert second_mb == 2 * first_mb
    attempts = sorted((folder / "results/smoke/attempts/boundary").glob("attempt-*.json"))
    assert f"{probe.name} begins" in attempts[0].read_text()
    assert ['"cause":"killed"' in path.read_text() for path in attempts] == [True, False]
