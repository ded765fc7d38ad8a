# The dataset: downloaded once where it has to be, then split and kept ready for the runs.

import subprocess
import shutil
from contextlib import suppress

from dpscale.records.facts import DatasetFacts
from dpscale.records.storage import DamagedError, read_model

DATA_MARKER = f"{CONFIG.data.root}/{CONFIG.data.dataset}.json"
NEEDS_DOWNLOAD = CONFIG.data.dataset in DOWNLOADED
DATA = CONFIG.data.model_dump_json(exclude={"loader", "loader_workers", "augment"})
OWN = own_file(CONFIG)
OF_OWN = ["--own", OWN.model_dump_json()] if OWN else []


rule fetch_dataset:
    output:
        f"{CONFIG.data.root}/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/fetch_{{dataset}}.log",
    wildcard_constraints:
        dataset="|".join(DOWNLOADED),
    resources:
        machine=1,
    params:
        root=lambda _: CONFIG.data.root,
    message:
        "Downloading {wildcards.dataset} and verifying its checksums"
    shell:
        command("fetch_dataset") + "--dataset {wildcards.dataset} "
        "--root {params.root:q} --marker {output:q} 2>&1 | tee {log:q}"


rule prepare_dataset:
    input:
        [DATA_MARKER] if NEEDS_DOWNLOAD else [],
    output:
        f"{RESULTS}/dataset.json",
    log:
        f"{RESULTS}/logs/prepare_dataset.log",
    resources:
        machine=1,
    params:
        # A function, so that braces in a folder's name are no wildcards.
        data=lambda _: DATA,
        own=lambda _: OF_OWN,
    message:
        "Splitting the dataset and keeping it ready, or trying own.file on two samples"
    shell:
        command("prepare_dataset") + "{params.data:q} {params.own:q} "
        "--output {output:q} > {log:q} 2>&1"


def keep_dataset():
    """Make dataset.json anew where it is damaged or gone and runs were measured with it.

    The rule would make it newer than they are, and Snakemake would measure all of them again.
    """
    path = Path(RESULTS, "dataset.json")
    with suppress(OSError, DamagedError):
        read_model(path, DatasetFacts)
        return
    runs = [
        file.stat().st_mtime for file in Path(RESULTS, "runs").glob("*/record.json")
    ]
    if workflow.dryrun:
        if runs:
            print(
                f"dpscale: {path} is damaged or gone; a call makes it again first, and keeps the runs",
                file=sys.stderr,
            )
        return
    if path.is_dir():
        shutil.rmtree(path)
    script = [sys.executable, SCRIPTS / "prepare_dataset.py", DATA, *OF_OWN]
    if runs and subprocess.run([*script, "--output", path]).returncode == 0:
        os.utime(path, (min(runs) - 1,) * 2)
        print(f"dpscale: {path} is made again", file=sys.stderr)
