"""The workflow on a real Slurm of two nodes, from the command in the README to the report."""

import json

import pandas as pd
import pytest
import yaml
from workflow import ROOT

from one_launch import allow_one_launch

SMOKE = "config/smoke-cluster.yaml"
# Their runs are launched as the others are, and take most of the time.
ON_DEMAND = ("communication", "sweep", "large_batch", "replicas", "data_parallel", "assignment")


@pytest.mark.parametrize(
    "left_out", [ON_DEMAND, pytest.param((), marks=pytest.mark.slow)], ids=["timed", "whole"]
)
def test_the_smoke_configuration_goes_through_both_nodes_to_the_report(workflow, left_out) -> None:
    config = yaml.safe_load((ROOT / SMOKE).read_text()) | dict.fromkeys(left_out)
    config["scaling"]["workers"] = [1, 4]
    lab = workflow(config | {"launches": 1} if left_out else SMOKE)
    if left_out:
        allow_one_launch(lab.folder)
    assert lab.call() == 0
    results = lab.folder / "results/smoke-cluster"
    assert (results / "report.html").stat().st_size > 100_000
    assert (results / "report.pdf").read_bytes().startswith(b"%PDF")

    scaling = pd.read_csv(results / "derived/scaling.csv").set_index("workers")
    assert scaling["nodes"].to_dict() == {1: 1, 4: 2} | ({} if left_out else {2: 1})
    assert set(scaling["status"]) == {"complete"}
    wire = pd.read_csv(results / "derived/wire.csv").set_index("workers").loc[4]
    assert wire["ledger_bytes"] == wire["predicted_bytes"]
    # Half of the ring's four links lead from node to node; the rest stays on a node.
    assert wire["interface_bytes"] > wire["predicted_bytes"] / 4

    records = [json.loads(path.read_text()) for path in results.glob("runs/*/record.json")]
    assert {record["provenance"]["host"] for record in records} == {"testcluster"}
    # Jobs see the cores that they asked for, one, two or all, of one machine.
    assert len({record["provenance"]["fingerprint"] for record in records}) == 1
    of_four = [record for record in records if record["spec"]["workers"] == 4]
    assert {tuple(record["rank_nodes"]) for record in of_four} == {("n1", "n1", "n2", "n2")}
    # Both nodes have the same two cores.
    shares = {(one["workers_per_machine"], one["devices_per_machine"]) for one in of_four}
    assert shares == {(4, 2)}
    assert {one["oversubscribed"] for one in of_four} == {True}

    assert lab.call() == 0
    assert "Nothing to be done" in lab.output()
