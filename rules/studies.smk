# S1 to S4, the studies of large batches: trainings that share the machine, one thread a worker.

STUDY_RUNS = runs_of("steps_to_goal", "lr_scaling", "model_averaging", "local_sgd")
TIMED_STUDY_RUNS = [run for run in STUDY_RUNS if PLAN[run].kind == "learners"]


use rule scaling_run as study_run with:
    wildcard_constraints:
        run=only([run for run in STUDY_RUNS if run not in TIMED_STUDY_RUNS]),
    priority: 0
    resources:
        **WORKERS,
        machine=training_share,
        slurm_extra=elsewhere,
    message:
        "S1 to S4: training {wildcards.run}"


use rule scaling_run as learners_run with:
    wildcard_constraints:
        run=only(TIMED_STUDY_RUNS),
    priority: 5
    message:
        "S3: timing {wildcards.run}, alone on the machine"
