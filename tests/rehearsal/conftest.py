"""Doubles of GPUs for all tests here, built once; skipped where they cannot be, with the reason."""

import pytest
from doubles import Doubles, missing


@pytest.fixture(scope="session")
def doubles(tmp_path_factory: pytest.TempPathFactory) -> Doubles:
    if reason := missing():
        pytest.skip(f"no GPUs can be rehearsed here: {reason}")
    return Doubles(tmp_path_factory.mktemp("doubles"))
