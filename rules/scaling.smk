# Q2, Q3: timed runs of N workers. `machine` keeps everything else off the machine meanwhile.


rule scaling_run:
    input:
        dataset=f"{RESULTS}/dataset.json",
        checked=CHECKED,
    output:
        spec=f"{RUN}/spec.json",
        record=f"{RUN}/record.json",
        steps=f"{RUN}/steps.parquet",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run=only(runs_of("scaling", "data_parallel")),
    priority: 20
    threads: workers_of
    resources:
        **WORKERS,
        machine=whole_machine,
        slurm_extra=exclusive,
    params:
        spec=spec_json,
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Q2, Q3, Q5: timing {wildcards.run}, alone on the machine"
    shell:
        "printf '%s' {params.spec:q} > {output.spec:q} && "
        "python workflow/scripts/launch.py {output.spec:q} --log {log:q} "
        "--history {params.history:q} --attempt {resources.attempt}"
