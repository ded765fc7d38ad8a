"""A copy of the repository in which the smoke configuration was interrupted, resumed and run."""

import pytest
from checkouts import Checkout, copied, interrupt_after_records, records, snakemake


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = copied(tmp_path_factory.mktemp("checkout"))
    # The last may have been written in the moment of the interruption, before its job ended.
    interrupt_after_records(folder, 3)
    before = records(folder)
    runs = folder / "results/smoke/runs"
    half = [str(p) for p in runs.rglob("*") if p.name.endswith(".part")]
    half += [
        str(p) for p in runs.glob("*/steps.parquet") if not (p.parent / "record.json").exists()
    ]
    ended = snakemake(folder)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return Checkout(folder, before, half, ended.stderr)
