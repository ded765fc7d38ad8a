"""Imported first: skips a module of tests on a machine that lacks a package, with the reason."""

import pytest

for package in ("pydantic", "pandas", "pyarrow", "scipy", "sklearn"):
    pytest.importorskip(package, reason=f"{package} is missing: see envs/requirements.txt")
