# Q2, Q3: timed runs of N workers. `machine` keeps everything else off the machine meanwhile.


rule scaling_run:
    input:
        dataset=f"{RESULTS}/dataset.json",
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
        machine=WHOLE_MACHINE,
    params:
        spec=spec_json,
        launch=launcher,
        threads=CONFIG.hardware.threads_per_worker,
    message:
        "Q2, Q3, Q5: timing {wildcards.run}, alone on the machine"
    shell:
        "printf '%s' {params.spec:q} > {output.spec:q} && "
        "{{ OMP_NUM_THREADS={params.threads} "
        "{params.launch} workflow/scripts/run.py {output.spec:q} > {log:q} 2>&1 "
        # A worker that runs out of memory ends its peers, and is a result all the same.
        '|| grep -qs \'"status": "out_of_memory"\' {output.record:q}; }}'
