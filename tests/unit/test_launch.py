"""The commands that start a run, and what is asked of Slurm; nothing is started here."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dpscale.attempts import Process
from dpscale.launch import leftovers, slurm
from dpscale.launch.command import BATCH_STEP, LaunchError, command, torchrun_arguments
from dpscale.launch.interface import address_towards, interface_of, use_loopback, use_route
from dpscale.launch.meeting import Meeting, meeting_place
from dpscale.launch.node import cpus_per_node, memory_per_node_mb
from dpscale.plan.spec import TIMED, RunProtocol, Spec, TimedProtocol, Timing, build_spec
from dpscale.processes import born, end_with_parent, identity, lives
from dpscale.studies import load_config

STEP = {"SLURM_JOB_ID": "20007", "SLURM_NODEID": "1", "SLURM_JOB_NODELIST": "n[1-2]"}


def spec(workers: int, workers_per_node: int | None = None) -> Spec:
    hardware = {"allow_oversubscription": True, "workers_per_node": workers_per_node}
    config = load_config(
        {
            "name": "t",
            "hardware": hardware,
            "scaling": None,
            "sweep": None,
            "large_batch": None,
            "replicas": None,
            "ledger": None,
        }
    )
    return build_spec(
        config,
        TIMED,
        run="a",
        study="scaling",
        workers=workers,
        per_worker_batch=8,
        protocol=RunProtocol(),
    )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What Slurm's commands print, by their words."""
    printed = {
        "scontrol show hostnames n[1-2]": "n1\nn2\n",
        "scontrol show node n1": "NodeName=n1 Arch=x86_64\n   NodeAddr=10.0.0.1 NodeHostName=n1",
    }
    monkeypatch.setattr(slurm, "_answer", lambda *words: printed.get(" ".join(words)))
    return printed


def test_one_worker_is_one_process():
    words = command(spec(1), Path("spec.json"), Path("attempts"), {})
    assert words[0] == sys.executable
    assert [Path(word).name for word in words[1:]] == ["run.py", "spec.json"]


def test_workers_of_one_node_share_one_agent_in_and_outside_a_job():
    for environment in ({}, {"SLURM_JOB_ID": "7"}):
        words = command(spec(4), Path("spec.json"), Path("attempts"), environment)
        assert Path(words[1]).name == "agent.py"
        assert words[2:6] == ["--nodes", "1", "--workers", "4"]


def test_each_node_of_a_job_gets_one_agent():
    # All that the plugin's job step leaves of Slurm's variables, as to its size.
    words = command(spec(4, 2), Path("spec.json"), Path("attempts"), {"SLURM_JOB_ID": "7"})
    assert words[:5] == [
        "srun",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=2",
    ]
    assert "--kill-on-bad-exit=1" in words


def test_one_node_of_a_submitted_job_is_a_step_with_as_many_cores_as_one_of_two_nodes():
    job = {"SLURM_JOB_ID": "7", BATCH_STEP: "1"}
    for workers in (1, 2):
        words = command(spec(workers, 2), Path("spec.json"), Path("attempts"), job)
        assert words[:5] == [
            "srun",
            "--nodes=1",
            "--ntasks=1",
            "--ntasks-per-node=1",
            f"--cpus-per-task={workers}",
        ]
        assert "--label" not in words


def changed(made: Spec, section: str, **values: object) -> Spec:
    return made.model_copy(update={section: getattr(made, section).model_copy(update=values)})


def test_a_node_gets_cores_for_the_threads_and_loading_processes_of_its_workers():
    two = changed(spec(4, 2), "hardware", threads_per_worker=3)
    assert cpus_per_node(two) == 2 * 3
    assert cpus_per_node(changed(two, "data", loader_workers=2)) == 2 * (3 + 2)
    assert cpus_per_node(spec(1)) == 1
    assert cpus_per_node(spec(4)) == 4


def test_loading_processes_take_no_cores_where_images_stay_on_the_device():
    loads = changed(spec(2), "data", loader_workers=2)
    assert cpus_per_node(loads) == 6
    assert cpus_per_node(changed(loads, "data", loader="resident")) == 2
    assert cpus_per_node(loads.model_copy(update={"kind": "scaled"})) == 2


def test_one_process_on_several_devices_counts_as_so_many_workers():
    timing = Timing(arms=("without_loading",), repeats=1, min_steps=1, warmup_steps=1)
    scattered = TimedProtocol(timing=timing, scatter_devices=4)
    assert cpus_per_node(spec(1).model_copy(update={"protocol": scattered})) == 4


def sweep_of_cifar10(batch: int | None) -> Spec:
    """The limit track's: 50,000 images of 3,072 values, four times over."""
    resident = {"dataset": "cifar10", "validation_frac": 0.0, "repeats": 4, "loader": "resident"}
    return changed(spec(1), "data", **resident).model_copy(update={"per_worker_batch": batch})


def test_memory_of_the_host_grows_with_the_batch_and_the_size_of_a_sample():
    # 200,000 images of 3,072 bytes, and 131,072 as float32 in three copies: 614.4 MB and 4.83 GB.
    assert memory_per_node_mb(sweep_of_cifar10(131_072), 4000) == 4000 + 5194
    assert memory_per_node_mb(sweep_of_cifar10(32), 4000) == 4000 + 588
    # Two workers with a thread of their own and two loading processes each: 64 values a sample,
    # 1,437 less 144 of digits and 8 of a batch in 3 + 4 copies, below 1 MiB a worker.
    two = changed(spec(2), "data", loader_workers=2)
    assert memory_per_node_mb(two, 4000) == 2 * 4001


def test_a_batch_beyond_the_dataset_or_yet_unknown_takes_no_more_than_all_samples():
    all_samples = memory_per_node_mb(sweep_of_cifar10(200_000), 4000)
    assert memory_per_node_mb(sweep_of_cifar10(800_000), 4000) == all_samples
    assert memory_per_node_mb(sweep_of_cifar10(None), 4000) == all_samples
    own = changed(spec(1), "data", dataset="own")
    assert memory_per_node_mb(own, 4000) == 4000


def test_several_nodes_without_slurm_are_refused_with_a_way_out():
    with pytest.raises(LaunchError, match=r"2 nodes.*--profile slurm.*workers_per_node"):
        command(spec(4, 2), Path("spec.json"), Path("attempts"), {})


def test_the_rendezvous_is_at_the_first_node(answers):
    assert meeting_place(2, STEP) == Meeting(("n1", "n2"), 1, "10.0.0.1", 20_007)


def test_a_node_that_slurm_does_not_describe_is_reached_by_its_name(answers):
    del answers["scontrol show node n1"]
    assert meeting_place(2, STEP).address == "n1"


def test_the_first_node_listens_where_the_second_sees_it(answers):
    answers["scontrol show node n2"] = "NodeAddr=127.0.0.2 NodeHostName=n2"
    meeting = meeting_place(2, STEP | {"SLURM_NODEID": "0"})
    assert (meeting.leads, meeting.address) == (True, "127.0.0.1")


def test_one_node_meets_itself_where_nobody_else_can_come():
    meeting = meeting_place(1, {})
    assert (meeting.nodes, meeting.leads) == (1, True)
    assert (meeting.address, meeting.port) == ("127.0.0.1", 0)


def test_the_workers_of_one_machine_talk_over_its_loopback(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "ib0")
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)
    use_loopback()
    assert os.environ["GLOO_SOCKET_IFNAME"] == os.environ["NCCL_SOCKET_IFNAME"] == "lo"


def test_torchrun_starts_as_many_workers_on_each_node():
    assert "--nproc-per-node=2" in torchrun_arguments(2, 4)


def test_workers_that_do_not_fill_the_nodes_are_refused():
    with pytest.raises(LaunchError, match="3 workers cannot be shared by 2 nodes"):
        torchrun_arguments(2, 3)


def test_the_plan_puts_workers_on_as_few_nodes_as_hold_them():
    assert [spec(n, 2).nodes for n in (1, 2, 4)] == [1, 1, 2]
    assert spec(4).nodes == 1
    assert spec(4, 2).hardware == spec(4).hardware


def test_nodes_that_are_down_or_drained_or_silent_take_no_jobs(answers):
    answers["sinfo --noheader --Node --responding --format=%N|%t"] = (
        "n1|idle\nn1|idle\nn2|alloc\nn3|down\nn4|drain\nn5|idle*\nn6|mix\n"
    )
    assert slurm.nodes_up() == ["n1", "n2", "n6"]


def test_only_jobs_that_snakemake_submitted_from_this_folder_are_its_leftovers(answers):
    answers["squeue --me --noheader --format=%i|%T|%k|%r|%Z"] = (
        "1|RUNNING|rule_scaling_run_wildcards_a|None|/lab\n2|PENDING|rule_sweep_run|None|/other\n"
        "3|PENDING|(null)|None|/lab\n"
    )
    assert slurm.jobs_of(Path("/lab")) == ["1"]


def test_a_command_that_slurm_lacks_or_fails_says_nothing():
    assert slurm.ask("no-such-command-of-slurm") == ""
    assert slurm.ask("false") == ""


def test_the_interface_of_an_address_is_found_and_none_for_nonsense():
    assert address_towards("127.0.0.1") == "127.0.0.1"
    assert address_towards("no.such.host.invalid") is None
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("203.0.113.7") is None


def test_the_first_node_looks_for_its_interface_towards_the_second(answers):
    answers["scontrol show node n2"] = "NodeAddr=10.0.0.2 NodeHostName=n2"
    assert slurm.peer_address(STEP | {"SLURM_NODEID": "0"}) == "10.0.0.2"
    assert slurm.peer_address(STEP) == "10.0.0.1"


def test_gloo_never_uses_the_loopback_interface_between_nodes(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    with pytest.raises(LaunchError, match=r"127\.0\.1\.1.*leads back to this node.*GLOO_SOCKET_"):
        use_route("127.0.1.1")  # as Debian's /etc/hosts has it for the host's own name
    assert "GLOO_SOCKET_IFNAME" not in os.environ
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "ib0")
    use_route("127.0.1.1")
    assert os.environ["GLOO_SOCKET_IFNAME"] == "ib0"


def test_a_process_is_known_by_its_number_and_its_birth():
    assert born(os.getpid()) == born(os.getpid()) is not None
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert born(ended.pid) is None


def test_an_identity_is_of_one_process_alone():
    own = identity(os.getpid())
    assert lives(own)
    assert not lives(f"{os.getpid()} {(born(os.getpid()) or 0) - 1}")
    ended = subprocess.Popen(["true"])
    known = identity(ended.pid)
    ended.wait()
    assert not lives(known)


def test_a_process_whose_parent_died_before_it_asked_ends_at_once():
    not_the_parent = os.getppid()
    child = os.fork()
    if child == 0:
        end_with_parent(not_the_parent)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1


def lock(folder: Path, process: int, host: str = "") -> Path:
    """A folder locked by a snakemake that noted itself."""
    (folder / leftovers.LOCKS).mkdir(parents=True)
    locked = folder / leftovers.LOCKS / "0.input.lock"
    locked.touch()
    host = host or socket.gethostname()
    caller = Process(host=host, process=process, born=born(process) or 1)
    (folder / leftovers.NOTES).mkdir(parents=True)
    (folder / leftovers.NOTES / "caller.json").write_text(caller.model_dump_json())
    return locked


def test_the_lock_of_a_dead_snakemake_is_removed(tmp_path, capsys):
    ended = subprocess.Popen(["true"])
    ended.wait()
    locked = lock(tmp_path, ended.pid)
    leftovers.remove_stale_lock(tmp_path)
    assert not locked.exists()
    assert f"process {ended.pid}) was killed; its lock is removed" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["", "another"])
def test_the_lock_of_a_living_or_distant_snakemake_stays(tmp_path, host):
    locked = lock(tmp_path, os.getpid() if not host else 1, host)
    leftovers.remove_stale_lock(tmp_path)
    assert locked.exists()


def test_jobs_of_a_living_snakemake_of_the_same_folder_are_left_alone(tmp_path, answers):
    answers["squeue --me --noheader --format=%i|%T|%k|%r|%Z"] = (
        f"1|PENDING|rule_a|None|{tmp_path}\n"
    )
    lock(tmp_path, os.getpid())
    leftovers.take_over(tmp_path, tmp_path / "attempts")  # would wait for the job's end otherwise
