# Q1: one worker, growing batch, each in a process of its own; then the boundary between them.

PROBE_JSON = (
    sweep_probe(CONFIG, 1, run="boundary", study="boundary").model_dump_json()
    if CONFIG.sweep
    else ""
)


use rule scaling_run as sweep_run with:
    wildcard_constraints:
        run=only(runs_of("sweep")),
    priority: 30
    message:
        "Q1: timing {wildcards.run} in a fresh process, alone on the machine"


rule boundary:
    input:
        records=expand(f"{RUN}/record.json", run=runs_of("sweep")),
    output:
        f"{RESULTS}/boundary.json",
    log:
        f"{RESULTS}/logs/boundary.log",
    priority: 30
    resources:
        machine=whole_machine,
        slurm_extra=lambda _: EXCLUSIVE,
        tasks_per_gpu=0,
        cpus_per_task=cpus(1),
        gres=gres(1),
    params:
        probe=lambda _: PROBE_JSON,
        resolution=CONFIG.sweep.resolution_frac if CONFIG.sweep else 0,
        confirmations=CONFIG.sweep.confirmations if CONFIG.sweep else 0,
        runs=f"{RESULTS}/runs",
        sweep=runs_of("sweep"),
    message:
        "Q1: bisecting between the last batch that fits and the first that does not"
    shell:
        "python workflow/scripts/find_boundary.py {params.probe:q} --resolution {params.resolution} "
        "--confirmations {params.confirmations} --runs {params.runs:q} --sweep {params.sweep} "
        "--output {output:q} > {log:q} 2>&1"
