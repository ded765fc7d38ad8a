"""What formulas say of the lab as asked, worked by hand, and what stood in its place."""

import math

import pandas as pd
import pytest

from builders import derived_lab, full_lab, runs_table
from dpscale.config.reading import read_mapping
from dpscale.derive.columns import as_table
from dpscale.studies import derived_of, tables
from dpscale.studies.cluster.derive import cells, stand_ins, transfers
from dpscale.studies.cluster.lab import FILE, lab


def elbow(
    lost: int | None, largest: int = 256, unscaled_ratio: float | None = None
) -> pd.DataFrame:
    """The linear rule: its error kept up to twice the reference batch, and lost at another.

    unscaled_ratio: up to how many times the reference batch the rate left as it is keeps it.
    """
    row = {"rule": "linear", "status": "complete", "reference_batch": 32, "elbow_batch": 64}
    row |= {"lost_batch": lost, "largest_batch": largest}
    fixed = row | {"rule": "fixed", "elbow_ratio": unscaled_ratio}
    return as_table([row, fixed], tables()["lr_scaling_elbow"].columns)


def scaling_of(*runs: str) -> pd.DataFrame:
    columns = ["kind", "workers", "per_worker_batch", "speedup_ratio", "speedup_ratio_low"]
    columns += ["speedup_ratio_high", "runs"]
    rows = [("weak", 4, 128, 3.0, 2.5, 3.5, run) for run in runs]
    return pd.DataFrame(rows, columns=columns)


EXPOSED = pd.DataFrame(
    [(4, 128, 0.5, 0.4, 0.6, "r")],
    columns=["workers", "per_worker_batch", "exposed_s", "exposed_s_low", "exposed_s_high", "runs"],
)


def messages_of(*rates: tuple[float, float]) -> pd.DataFrame:
    """Placements of four workers: the rate of the largest all-reduce, and that of plain TCP."""
    rows = [
        {"workers": 4, "operation": operation, "bytes": size, "rate_bytes_per_s": rate, "runs": run}
        for run, (largest, tcp) in enumerate(rates)
        for operation, size, rate in [
            ("allreduce", 1000, largest),
            ("allreduce", 10, 9e9),
            ("tcp", 1000, tcp),
        ]
    ]
    return as_table(rows, tables()["message_times"].columns)


def cell_of(model: str, lost: int | None = 256, messages: pd.DataFrame | None = None) -> dict:
    """The cell of four workers with 128 images each, where such a network was run."""
    runs = runs_table([{"run": "r", "model": model, "dataset": "cifar10"}])
    made = cells(
        scaling_of("r"), runs, EXPOSED, elbow(lost), messages_of() if messages is None else messages
    )
    (row,) = made[(made["workers"] == 4) & (made["per_worker_batch"] == 128)].to_dict("records")
    return row


def test_the_lab_is_that_of_its_configuration() -> None:
    given = read_mapping(FILE)
    assert lab().payload_bytes == 44_695_848
    assert lab().per_worker_batches == (32, 128, 512)
    assert lab().lr == given["training"]["lr"]
    assert lab().reference_batch == 128  # four workers of 32


def test_a_cell_sends_its_payload_in_a_ring_at_the_rate_of_a_link() -> None:
    cell = cell_of("mlp")
    assert cell["iterations"] == 98  # 50,000 / 512, rounded up
    assert cell["sent_bytes"] == 67_043_772 * 98
    assert cell["link_bytes_per_s"] == 12.5e9
    assert cell["transfer_s"] == pytest.approx(0.525623, rel=1e-6)
    assert cell["affordable_base_s"] == pytest.approx(4 * 9 * 0.525623, rel=1e-6)
    assert cell["affordable_step_s"] == pytest.approx(9 * 67_043_772 / 12.5e9)
    assert cell["hidden_step_s"] == pytest.approx(0.9 * 67_043_772 / 12.5e9)


def test_the_least_epoch_is_longer_by_the_share_of_a_link_that_is_reached() -> None:
    cell = cell_of("mlp", messages=messages_of((3e9, 4e9), (1e9, 4e9)))
    assert cell["reached_frac"] == 0.25  # the least of two placements
    assert cell["reached_step_s"] == pytest.approx(4 * 9 * 67_043_772 / 12.5e9)


@pytest.mark.parametrize("rates", [[], [(math.nan, 4e9)], [(3e9, math.nan)], [(9e9, 4e9)]])
def test_a_share_that_was_not_measured_or_is_not_of_tcp_is_none(rates) -> None:
    cell = cell_of("mlp", messages=messages_of(*rates))
    assert pd.isna(cell["reached_frac"])
    assert pd.isna(cell["reached_step_s"])


@pytest.mark.parametrize(
    ("lost", "holds", "lr"),
    [(256, "undecided", 0.4), (128, "lost", None), (None, "undecided", 0.4)],
)
def test_the_rate_follows_the_linear_rule_as_far_as_it_was_not_lost_here(lost, holds, lr) -> None:
    cell = cell_of("mlp", lost)  # four times the reference batch
    assert cell["rule_holds"] == holds
    assert (None if pd.isna(cell["lr"]) else cell["lr"]) == lr


@pytest.mark.parametrize(("unscaled_ratio", "lr"), [(None, None), (2.0, None), (4.0, 0.1)])
def test_where_the_rule_lost_the_error_the_rate_of_the_reference_is_given_if_it_kept_it(
    unscaled_ratio, lr
) -> None:
    runs = runs_table([{"run": "r", "model": "mlp", "dataset": "cifar10"}])
    elbows = elbow(128, unscaled_ratio=unscaled_ratio)
    made = cells(scaling_of("r"), runs, EXPOSED, elbows, messages_of())
    (cell,) = made[made["global_batch"] == 512].to_dict("records")  # four times the reference
    assert cell["rule_holds"] == "lost"
    assert (None if pd.isna(cell["lr"]) else cell["lr"]) == lr


@pytest.mark.parametrize(
    ("workers", "batch", "largest", "holds"),
    [
        (2, 32, 256, "unknown"),  # half of the reference, which S2 starts at
        (4, 32, 256, "kept"),
        (2, 128, 256, "kept"),  # twice
        (4, 128, 64, "unknown"),  # four times, where two were tried
        (4, 512, 64, "unknown"),
    ],
)
def test_of_a_ratio_that_was_not_tried_nothing_is_said(workers, batch, largest, holds) -> None:
    runs = runs_table([{"run": "r", "model": "mlp", "dataset": "cifar10"}])
    made = cells(scaling_of("r"), runs, EXPOSED, elbow(None, largest), messages_of())
    cell = made[(made["workers"] == workers) & (made["per_worker_batch"] == batch)]
    assert cell["rule_holds"].tolist() == [holds]
    assert cell["lr"].notna().all()


def test_without_s2_no_rate_is_carried() -> None:
    runs = runs_table([{"run": "r"}])
    made = cells(scaling_of("r"), runs, EXPOSED, elbow(None).iloc[:0], messages_of())
    assert made["lr"].isna().all()
    assert set(made["rule_holds"]) == {"unknown"}


def test_what_another_network_measured_is_no_speed_up_of_the_lab() -> None:
    cell = cell_of("mlp")
    assert cell["checked"] == "to be measured"
    assert pd.isna(cell["speedup_ratio"])


def test_a_run_of_the_lab_itself_stands_beside_the_formula() -> None:
    cell = cell_of("resnet18_cifar")
    assert cell["checked"] == "measured"
    assert (cell["speedup_ratio"], cell["exposed_s"]) == (3.0, 0.5)


def test_an_all_reduce_on_given_links_and_the_latency_that_takes_as_long() -> None:
    made = transfers(scaling_of("r"), runs_table([{"run": "r"}]))  # of 4,000,000 bytes
    by_payload = made.set_index("payload")
    assert by_payload.loc["lab", "transfer_s"].tolist() == pytest.approx(
        [0.536350176, 0.0536350176, 0.00536350176]
    )
    assert by_payload.loc["here", "level_latency_s"].tolist() == pytest.approx(
        [0.008, 0.0008, 0.00008]
    )


@pytest.mark.parametrize(
    ("run", "devices", "link"),
    [
        ({"device": "CPU core", "devices_per_machine": 2}, "2 CPU cores", "loopback"),
        ({"device": "A100", "devices_per_machine": 4}, "4 GPUs", "machine"),
        ({"device": "A100", "devices_per_machine": 4, "nodes": 2}, "4 GPUs", "network"),
    ],
)
def test_devices_and_link_are_those_of_the_runs(run, devices, link) -> None:
    made = stand_ins(scaling_of("r"), runs_table([{"run": "r"} | run])).set_index("subject")
    assert (made.loc["devices", "here"], made.loc["link", "here"]) == (devices, link)
    assert made.loc["devices", "same"] == (devices == "4 GPUs")


def test_a_study_left_out_leaves_its_columns_null_and_no_error() -> None:
    empty = {name: rows.iloc[:0] for name, rows in full_lab().items()}
    made = derived_of(empty)
    assert made["stand_ins"].empty
    assert set(made["lab_transfers"]["payload"]) == {"lab"}
    assert len(made["lab_cells"]) == len(derived_lab()["lab_cells"]) == 6
