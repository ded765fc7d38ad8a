# The dataset: downloaded once where it has to be, then split and kept ready for the runs.

DATA_MARKER = f"{CONFIG.data.root}/{CONFIG.data.dataset}.json"
TRIES = sorted({one.tries for _, one in CONFIG.sections() if one.tries})
NEEDS_DOWNLOAD = CONFIG.data.dataset in DOWNLOADED


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
        root=CONFIG.data.root,
    message:
        "Downloading {wildcards.dataset} and verifying its checksums"
    shell:
        "python workflow/scripts/fetch_dataset.py --dataset {wildcards.dataset} "
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
        data=lambda _: CONFIG.data.model_dump_json(
            exclude={"loader", "loader_workers", "augment"}
        ),
        own=lambda _: (
            ["--own", own.model_dump_json(), "--try", *TRIES]
            if (own := own_file(CONFIG))
            else []
        ),
    message:
        "Splitting the dataset and keeping it ready, or trying own.file on a few samples"
    shell:
        "python workflow/scripts/prepare_dataset.py {params.data:q} {params.own:q} "
        "--output {output:q} "
        "2> {log:q}"
