# The runs of the plan: those that are timed alone on the machine, and trainings side by side.

ADVISED = [run for run, spec in PLAN.items() if spec.advised_by]
RESOLVED = [
    run
    for run, spec in PLAN.items()
    if (spec.per_worker_batch is None or spec.lr_reference_batch)
    and not spec.advised_by
]
TIMED = [run for run, spec in PLAN.items() if studies.timed_alone(spec)]


rule timed_run:
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
        run=only([run for run in TIMED if run not in SWEEP]),
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
        "Timing {wildcards.run}, alone on the machine"
    shell:
        "printf '%s' {params.spec:q} > {output.spec:q} && "
        "python workflow/scripts/launch.py {output.spec:q} --log {log:q} "
        "--history {params.history:q} --attempt {resources.attempt}"


# As many side by side as the cores hold, one thread a worker.
use rule timed_run as training_run with:
    wildcard_constraints:
        run=only([run for run in PLAN if run not in [*TIMED, *RESOLVED, *ADVISED]]),
    priority: 0
    resources:
        **WORKERS,
        machine=training_share,
        slurm_extra=elsewhere,
    message:
        "Training {wildcards.run}"


# The largest batch is what Q1 found to fit: these specs wait for the boundary, or for the size of
# the dataset.
rule resolved_run:
    input:
        dataset=f"{RESULTS}/dataset.json",
        checked=CHECKED,
        boundary=lambda wildcards: (
            [] if PLAN[wildcards.run].per_worker_batch else f"{RESULTS}/boundary.json"
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
        measured=lambda wildcards, input: (
            f"--boundary {input.boundary}" if input.boundary else ""
        ),
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Training {wildcards.run}"
    shell:
        "python workflow/scripts/resolve_spec.py {params.spec:q} {params.measured} "
        "--dataset {input.dataset:q} > {output.spec:q} && "
        "python workflow/scripts/launch.py {output.spec:q} --log {log:q} "
        "--history {params.history:q} --attempt {resources.attempt}"


def advisers(wildcards):
    """The runs whose measurements decide what a run trains."""
    asked = PLAN[wildcards.run]
    return [
        run
        for run, spec in PLAN.items()
        if spec.kind in (asked.advised_by or ())
        and (spec.model, spec.arm) == (asked.model, asked.arm)
    ]


# What others measured decides batch and rate; the time of the training is compared with theirs.
use rule resolved_run as advised_run with:
    input:
        dataset=f"{RESULTS}/dataset.json",
        checked=CHECKED,
        records=lambda wildcards: expand(f"{RUN}/record.json", run=advisers(wildcards)),
    wildcard_constraints:
        run=only(ADVISED),
    priority: 20
    resources:
        **WORKERS,
        machine=whole_machine,
        slurm_extra=exclusive,
    params:
        spec=spec_json,
        measured=lambda wildcards: "--advised-by "
        + " ".join(f"{RESULTS}/runs/{run}" for run in advisers(wildcards)),
        history=f"{RESULTS}/attempts/{{run}}",
    message:
        "Training {wildcards.run} to the goal, as the measured cells advise"
