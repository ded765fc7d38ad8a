"""E1: times, bytes, memory and agreement of the ways, against values worked by hand."""

from itertools import pairwise

import pandas as pd
import pytest
import torch

import strategies_builders
from builders import Tables, empty_lab, run_row, step_rows, table
from dpscale.studies import derived_of
from dpscale.studies.strategies.derive import (
    ENLARGED,
    ROUNDING_FP32,
    ROUNDINGS,
    strategies,
    strategy_needs,
)
from strategies_builders import HEADERS, STEP_S, S


def lab(**options: object) -> Tables:
    rows = strategies_builders.rows(run_row, step_rows, **options)  # type: ignore[arg-type]
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


def by_way(derived: pd.DataFrame, workers: int) -> pd.DataFrame:
    return derived[derived["workers"] == workers].set_index("way")


def test_a_step_is_the_median_over_launches_and_its_ratio_that_of_each_launch() -> None:
    derived = derived_of(lab())["strategies"]
    for workers in (2, 4):
        found = by_way(derived, workers)
        for way, seconds in STEP_S.items():
            assert found.loc[way, "step_s"] == pytest.approx(seconds * workers / 2)
            ratio = found.loc[way, ["to_ddp_ratio", "to_fastest_ratio"]].tolist()
            assert ratio == pytest.approx([seconds / STEP_S["ddp"]] * 2)
        assert (found["launches"] == 3).all()
        assert found["launch_spread_frac"].tolist() == pytest.approx([0.04] * 5)
        assert found["to_ddp"].tolist()[1:] == ["above"] * 4
        assert pd.isna(found.loc["ddp", "to_ddp"])


def test_the_fastest_way_is_the_base_of_its_own_column() -> None:
    derived = derived_of(lab(step_s=STEP_S | {"zero1": 0.005}))["strategies"]
    found = by_way(derived, 2)
    assert found.loc["ddp", "to_fastest_ratio"] == pytest.approx(2.0)
    assert found.loc["ddp", "to_fastest"] == "above"
    assert found.loc["zero1", "to_ddp_ratio"] == pytest.approx(0.5)
    assert found.loc["zero1", "to_ddp"] == "below"
    assert pd.isna(found.loc["zero1", "to_fastest"])


@pytest.mark.parametrize(("backend", "scatter"), [("gloo", 2), ("nccl", 1)])
def test_bytes_of_the_formula_and_of_the_ledger(backend, scatter) -> None:
    tidy = lab(backend=backend)
    derived = strategies(
        derived_of(tidy)["epoch_times"], tidy["collectives"], tidy["wire"], tidy["runs"]
    )
    for workers in (2, 4):
        found, unit = by_way(derived, workers), (workers - 1) * S
        assert (found["predicted_bytes"] / unit).tolist() == [2, 2, 3, 3, 2]
        sent = [2, 2, 3, 2 + scatter, 1 + scatter]
        assert (found["ledger_bytes"] / unit).tolist() == sent
        if backend == "gloo":
            counted = [one * HEADERS * unit for one in sent]
            assert found["interface_bytes"].tolist() == pytest.approx(counted)


def test_memory_is_that_of_the_worker_with_most_and_the_batch_ends_within_the_budget() -> None:
    found = by_way(derived_of(lab())["strategy_needs"], 4)
    assert (found["peak_bytes"] / S).tolist() == [6, 6, 5, 3, 3.2]
    assert (found["state_bytes"] / S).tolist() == [2, 2, 1, 1, 1]
    assert found["fits_batch"].tolist() == [700, 2300, 1000, 1500, 1300]
    assert found["fails_batch"].tolist() == [750, 2350, 1050, 1550, 1350]


def test_a_batch_beyond_one_that_fails_does_not_fit() -> None:
    tidy = lab()
    rows = tidy["sharing_batches"]
    fits = (rows["way"] == "ddp") & (rows["per_worker_batch"] == 3 * 700)
    tidy["sharing_batches"] = rows.assign(peak_bytes=rows["peak_bytes"].mask(fits, 0))
    found = by_way(derived_of(tidy)["strategy_needs"], 2)
    assert found.loc["ddp", ["fits_batch", "fails_batch"]].tolist() == [700, 750]


def test_without_a_budget_no_batch_is_known() -> None:
    tidy = lab()
    tidy["sharing_batches"] = tidy["sharing_batches"].iloc[:0]
    found = derived_of(tidy)["strategy_needs"]
    assert found[["fits_batch", "fails_batch", "budget_bytes"]].isna().all().all()


def test_a_batch_that_ran_out_of_memory_does_not_fit_and_is_the_end_of_the_search() -> None:
    tidy = lab()
    rows = tidy["sharing_batches"]
    zero1, after = rows["way"] == "zero1", rows["way"].isin(["fsdp", "fsdp_kept"])
    beyond = zero1 & (rows["per_worker_batch"] == 1050)
    tidy["sharing_batches"] = rows.assign(
        peak_bytes=rows["peak_bytes"].mask(beyond),
        status=rows["status"].mask(beyond, "out_of_memory"),
    )[~after & ~(zero1 & (rows["per_worker_batch"] == 3000))]
    found = by_way(derived_of(tidy)["strategy_needs"], 2)
    assert found.loc["zero1", ["fits_batch", "fails_batch", "status"]].tolist() == [
        1000,
        1050,
        "out_of_memory",
    ]
    assert found["status"].tolist().count("complete") == 4
    assert found.loc[["fsdp", "fsdp_kept"], ["fits_batch", "fails_batch"]].isna().all().all()
    assert (found.loc["fsdp", "peak_bytes"] / S) == 3  # known before the search


def test_the_gap_of_ddp_is_that_of_a_second_run_of_it() -> None:
    tidy = lab()
    rows = tidy["sharing_losses"]
    again = (rows["way"] == "ddp_again") & (rows["step"] == 2)
    tidy["sharing_losses"] = rows.assign(
        loss=rows["loss"].mask(again, 1.89),
        parameter_gap_frac=rows["parameter_gap_frac"].mask(again, 0.01),
    )
    found = by_way(derived_of(tidy)["strategy_needs"], 2)
    assert found.loc["ddp", "loss_gap_frac"] == pytest.approx(0.05)  # 1.89 against 1.8
    assert found.loc["ddp", "parameter_gap_frac"] == 0.01
    assert found.loc["fsdp", "parameter_gap_frac"] == 2e-7


def test_the_gap_is_the_largest_of_a_loss_over_the_loss() -> None:
    found = by_way(derived_of(lab())["strategy_needs"], 2)
    # Step 2: losses of 1.8 and of 1.8 + 2 x 2 x 1e-7.
    assert found.loc["accumulation", "loss_gap_frac"] == pytest.approx(4e-7 / 1.8, rel=1e-5)
    assert found.loc["fsdp", "parameter_gap_frac"] == 2e-7
    assert found.loc["ddp", ["loss_gap_frac", "parameter_gap_frac"]].tolist() == [0, 0]
    assert (found["first_steps"] == 3).all()


def test_a_run_without_a_record_is_a_row_with_its_status() -> None:
    tidy = lab()
    runs = tidy["runs"]
    gone = runs["run"] == "strategies-memory-n4"
    tidy["runs"] = runs.assign(status=runs["status"].mask(gone, "failed"))
    for name in ("sharing_memory", "sharing_batches", "sharing_losses"):
        tidy[name] = tidy[name][tidy[name]["run"] != "strategies-memory-n4"]
    found = strategy_needs(
        tidy["sharing_memory"], tidy["sharing_batches"], tidy["sharing_losses"], tidy["runs"]
    )
    last = found.iloc[-1]
    assert last["status"] == "failed"
    assert pd.isna(last["way"])
    assert pd.isna(last["peak_bytes"])


def test_adam_makes_as_much_of_rounding_as_is_granted_to_it() -> None:
    """Micro-batches add gradients in another order: nothing in float64, more with Adam than SGD."""
    gaps = {
        (optimizer, dtype): _micro_batches_apart(optimizer, dtype)
        for optimizer in ("adam", "sgd")
        for dtype in (torch.float32, torch.float64)
    }
    granted = ROUNDINGS * ROUNDING_FP32
    assert gaps["sgd", torch.float32] < granted
    assert gaps["sgd", torch.float32] < gaps["adam", torch.float32] < granted * ENLARGED["adam"]
    assert gaps["adam", torch.float64] < 1e-10


def _micro_batches_apart(optimizer: str, dtype: torch.dtype) -> float:
    """The largest difference of parameters after five steps, over the largest parameter."""
    images = torch.rand(5, 32, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    labels = torch.arange(32) % 10
    kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    trained = []
    for parts in (1, 4):
        torch.manual_seed(0)
        sizes = [64, 128, 128, 128, 10]
        layers = [torch.nn.Linear(*ends, dtype=dtype) for ends in pairwise(sizes)]
        network = torch.nn.Sequential(*(part for one in layers for part in (one, torch.nn.Tanh())))
        update = kinds[optimizer](network.parameters(), lr=1e-3)
        for batch in images:
            update.zero_grad()
            for few, right in zip(batch.chunk(parts), labels.chunk(parts), strict=True):
                (torch.nn.functional.cross_entropy(network(few), right) / parts).backward()
            update.step()
        trained.append(torch.nn.utils.parameters_to_vector(network.parameters()).detach())
    return float((trained[0] - trained[1]).abs().max() / trained[0].abs().max())
