# The runs of the plan: those that are timed alone on the machine, and trainings side by side.

TIMED = {run for run, spec in PLAN.items() if studies.timed_alone(spec)}
ASKED_FIRST = {run for earlier in EARLIER.values() for run in earlier}


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
        run=only(TIMED - ASKED_FIRST),
    priority: 20
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


# What completes the specs of others: the sweep and the search of the largest batch after it, the
# launches of Q2 where open speed-ups are looked at again.
use rule timed_run as first_run with:
    wildcard_constraints:
        run=only(TIMED & ASKED_FIRST),
    priority: 30


# As many side by side as the cores hold, one thread a worker.
use rule timed_run as training_run with:
    wildcard_constraints:
        run=only(PLAN.keys() - TIMED),
    priority: 0
    message:
        "Training {wildcards.run}"
