"""Checks the machine before the first run: GPUs, driver, cores, memory, disk, a step, network.

On each node of the widest planned run it looks at what a worker gets there, and makes a step of the
configured network on two samples; then the workers of all nodes exchange a message. Prints a line
for each node, and one for each thing that is wrong, with what to do; the exit status is 1 where
something is wrong. On a cluster it has to run in a job: `snakemake --profile slurm` begins with it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from dpscale.arguments import add_config, config_of
from dpscale.attempts import Failure, History
from dpscale.config import ConfigError
from dpscale.errors import one_line
from dpscale.launch.check import (
    NodeFacts,
    group_finding,
    model_findings,
    node_findings,
    notes,
    patience_s,
)
from dpscale.launch.command import on_nodes
from dpscale.launch.machine import machine
from dpscale.plan import Spec, check_spec, exchange_of
from dpscale.records import read_record, write_text
from dpscale.records.storage import about
from dpscale.studies import planned_runs, read_spec

SCRIPTS = Path(__file__).parent
NODE_S, GROUP_S, GRACE_S = 1200.0, 300.0, 30.0  # with an import of torch that takes no time
IMPORT_S = 1800.0


def main() -> int:
    """Read the command line, and check; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_config(parser)
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--spec", help="spec of the check, as JSON (the workflow's rule)")
    wanted.add_argument("--on-node", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument(
        "--folder", type=Path, help="of what is found; default: results/<name>/check"
    )
    parser.add_argument("--output", type=Path, help="JSON file of the nodes, where all is well")
    given = parser.parse_args()
    if given.on_node:
        look_at_node(given.on_node)
        return 0
    if given.spec:
        with about("--spec"):
            spec = read_spec(given.spec)
        folder = given.folder or Path("results/check")
    else:
        config = config_of(given)
        spec = check_spec(config, planned_runs(config))
        folder = given.folder or Path("results", config.name, "check")
    with machine("the check of the machine", alone=True):
        found = check(spec, folder)
    for line in found:
        print(f"check_machine.py: {line}", file=sys.stderr)
    if not found:
        print(f"check_machine.py: {spec.workers} workers can train here")
        if given.output:
            nodes = {node.node: node.model_dump() for node in facts_in(folder)}
            write_text(given.output, json.dumps(nodes, indent=1))
    return 1 if found else 0


def check(spec: Spec, folder: Path) -> list[str]:
    """A line for each thing that is wrong; says what is there, and leaves it in the folder."""
    for earlier in [*folder.glob("node-*.json"), folder / "record.json"]:
        earlier.unlink(missing_ok=True)
    write_text(folder / "check.json", spec.model_dump_json())
    words = [sys.executable, str(SCRIPTS / "check_machine.py"), "--on-node", str(folder)]
    if (import_s := torch_import_s()) is None:
        return [
            f"torch is not imported here within {IMPORT_S:.0f} s; put the environment on a faster "
            "file system"
        ]
    with suppress(subprocess.TimeoutExpired):  # a node that did not answer in time is missing
        limit_s = patience_s(NODE_S, import_s)
        subprocess.run(on_nodes(spec, words, os.environ), timeout=limit_s, check=False)
    nodes = facts_in(folder)
    for node in nodes:
        print(f"check_machine.py: {node.described()}", flush=True)
        for note in notes(spec, node):
            print(f"check_machine.py: {note}", flush=True)
    found = node_findings(spec, nodes)
    if not found:
        limit_s = patience_s(GROUP_S, import_s)
        found += exchange(exchange_of(spec), folder / "spec.json", limit_s)
    return found


def torch_import_s() -> float | None:
    """Seconds that a process takes here to import torch, which may lie on a cold network disk.

    None where IMPORT_S were not enough.
    """
    began_s = time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", "import torch"], timeout=IMPORT_S, check=False)
        return time.monotonic() - began_s
    return None


def facts_in(folder: Path) -> list[NodeFacts]:
    """What the nodes left in a folder."""
    texts = [path.read_bytes() for path in sorted(folder.glob("node-*.json"))]
    return [NodeFacts.model_validate_json(text) for text in texts]


def look_at_node(folder: Path) -> None:
    """Leave the facts of this node in the folder."""
    began_s = time.monotonic()
    from dpscale.train.check import node_facts  # not above: torch takes seconds

    import_s = time.monotonic() - began_s
    spec = read_spec((folder / "check.json").read_bytes())
    places = [folder.parent, Path(spec.data.root), Path(tempfile.gettempdir())]
    facts = node_facts(spec, places, import_s)
    write_text(folder / f"node-{facts.node}.json", facts.model_dump_json(indent=1))


def exchange(spec: Spec, path: Path, limit_s: float) -> list[str]:
    """Have the workers exchange messages, started as those of a run; a line for what is wrong."""
    write_text(path, spec.model_dump_json())
    log, history = path.with_name("log.txt"), path.with_name("attempts")
    launch = subprocess.Popen(
        [
            sys.executable,
            str(SCRIPTS / "launch.py"),
            str(path),
            "--log",
            str(log),
            "--history",
            str(history),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        if launch.wait(limit_s) == 0:
            record = read_record(path.with_name("record.json"))
            return model_findings(record.rank_nodes, record.rank_devices)
        failure: Failure | None = History(history).read()[-1].failure
    except subprocess.TimeoutExpired:
        launch.terminate()
        launch.wait(GRACE_S)
        failure = None
    return [group_finding(spec, failure, log)]


if __name__ == "__main__":
    with one_line("check_machine.py"):
        try:
            sys.exit(main())
        except ConfigError as error:
            sys.exit(str(error))
