# What each run takes of the machine, or asks Slurm for; and a snakemake that was killed.
# What differs between clusters stands in profiles/slurm alone.

from snakemake.logging import logger
from snakemake.settings.types import ExecMode

from dpscale.attempts import (
    History,
    hopeless,
    memory_factor,
    nodes_to_avoid,
    time_factor,
)
from dpscale.launch import slurm, warm
from dpscale.launch.command import BATCH_STEP
from dpscale.launch.interrupt import (
    end_on_signals,
    end_what_was_stopped,
    keep_finished,
)
from dpscale.launch.leftovers import remove_stale_lock, take_over
from dpscale.launch.node import (
    cpus_per_node,
    devices_per_node,
    memory_per_node_mb,
)
from dpscale.launch.supervise import WORKFLOW
from dpscale.launch.temporary import (
    remove_what_is_left,
    temporary_folder_until_exit,
    use_for_temporary_files,
)
from dpscale.processes import identity
from dpscale.records.damage import forget_made, note_made
from dpscale.watch import Observer, TimeLeft
from dpscale.watch.screen import Screen

# Timed runs take all of this token (profiles/default), so that nothing runs beside them.
WHOLE_MACHINE = 1000
EXCLUSIVE = "--exclusive"

if IS_MAIN:
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and not IS_MODULE:
            handler.setFormatter(Screen(workflow, handler.formatter))
    os.environ[WORKFLOW] = identity(os.getpid())
    remove_stale_lock(Path.cwd())
    remove_what_is_left()
if workflow.exec_mode == ExecMode.REMOTE:
    os.environ[BATCH_STEP] = "1"

# Jobs that Snakemake starts in so many seconds at most, where nobody asks for another limit.
USUAL_LIMIT = (100, 1)


def keep_scheduler_quiet():
    """Have the scheduler look for jobs to start when one has ended, and at no other time.

    For its limit it looks again each second, after each job that has ended in one more such chain,
    all beside the run that is timed. No machine starts jobs that fast; a limit that the user asks
    for stays.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == USUAL_LIMIT:
        workflow.scheduler.job_rate_limiter = None


def launched():
    """The runs that this call makes, and the check of the machine if it does."""
    jobs = workflow.dag.needrun_jobs()
    return {job.wildcards_dict.get("run") for job in jobs} & JOBS.keys()


def tell_what_to_measure():
    """Say how many runs this call makes, and from then on how long that takes, once it is known."""
    if wanted := launched() & PLAN.keys():
        logger.info(f"{len(wanted)} of {len(PLAN)} runs to measure")
        here = workflow.local_exec
        cores = workflow.cores if here else None
        observer = Observer(
            CONFIG, Path(RESULTS), slurm=not here, wanted=wanted, cores=cores
        )
        logger.addHandler(TimeLeft(observer, logger))


onstart:
    if IS_MAIN:
        refuse_missing_words()
        note_configuration()
        take_over(Path.cwd(), Path(RESULTS, "attempts"))
        forget_made(Path(RESULTS))
        keep_scheduler_quiet()
        end_on_signals()
        end_what_was_stopped()
        tell_what_to_measure()
        folder = temporary_folder_until_exit(also=workflow.snakemake_tmp_dir)
        if (
            workflow.local_exec
        ):  # a job of Slurm has its own, which another node knows
            use_for_temporary_files(folder)
        on_cpu = CONFIG.hardware.device == "cpu"
        if workflow.local_exec and on_cpu and not DEPLOYED and launched():
            threads = CONFIG.hardware.threads_per_worker
            warm.offer(SCRIPTS / "warm.py", folder, threads=threads)


onerror:
    if IS_MAIN:
        keep_finished(workflow)
        note_made(Path(RESULTS), MADE)


# Analysis needs no node of its own; downloads need the network of the login node.
localrules:
    all,
    fetch_dataset,
    prepare_dataset,
    audit,
    recorded,
    gather,
    derive,
    draw,
    answer,
    render_html,
    render_pdf,
    partial,


def of_profile(name, otherwise):
    """A default resource of the profile, as written there."""
    defaults = dict(workflow.resource_settings.default_resources or {})
    value = getattr(defaults.get(name), "raw", otherwise)
    if type(value) is not type(otherwise):
        kind = {int: "a whole number", str: "a name"}[type(otherwise)]
        sys.exit(f"profile: default-resources: {name} = {value!r}: give {kind}")
    return value


# A word with a hyphen is refused by Snakemake's plugin for Slurm, when a job is submitted.
GPU_NAME = of_profile("gpu_name", "gpu")
TAKEN = r"[a-zA-Z0-9_]+(:[a-zA-Z0-9_.]+)?"
if CONFIG.hardware.device == "cuda" and not re.fullmatch(TAKEN, GPU_NAME):
    sys.exit(
        f"profile: default-resources: gpu_name = {GPU_NAME!r}: give a name as gpu or gpu:a100, of "
        "letters, digits and _ alone; where the model has a hyphen, give gpu, and let constraint "
        "choose the model"
    )


def attempts_at(wildcards, attempt):
    """How the earlier attempts of this call at a run ended."""
    folder = Path(RESULTS, "attempts", wildcards.run)
    return History(folder).read() if attempt > 1 else []


def given_up(wildcards, attempt):
    """Whether a further attempt would fail again; launch.py then says so, on the least of nodes."""
    return hopeless(attempts_at(wildcards, attempt)) is not None


def whole_machine(wildcards):
    """The machine's token for a timed run; Slurm gives it nodes of its own instead."""
    return WHOLE_MACHINE if workflow.local_exec else 1


def machine_share(wildcards):
    """Trainings share a CPU, one thread a worker. A GPU is not shared: each takes its memory."""
    alone = wildcards.run in TIMED or CONFIG.hardware.device == "cuda"
    return whole_machine(wildcards) if alone else 1


def workers_of(wildcards):
    return PLAN[wildcards.run].workers


def nodes_of(wildcards, attempt):
    return 1 if given_up(wildcards, attempt) else JOBS[wildcards.run].nodes


def devices_of(wildcards, attempt):
    return 1 if given_up(wildcards, attempt) else devices_per_node(JOBS[wildcards.run])


def cpus_of(wildcards, attempt):
    return 1 if given_up(wildcards, attempt) else cpus_per_node(JOBS[wildcards.run])


def gres(wildcards, attempt):
    """Slurm's words for the GPUs of one node; none where the workers compute on CPUs."""
    on_gpus = CONFIG.hardware.device == "cuda"
    return f"{GPU_NAME}:{devices_of(wildcards, attempt)}" if on_gpus else ""


def memory_mb(wildcards, attempt):
    """Memory on each node for the workers on it; more after they ran out, up to all of a node."""
    worker_mb = of_profile("mem_mb", 0)
    if not worker_mb or given_up(wildcards, attempt):
        return worker_mb
    asked = memory_per_node_mb(JOBS[wildcards.run], worker_mb)
    asked *= memory_factor(attempts_at(wildcards, attempt))
    return min(asked, slurm.node_memory_mb() or asked)


def minutes(wildcards, attempt):
    return of_profile("runtime", 60) * time_factor(attempts_at(wildcards, attempt))


def elsewhere(wildcards, attempt):
    """An option that keeps a further attempt off nodes that failed, where enough others are up."""
    avoid = nodes_to_avoid(attempts_at(wildcards, attempt))
    others = set(slurm.nodes_up()) - set(avoid) if avoid else set()
    return (
        f"--exclude={','.join(avoid)}"
        if len(others) >= nodes_of(wildcards, attempt)
        else ""
    )


def nodes_for(wildcards, attempt):
    """Options for the nodes of a run: nothing else on those of a timed one."""
    if wildcards.run not in TIMED:
        return elsewhere(wildcards, attempt)
    if given_up(wildcards, attempt):
        return ""
    return f"{EXCLUSIVE} {elsewhere(wildcards, attempt)}".strip()


WORKERS = dict(
    attempt=lambda wildcards, attempt: attempt,
    nodes=nodes_of,
    tasks=nodes_of,  # an agent each; it starts the node's workers
    mpi=lambda wildcards, attempt: "srun" if nodes_of(wildcards, attempt) > 1 else "",
    tasks_per_gpu=0,
    cpus_per_task=cpus_of,
    gres=gres,
    mem_mb=memory_mb,
    runtime=minutes,
)


# Of the machine nothing is measured here, so that no run is stale for it (ancient).
CHECKED = [ancient(f"{RESULTS}/check.json")] if "check" in JOBS else []
