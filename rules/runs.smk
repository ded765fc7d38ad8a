# The runs of the plan: those that are timed alone on the machine, and trainings side by side.

TIMED = {run for run, spec in PLAN.items() if studies.timed_alone(spec)}


# The first job where there are GPUs, several nodes, or a step that not every processor can make: what
# is wrong is said before hours are spent.
rule check_machine:
    output:
        f"{RESULTS}/{{run}}.json",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run="check" if CHECKED else NEVER,
    priority: 100
    retries: 0
    conda:
        ENVIRONMENT
    resources:
        **WORKERS,
        machine=whole_machine,
    params:
        # For its `output` Snakemake does not compare it with the last one. A job behind one that has
        # a reason to run is not asked for its own, and an ancient input gives it none: runs that an
        # edit made stale would be left as they are.
        spec=lambda wildcards, output: JOBS[wildcards.run].model_dump_json(),
        folder=f"{RESULTS}/check",
    message:
        "Checking devices, driver, cores, memory, disk, a training step and network"
    shell:
        command("check_machine") + "--spec {params.spec:q} "
        "--folder {params.folder:q} --output {output:q} 2>&1 | tee {log:q}"


rule timed_run:
    input:
        dataset=f"{RESULTS}/dataset.json",
        checked=CHECKED,
        earlier=lambda wildcards: expand(
            f"{RUN}/record.json", run=EARLIER.get(wildcards.run, [])
        ),
    output:
        spec=f"{RUN}/spec.json",
        record=f"{RUN}/record.json",
        steps=f"{RUN}/steps.parquet",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run=only(TIMED),
    priority: turn
    conda:
        ENVIRONMENT
    threads: workers_of
    resources:
        **WORKERS,
        machine=machine_share,
        slurm_extra=nodes_for,
    params:
        spec=spec_json,
        earlier=lambda wildcards: EARLIER.get(wildcards.run, []),
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Timing {wildcards.run}, alone on the machine"
    shell:
        "printf '%s' {params.spec:q} > {output.spec:q} && "
        + command("start")
        + "launch.py {output.spec:q} --earlier {params.earlier:q} "
        "--log {log:q} --history {params.history:q} --attempt {resources.attempt}"


# As many side by side as the cores hold, one thread a worker.
use rule timed_run as training_run with:
    wildcard_constraints:
        run=only(PLAN.keys() - TIMED),
    priority: 0
    message:
        "Training {wildcards.run}"
