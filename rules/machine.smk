# What each run takes of the machine, or asks Slurm for; and a snakemake that was killed.
# What differs between clusters stands in profiles/slurm alone.

from snakemake.settings.types import ExecMode

from dpscale.attempts import (
    History,
    hopeless,
    memory_factor,
    nodes_to_avoid,
    time_factor,
)
from dpscale.launch import cpus_per_node, devices_per_node, slurm, warm
from dpscale.launch.leftovers import remove_stale_lock, take_over
from dpscale.launch.supervise import WORKFLOW
from dpscale.processes import identity
from dpscale.watch import Observer, begin

# Timed runs take all of this token (profiles/default), so that nothing runs beside them.
WHOLE_MACHINE = 1000
EXCLUSIVE = "--exclusive"
IS_MAIN = workflow.exec_mode == ExecMode.DEFAULT  # not the snakemake inside a job

if IS_MAIN:
    os.environ[WORKFLOW] = identity(os.getpid())
    remove_stale_lock(Path.cwd())


onstart:
    if IS_MAIN:
        take_over(Path.cwd(), Path(RESULTS, "attempts"))
        begin(Observer(CONFIG, Path(RESULTS), slurm=not workflow.local_exec))
    if IS_MAIN and workflow.local_exec and CONFIG.hardware.device == "cpu":
        warm.offer(SCRIPTS / "warm.py", threads=CONFIG.hardware.threads_per_worker)


# Analysis needs no node of its own; downloads need the network of the login node.
localrules:
    all,
    fetch_dataset,
    prepare_dataset,
    audit,
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


def training_share(wildcards):
    """Trainings share a CPU, one thread a worker. A GPU is not shared: each takes its memory."""
    return whole_machine(wildcards) if CONFIG.hardware.device == "cuda" else 1


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
    asked = of_profile("mem_mb", 0) * devices_of(wildcards, attempt)
    asked *= memory_factor(attempts_at(wildcards, attempt))
    return min(asked, slurm.node_memory_mb() or asked) if asked else 0


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


def exclusive(wildcards, attempt):
    """Nothing else on the nodes of a timed run."""
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


# The first job where there are GPUs or several nodes: what is wrong is said before hours are spent.
rule check_machine:
    output:
        f"{RESULTS}/{{run}}.json",
    log:
        f"{RESULTS}/logs/{{run}}.log",
    wildcard_constraints:
        run="check" if CHECKED else NEVER,
    priority: 100
    retries: 0
    resources:
        **WORKERS,
        machine=whole_machine,
    params:
        spec=lambda wildcards: JOBS[wildcards.run].model_dump_json(),
        folder=f"{RESULTS}/check",
    message:
        "Checking devices, driver, cores, memory, disk and network"
    shell:
        "python workflow/scripts/check_machine.py --spec {params.spec:q} "
        "--folder {params.folder:q} --output {output:q} 2>&1 | tee {log:q}"
