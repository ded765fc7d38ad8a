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


@pytest.mark.slow
def test_a_look_launches_runs_of_fewer_nodes_than_its_job_has(workflow) -> None:
    config = yaml.safe_load((ROOT / SMOKE).read_text())
    kept = ("name", "report", "hardware", "data", "model", "launches", "scaling")
    config = {key: value if key in kept else None for key, value in config.items()}
    config["scaling"]["workers"] = [1, 4]
    lab = workflow(config | {"launches": 1, "repeat_minutes": 2, "audit": None})
    allow_one_launch(lab.folder)
    # Of one launch each nothing is known: whatever has a speed-up is launched again.
    looks = lab.folder / "workflow/scripts/dpscale/studies/scaling/derive/looks.py"
    text = looks.read_text(encoding="utf-8")
    judged = ' and bool(row["pace"] == "indistinct")'
    assert judged in text
    looks.write_text(text.replace(judged, ""), encoding="utf-8")
    assert lab.call() == 0
    records = {
        path.parent.name: json.loads(path.read_text())
        for path in (lab.folder / "results/smoke-cluster").glob("runs/*/record.json")
    }
    nodes = {run: record["rank_nodes"] for run, record in records.items() if "again" in run}
    assert nodes["scaling-n4-b32-again1"] == ["n1", "n1", "n2", "n2"]
    assert nodes["scaling-n1-b32-again1"] in (["n1"], ["n2"])
    assert len({record["provenance"]["fingerprint"] for record in records.values()}) == 1
