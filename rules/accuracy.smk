# Q4, Q5, Q7: trainings, as many side by side as the cores hold.
# H1 to H6: trainings that are timed as well, alone on the machine.

LARGEST = [run for run in runs_of("large_batch") if PLAN[run].per_worker_batch is None]
RESOLVED = [
    run
    for run in runs_of("large_batch")
    if run in LARGEST or PLAN[run].lr_reference_batch
]


use rule scaling_run as training_run with:
    wildcard_constraints:
        run=only(
            [run for run in runs_of("large_batch", "replicas") if run not in RESOLVED]
        ),
    priority: 0
    resources:
        **WORKERS,
        machine=training_share,
        slurm_extra=elsewhere,
    message:
        "Q4, Q5, Q7: training {wildcards.run}"


# The largest batch is what Q1 found to fit: these specs wait for the boundary.
rule large_batch_run:
    input:
        dataset=f"{RESULTS}/dataset.json",
        checked=CHECKED,
        boundary=lambda wildcards: (
            f"{RESULTS}/boundary.json" if wildcards.run in LARGEST else []
        ),
    output:
        spec=f"{RUN}/spec.json",
        record=f"{RUN}/record.json",
        steps=f"{RUN}/steps.parquet",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run=only(RESOLVED),
    threads: workers_of
    resources:
        **WORKERS,
        machine=training_share,
        slurm_extra=elsewhere,
    params:
        spec=spec_json,
        boundary=lambda wildcards, input: (
            f"--boundary {input.boundary}" if input.boundary else ""
        ),
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Q4: training {wildcards.run}"
    shell:
        "python workflow/scripts/resolve_spec.py {params.spec:q} {params.boundary} "
        "--dataset {input.dataset:q} > {output.spec:q} && "
        "python workflow/scripts/launch.py {output.spec:q} --log {log:q} "
        "--history {params.history:q} --attempt {resources.attempt}"


use rule scaling_run as assignment_run with:
    wildcard_constraints:
        run=only(runs_of("assignment", "assignment_split")),
    priority: 5
    message:
        "H1 to H6: {wildcards.run}, alone on the machine"
