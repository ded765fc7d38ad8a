"""Every kind of run on N = 1, 2 and 4 GPUs with NCCL, through the workflow, on doubles of GPUs.

The doubles compute nothing: losses, accuracies and times mean nothing. What they do not have is
left out: torch's DataParallel (several devices of one process in NCCL), torch.compile and CUDA
graphs on a GPU, cuDNN, NVML's samples of utilisation. tests/gpu has these, on real GPUs.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from doubles import Doubles
from patience import HANG_S

from dpscale.attempts import History
from dpscale.config.sections import DataConfig, ModelConfig
from dpscale.plan.spec import LinkProtocol, build_spec
from dpscale.records import Record, read_record
from dpscale.studies import kinds, load_config, planned_runs, read_config
from dpscale.studies.choose.config import GridProtocol
from dpscale.studies.strategies import WAYS
from dpscale.studies.strategies.config import SharingProtocol
from one_launch import allow_one_launch

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report", "envs")
CONFIG = Path(__file__).with_name("gpus.yaml")
PLAN = planned_runs(read_config(CONFIG))
TIMED = ["scaling-n2-b64", "scaling-n4-b64"]
SWEEPS = [run for run in PLAN if run.startswith("sweep")]
SWEEP = [run for run in SWEEPS if "-launch" not in run]
# One of each kind, on as many devices as it can have; the others differ in settings alone.
RUNS = [
    "scaling-n1-b64",
    *TIMED,
    "compression-n2",
    "ledger-n2",
    "replicas-baseline-n2-b64",
    "model_averaging-seed0",
    "model_averaging-learners-mlp-b16",
    "local_sgd-noise20-a2-a5",
]
# A run of a double may diverge: what its kernels would have written is what was there before.
ENDED_WELL = {"complete", "diverged"}


class Lab:
    """What the workflow measured on the doubles."""

    def __init__(self, folder: Path, output: str) -> None:
        self.results, self.output = folder / "results/rehearsal", output

    def record(self, run: str) -> Record:
        return read_record(self.results / "runs" / run / "record.json")

    def steps(self, run: str) -> pd.DataFrame:
        return pd.read_parquet(self.results / "runs" / run / "steps.parquet")


@pytest.fixture(scope="module")
def lab(doubles: Doubles, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The runs RUNS, and the sweep with its boundary, each launched once."""
    records = [f"results/rehearsal/runs/{run}/record.json" for run in RUNS]
    folder = checkout(tmp_path_factory.mktemp("checkout"))
    allow_one_launch(folder)
    config = folder / "once.yaml"
    config.write_text(CONFIG.read_text().replace("launches: 3", "launches: 1"))
    return measured(
        doubles, folder, config, *records, "results/rehearsal/runs/boundary/record.json"
    )


def checkout(folder: Path) -> Path:
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return folder


def measured(doubles: Doubles, folder: Path, config: Path, *targets: str) -> Lab:
    """A checkout in which the workflow made some files."""
    workflow = doubles.start(
        sys.executable, "-m", "snakemake", *targets, "--configfile", str(config), folder=folder
    )
    output, _ = workflow.communicate(timeout=HANG_S)
    assert workflow.returncode == 0, output[-6000:]
    return Lab(folder, output)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_every_run_ends_with_its_record_on_the_devices_that_it_asked_for(lab, run) -> None:
    record = lab.record(run)
    assert record.status in ENDED_WELL, record.message
    assert "Rehearsal A100" in record.provenance["fingerprint"]
    assert record.provenance["backend"] == "nccl"
    assert record.oversubscribed is False


@pytest.mark.slow
def test_the_machine_is_checked_before_anything_runs_by_all_reduces_alone(lab) -> None:
    (node,) = json.loads((lab.results / "check.json").read_text()).values()
    assert [device["name"] for device in node["devices"]] == ["Rehearsal A100"] * 4
    link = read_record(lab.results / "check/record.json")
    assert (link.spec["kind"], link.spec["workers"]) == ("link", 4)
    assert {row["operation"] for row in link.messages} == {"allreduce"}
    assert lab.output.index("Checking devices") < lab.output.index("timing")


@pytest.mark.slow
def test_runs_of_any_number_of_workers_have_one_fingerprint_and_a_gpu_a_rank(lab) -> None:
    records = [lab.record(run) for run in ("scaling-n1-b64", *TIMED)]
    (fingerprint,) = {record.provenance["fingerprint"] for record in records}
    assert "A100 (300 W, driver" in fingerprint
    assert "| nccl 2." in fingerprint
    for record, workers in zip(records, (1, 2, 4), strict=True):
        assert [device["rank"] for device in record.rank_devices] == list(range(workers))
        assert len({device["uuid"] for device in record.rank_devices}) == workers
        assert {device["num_ooms"] for device in record.rank_devices} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("run", TIMED)
def test_all_arms_of_several_workers_are_timed_and_counted(lab, run) -> None:
    record, spec = lab.record(run), PLAN[run]
    assert set(lab.steps(run)["arm"]) == set(spec.protocol.timing.arms)
    assert sum(row["bytes"] for row in record.buckets) == record.payload_bytes
    assert {row["rank"] for row in record.spans} == set(range(spec.workers))
    calls = pd.DataFrame(record.collectives)
    sent = calls[calls["purpose"] == "gradient bucket"].groupby(["timed_arm", "iteration"])
    assert dict(sent["bytes"].sum().loc["without_loading"]) == dict.fromkeys(
        range(3), record.payload_bytes
    )


@pytest.mark.slow
def test_hooks_send_fewer_bytes(lab) -> None:
    record = lab.record("compression-n2")
    calls = pd.DataFrame(record.collectives)
    first = calls[(calls["purpose"] == "gradient bucket") & (calls["iteration"] == 0)]
    sent = first.groupby("timed_arm")["bytes"].sum()
    assert sent["fp16"] == sent["bf16"] == sent["without_loading"] / 2


@pytest.mark.slow
def test_the_ledger_names_every_collective_of_nccl_by_its_purpose(lab) -> None:
    record = lab.record("ledger-n2")
    calls = pd.DataFrame(record.collectives).query("phase == 'steady' and iteration == 3")
    by_purpose = calls.groupby("purpose")["bytes"].sum()
    assert by_purpose["gradient bucket"] == record.payload_bytes
    assert by_purpose["buffers"] == record.buffer_bytes


@pytest.mark.slow
def test_replicas_of_all_workers_are_compared(lab) -> None:
    rows = pd.DataFrame(lab.record("replicas-baseline-n2-b64").replicas)
    assert set(rows["rank"]) == {0, 1}


@pytest.mark.slow
def test_the_boundary_lies_where_the_allocator_ends(lab) -> None:
    small, large, beyond = (lab.record(run) for run in SWEEP)
    assert (small.status, large.status) == ("complete", "out_of_memory")
    assert beyond.status == "exceeds_dataset"
    assert "CUDA out of memory" in str(large.message)
    assert (small.rank_devices[0]["num_ooms"], large.rank_devices[0]["num_ooms"]) == (0, 1)
    assert small.peak_memory_bytes is not None
    boundary = lab.record("boundary")
    assert boundary.spec["per_worker_batch"] == small.spec["per_worker_batch"]
    tried = {(row["per_worker_batch"], row["status"]) for row in boundary.probes}
    assert (large.spec["per_worker_batch"], "out_of_memory") in tried


@pytest.mark.slow
def test_all_planned_runs_come_to_the_tables(doubles, tmp_path) -> None:
    folder = checkout(tmp_path)
    whole = measured(doubles, folder, CONFIG, "results/rehearsal/tables/runs.parquet")
    runs = pd.read_parquet(whole.results / "tables/runs.parquet").set_index("run")
    assert set(PLAN) <= set(runs.index)
    ended = runs.loc[list(PLAN)].drop(SWEEPS)
    # What the doubles did not compute may be an impossible accuracy, which makes a damaged record.
    refused = ended["message"].str.contains("_accuracy_frac: .*less than or equal to 1", na=False)
    assert set(ended["status"][~refused]) <= ENDED_WELL
    assert refused.sum() < len(ended) / 2


def launched(folder: Path, **fields: Any) -> tuple[list[str], Path]:
    """The words that launch a spec in a folder, and the file of its record."""
    config = load_config(
        {
            "name": "rehearsal",
            "hardware": {"device": "cuda", "backend": "nccl"},
            "data": {"root": str(folder / "data")},
        }
        | dict.fromkeys(("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel"))
    )
    kind = kinds()[fields.pop("kind")]
    spec = build_spec(config, kind, **{"run": "rehearsed", "study": "test"} | fields)
    path = folder / "spec.json"
    path.write_text(spec.model_dump_json())
    launch = str(ROOT / "workflow/scripts/launch.py")
    words = [sys.executable, launch, str(path), "--log", str(folder / "log")]
    return [*words, "--history", str(folder / "attempts")], folder / "record.json"


LINK = {
    "kind": "link",
    "workers": 2,
    "per_worker_batch": 32,
    "protocol": LinkProtocol(bytes=(2**20,), repeats=5, budget_s=60.0),
}


@pytest.mark.slow
def test_a_fault_of_nccl_ends_all_workers_at_once_and_is_tried_again(doubles, tmp_path) -> None:
    words, record = launched(tmp_path, **LINK)
    faults = {"FAKEGPU_NCCL_FAULT_RANK": "1", "FAKEGPU_NCCL_FAULT_SEQNO": "3"}
    ended = doubles.start(*words, folder=tmp_path, **faults)
    output, _ = ended.communicate(timeout=HANG_S)
    assert "NCCL" in output.splitlines()[-1]
    assert not record.exists()
    (attempt,) = History(tmp_path / "attempts").read()
    assert attempt.failure is not None
    assert attempt.failure.cause == "network"
    # Peers that wait in NCCL end by the SIGTERM of their agent, not 30 s later by a SIGKILL.
    assert "forcefully exiting" not in (tmp_path / "log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "cause", "said"),
    [
        ({"WATCHDOG_NCCL_ERROR": "6"}, "network", "NCCL error: remote error"),
        ({"WATCHDOG_CUDA_ERROR": "214"}, "device", "CUDA error: uncorrectable ECC error"),
        ({"WATCHDOG_CUDA_ERROR": "700"}, "error", "CUDA error: an illegal memory access"),
    ],
)
def test_a_fault_that_the_watchdog_of_nccl_finds_is_told_by_its_words(
    doubles, tmp_path, fault, cause, said
) -> None:
    words, record = launched(tmp_path, **LINK)
    at_once = {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}  # it waits a minute to dump what it knows
    doubles.start(*words, folder=tmp_path, **fault, **at_once).communicate(timeout=HANG_S)
    assert not record.exists()
    (attempt,) = History(tmp_path / "attempts").read()
    assert attempt.failure is not None
    assert (attempt.failure.cause, attempt.failure.rank) == (cause, 1)
    assert attempt.failure.message.startswith(said)


def test_a_worker_without_device_memory_is_a_result_and_ends_its_peers(doubles, tmp_path) -> None:
    from dpscale.plan.spec import TimedProtocol, Timing

    timing = Timing(arms=("without_loading",), repeats=1, min_steps=1, warmup_steps=1)
    data = {"repeats": 100, "validation_frac": 0.1}
    words, record = launched(
        tmp_path,
        kind="timed",
        workers=2,
        per_worker_batch=60_000,
        protocol=TimedProtocol(timing=timing),
    )
    spec = json.loads((tmp_path / "spec.json").read_text())
    (tmp_path / "spec.json").write_text(json.dumps(spec | {"data": spec["data"] | data}))
    ended = doubles.start(*words, folder=tmp_path)
    output, _ = ended.communicate(timeout=HANG_S)
    assert ended.returncode == 0, output
    assert read_record(record).status == "out_of_memory"


# As cuDNN's search for an engine does, which has no double.
SWALLOWS = """
import sys, torch
from pathlib import Path
from dpscale.studies import read_spec
from dpscale.train.run import run

def measure(spec, task, place):
    try:
        torch.empty(2**31, device=place.device)
    except torch.OutOfMemoryError:
        pass
    raise RuntimeError("GET was unable to find an engine to execute this computation")

spec = read_spec(Path(sys.argv[1]).read_bytes())
sys.modules["planted"] = sys.modules["__main__"]
run(spec, "planted:measure", record=Path("record.json"), steps=Path("steps.parquet"))
"""


def test_an_allocation_that_failed_behind_other_words_is_out_of_memory(doubles, tmp_path) -> None:
    launched(tmp_path, **(LINK | {"workers": 1}))
    script = tmp_path / "swallows.py"
    script.write_text(SWALLOWS)
    words = [sys.executable, str(script), str(tmp_path / "spec.json")]
    ended = doubles.start(*words, folder=tmp_path, PYTHONPATH=str(ROOT / "workflow/scripts"))
    output, _ = ended.communicate(timeout=HANG_S)
    record = read_record(tmp_path / "record.json")
    assert record.status == "out_of_memory", output
    assert "unable to find an engine" in str(record.message)
    assert record.rank_devices[0]["num_ooms"] == 1


def test_peaks_of_e2_do_not_hold_the_images_that_batches_are_made_from(doubles, tmp_path) -> None:
    images = DataConfig(
        dataset="synthetic",
        channels=3,
        image_size=32,
        classes=10,
        samples=50_000,
        loader="resident",
    )
    cells = GridProtocol(per_worker_batches=(16, 32), repeats=1, repeat_s=0.01)
    words, path = launched(
        tmp_path,
        kind="grid",
        workers=1,
        per_worker_batch=32,
        data=images,
        protocol=cells,
        model=ModelConfig(name="mlp"),
    )
    ended = doubles.start(*words, folder=tmp_path)
    output, _ = ended.communicate(timeout=HANG_S)
    assert ended.returncode == 0, output
    record = read_record(path)
    # Parameters, gradients and momentum; the images are 3 x 32 x 32 x 50,000 bytes, 154 MB.
    for row in record.grid_memory:
        assert 2 * record.payload_bytes < row["peak_bytes"] < 50e6


# E1 with a budget of three times what there is.
OVERSHOOTS = """
import sys
from pathlib import Path
from dpscale.studies import read_spec
from dpscale.studies.strategies import measure
from dpscale.train.run import run

measure.GPU_SHARE, measure.MOST_GROWTH = 3.0, 2**20
spec = read_spec(Path(sys.argv[1]).read_bytes())
run(spec, "dpscale.studies.strategies.measure:measure_sharing",
    record=Path("record.json"), steps=Path("steps.parquet"))
"""


def test_a_search_that_goes_beyond_the_memory_keeps_all_that_was_measured_before(
    doubles, tmp_path
) -> None:
    (tmp_path / "spec.json").write_text(
        PLAN["strategies-memory-n2"]
        .model_copy(
            update={
                "protocol": SharingProtocol(
                    micro_batches=2, first_steps=2, budget_bytes=None, resolution_frac=0.3
                )
            }
        )
        .model_dump_json()
    )
    (tmp_path / "overshoots.py").write_text(OVERSHOOTS)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = [*torchrun, str(tmp_path / "overshoots.py"), str(tmp_path / "spec.json")]
    ended = doubles.start(
        *words, folder=tmp_path, gpus=2, PYTHONPATH=str(ROOT / "workflow/scripts")
    )
    output, _ = ended.communicate(timeout=HANG_S)
    record = read_record(tmp_path / "record.json")
    assert record.status == "out_of_memory", output
    assert ", search of ddp: CUDA out of memory" in str(record.message)
    needs = record.sharing_memory
    assert {(row["way"], row["rank"]) for row in needs} == {(w, r) for w in WAYS for r in (0, 1)}
    assert {row["way"] for row in record.sharing_losses} == {*WAYS, "ddp_again"}
    *earlier, last = record.sharing_batches
    assert {row["status"] for row in earlier} == {"complete"}
    assert last["status"] == "out_of_memory"
    assert max(row["num_ooms"] for row in record.rank_devices if "num_ooms" in row) > 0


@pytest.mark.slow
def test_gpus_of_two_models_are_refused_by_the_check(doubles, tmp_path) -> None:
    script = str(ROOT / "workflow/scripts/check_machine.py")
    words = [sys.executable, script, "--configfile", str(CONFIG), "--folder", str(tmp_path / "c")]
    ended = doubles.start(*words, folder=tmp_path, DOUBLES_V100_FROM="2")
    output, _ = ended.communicate(timeout=HANG_S)
    assert ended.returncode == 1, output
    (line,) = [line for line in output.splitlines() if "different devices" in line]
    assert "rank 0, 1 on" in line
    assert ": Rehearsal A100 (300 W" in line
    assert "rank 2, 3 on" in line
    assert ": Rehearsal V100 (300 W" in line


def test_workers_of_two_nodes_meet_over_two_agents(doubles, tmp_path) -> None:
    _, record = launched(tmp_path, **LINK)
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nnodes=2",
        "--nproc-per-node=1",
        "--master-addr=127.0.0.1",
        "--master-port=29517",
    ]
    run = [str(ROOT / "workflow/scripts/run.py"), str(tmp_path / "spec.json")]
    agents = " & ".join(" ".join([*torchrun, f"--node-rank={rank}", *run]) for rank in (0, 1))
    both = doubles.start("sh", "-c", f"{agents}; wait", folder=tmp_path, gpus=1, nodes=2)
    output, _ = both.communicate(timeout=HANG_S)
    assert read_record(record).status == "complete", output
    assert read_record(record).nodes == 2
