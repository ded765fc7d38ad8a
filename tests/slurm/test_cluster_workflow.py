"""The workflow on a real Slurm of two nodes, from the command in the README to the report."""

import json
from collections.abc import Callable

import pandas as pd
from workflow import Workflow


def test_the_smoke_configuration_goes_through_both_nodes_to_the_report(
    workflow: Callable[[str], Workflow],
) -> None:
    lab = workflow("config/smoke-cluster.yaml")
    assert lab.call(timeout_s=900) == 0
    results = lab.folder / "results/smoke-cluster"
    assert (results / "report.html").stat().st_size > 100_000
    assert (results / "report.pdf").read_bytes().startswith(b"%PDF")

    scaling = pd.read_csv(results / "derived/scaling.csv").set_index("workers")
    assert scaling["nodes"].to_dict() == {1: 1, 2: 1, 4: 2}
    assert set(scaling["status"]) == {"complete"}
    wire = pd.read_csv(results / "derived/wire.csv").set_index("workers").loc[4]
    assert wire["ledger_bytes"] == wire["predicted_bytes"]
    # Half of the ring's four links lead from node to node; the rest stays on a node.
    assert wire["interface_bytes"] > wire["predicted_bytes"] / 4

    records = [json.loads(path.read_text()) for path in results.glob("runs/*/record.json")]
    assert {record["provenance"]["host"] for record in records} == {"testcluster"}
    of_four = [record for record in records if record["spec"]["workers"] == 4]
    assert {tuple(record["rank_nodes"]) for record in of_four} == {("n1", "n1", "n2", "n2")}

    assert lab.call() == 0
    assert "Nothing to be done" in lab.output()
