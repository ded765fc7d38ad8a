# The dataset: downloaded once where it has to be, then split and kept ready for the runs.

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
    conda:
        ENVIRONMENT
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
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        # A function, so that braces in a folder's name are no wildcards.
        data=lambda _: DATA,
        own=lambda _: OF_OWN,
    message:
        "Splitting the dataset and keeping it ready, or trying own.file on two samples"
    shell:
        command("start") + "prepare_dataset.py {params.data:q} {params.own:q} "
        "--output {output:q} > {log:q} 2>&1"
