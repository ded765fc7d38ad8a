"""A real Slurm on one machine: a controller and nodes, each in a network namespace of its own.

The nodes have host names, addresses and an /etc/hosts of their own; the switch between them is the
login node. Needs root, Debian's slurm-wlm and munge, ip and unshare.

By hand: python tests/slurm/cluster.py -- COMMAND runs COMMAND on the login node of a new cluster.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

sys.path.append(str(Path(__file__).resolve().parents[1]))
from namespaces import join, kill_inside, lacking, make_switch, remove, run
from patience import HANG_S, until

TOOLS = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "munged": "munge", "ip": "iproute2"}
NETWORK = "10.78.0"
LOGIN = f"{NETWORK}.254"
CPUS, GPUS, MEMORY_MB = 2, 2, 4000
CONFIG = """
ClusterName=testcluster
SlurmctldHost=login({login})
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=20
SchedulerParameters=batch_sched_delay=0,sched_interval=2
KillWait=10
MinJobAge=600
NodeName=n[1-{nodes}] NodeAddr={network}.[1-{nodes}] CPUs={cpus} Boards=1 SocketsPerBoard=1 \
CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
"""

# Words of a shell that make a node of what runs after them.
ENTER = """
mount --bind "$1/etc" /etc/slurm && mount --bind "$1/hosts" /etc/hosts && hostname "$2"
unset SLURM_CONF; shift 2; exec "$@"
"""


def missing() -> str | None:
    """Why no cluster can be started here, or None."""
    if reason := lacking(TOOLS):
        return reason
    if len(os.sched_getaffinity(0)) < CPUS:
        return f"needs {CPUS} cores"
    tried = f"dps{os.getpid()}x"
    try:
        run("ip", "netns", "add", tried)
    except RuntimeError as error:
        return f"no network namespaces: {error}"
    remove([tried])
    return None


class Cluster:
    """Nodes n1, n2, ..., up while the block runs; nothing is left of them after.

    Each has 2 CPUs, to which it binds what runs on it, and 2 GPUs that are device files alone. They
    are the same CPUs on all nodes, those of the machine.
    """

    def __init__(self, nodes: int = 2) -> None:
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.folder = Path(tempfile.mkdtemp(prefix="dpscale-slurm-"))
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Cluster":
        try:
            self._connect()
            self._configure()
            self._start_daemons()
            self.wait_until(lambda: self.states() == {"idle"})
        except BaseException as error:
            error.add_note(self.logs())
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error:
            error.add_note(self.logs())
        self._remove()

    def start(self, *command: str, node: str = "login", **options: object) -> subprocess.Popen[str]:
        """Start a command on a node, by default on the login node, in a session of its own."""
        words = [*self._on(node), *command]
        return subprocess.Popen(words, text=True, start_new_session=True, **options)  # type: ignore[call-overload, no-any-return]

    def run(self, *command: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node."""
        words = [*self._on("login"), *command]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            words, capture_output=True, text=True, timeout=HANG_S, check=False, **options
        )

    def states(self) -> set[str]:
        """States of the nodes, as sinfo words them."""
        return set(self.run("sinfo", "--noheader", "--Node", "--format=%t").stdout.split())

    def jobs(self, *states: str) -> dict[str, str]:
        """Comments of the jobs in some states (default: all that wait or run), by number."""
        wanted = [f"--states={','.join(states)}"] if states else []
        lines = self.run("squeue", "--noheader", "--format=%i|%k", *wanted).stdout.split("\n")
        return dict(line.split("|", 1) for line in lines if "|" in line)

    def kill_slurmd(self, node: str) -> None:
        """End a node's daemon with SIGKILL, as a crash would."""
        self._daemons[node].kill()
        self._daemons[node].wait()

    def crash(self, node: str) -> None:
        """End everything on a node."""
        self.kill_slurmd(node)
        kill_inside(self._namespace(node))

    def start_slurmd(self, node: str) -> None:
        """Start a node's daemon again."""
        self._daemons[node] = self._daemon("slurmd", "-D", "-N", node, node=node)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, as long as all daemons live but those that a test ended."""
        dead = {name for name, daemon in self._daemons.items() if daemon.poll() is not None}

        def reached() -> object:
            for name, daemon in self._daemons.items():
                assert name in dead or daemon.poll() is None, f"{name} has ended"
            return condition()

        until(reached)

    def logs(self) -> str:
        """The last lines of the daemons' logs."""
        parts = []
        for path in sorted(self.folder.glob("*.log")):
            lines = path.read_text(errors="replace").splitlines()[-15:]
            parts.append("\n".join([f"== {path.name}", *lines]))
        return "\n".join(parts)

    def _on(self, node: str) -> list[str]:
        """Words before a command that run it on a node: its network, host name and /etc.

        Not by `ip netns exec`, whose new /sys lacks the control groups that slurmd looks for.
        """
        network = f"--net=/run/netns/{self._namespace(node)}"
        own = ["nsenter", network, "unshare", "--mount", "--uts", "sh", "-ec", ENTER, "sh"]
        return [*own, str(self.folder), node]

    def _namespace(self, node: str) -> str:
        return f"dps{os.getpid()}{node}"

    def _connect(self) -> None:
        switch = self._namespace("login")
        make_switch(switch)
        run("ip", "-n", switch, "addr", "add", f"{LOGIN}/24", "dev", "br0")
        run("ip", "-n", switch, "link", "set", "lo", "up")
        for number, node in enumerate(self.nodes, start=1):
            address = f"{NETWORK}.{number}"
            join(switch, self._namespace(node), port=node, interface="eth0", address=address)

    def _configure(self) -> None:
        """Write slurm.conf, gres.conf and hosts, which each node sees in its /etc."""
        text = CONFIG.format(
            folder=self.folder,
            login=LOGIN,
            network=NETWORK,
            nodes=len(self.nodes),
            cpus=CPUS,
            gpus=GPUS,
            memory=MEMORY_MB,
            port=20_000 + os.getpid() % 10_000,
        )
        hosts = ["127.0.0.1 localhost", f"{LOGIN} login"]
        hosts += [f"{NETWORK}.{number} {node}" for number, node in enumerate(self.nodes, start=1)]
        Path("/etc/slurm").mkdir(exist_ok=True)
        for folder in ("etc", "dev", "state", *(f"spool-{node}" for node in self.nodes)):
            (self.folder / folder).mkdir()
        (self.folder / "etc/slurm.conf").write_text(text)
        for number in range(GPUS):  # a device file each, whatever the device
            (self.folder / f"dev/gpu{number}").symlink_to("/dev/null")
        gpus = f"AutoDetect=off\nName=gpu File={self.folder}/dev/gpu[0-{GPUS - 1}]\n"
        (self.folder / "etc/gres.conf").write_text(gpus)
        (self.folder / "hosts").write_text("\n".join(hosts) + "\n")

    def _start_daemons(self) -> None:
        key, socket = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.folder.chmod(0o755)
        self._daemons["munged"] = self._daemon(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={socket}",
            f"--log-file={self.folder}/munged.log",
            f"--pid-file={self.folder}/munged.pid",
            f"--seed-file={self.folder}/munged.seed",
            "--num-threads=2",
        )
        self.wait_until(socket.exists)
        self._daemons["slurmctld"] = self._daemon("slurmctld", "-D", "-c")
        for node in self.nodes:
            self.start_slurmd(node)

    def _daemon(self, *command: str, node: str = "login") -> subprocess.Popen[bytes]:
        output = (self.folder / f"{command[0]}-{node}.out.log").open("ab")
        # Told to end by the kernel when the tests themselves are killed.
        words = ["setpriv", "--pdeathsig", "TERM", *self._on(node), *command]
        return subprocess.Popen(words, stdout=output, stderr=output, start_new_session=True)

    def _remove(self) -> None:
        if "slurmctld" in self._daemons:
            self.run("scancel", "--user=root")
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        namespaces = [self._namespace(node) for node in ("login", *self.nodes)]
        for namespace in namespaces:
            kill_inside(namespace)
        remove(namespaces)
        shutil.rmtree(self.folder, ignore_errors=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2, help="nodes (default: %(default)s)")
    parser.add_argument("command", nargs="+", help="what to run on the login node")
    options = parser.parse_args(arguments)
    if reason := missing():
        sys.exit(f"cluster.py: {reason}")
    with Cluster(options.nodes) as cluster:
        return cluster.start(*options.command).wait()


if __name__ == "__main__":
    sys.exit(main())
