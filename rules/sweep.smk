# Q1: one worker, growing batch, each in a process of its own; then the boundary between them.


use rule timed_run as sweep_run with:
    wildcard_constraints:
        run=only(SWEEP),
    priority: 30
    message:
        "Q1: timing {wildcards.run} in a fresh process, alone on the machine"


rule boundary:
    input:
        records=expand(f"{RUN}/record.json", run=SWEEP),
    output:
        f"{RESULTS}/{{run}}.json",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run="boundary" if CONFIG.sweep else NEVER,
    priority: 30
    resources:
        **WORKERS,
        machine=whole_machine,
        slurm_extra=exclusive,
    params:
        probe=lambda wildcards: JOBS[wildcards.run].model_dump_json(),
        resolution=CONFIG.sweep.resolution_frac if CONFIG.sweep else 0,
        confirmations=CONFIG.sweep.confirmations if CONFIG.sweep else 0,
        runs=f"{RESULTS}/runs",
        sweep=SWEEP,
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Q1: bisecting between the last batch that fits and the first that does not"
    shell:
        "python workflow/scripts/find_boundary.py {params.probe:q} --resolution {params.resolution} "
        "--confirmations {params.confirmations} --runs {params.runs:q} --sweep {params.sweep} "
        "--output {output:q} --log {log:q} "
        "--history {params.history:q} --attempt {resources.attempt}"
