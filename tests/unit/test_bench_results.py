"""What a benchmark leaves: rows for programs, and a table in the README for people."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
README = "# Title\n\n<!-- bench -->\nold\n<!-- /bench -->\n\nAfter.\n"


def module(name: str, monkeypatch: pytest.MonkeyPatch):
    """A module of benchmarks/, which is no package; none of its imports stays."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def ratios(monkeypatch):
    return module("ratios", monkeypatch)


@pytest.fixture
def readme(ratios, monkeypatch):
    return module("readme", monkeypatch)


def test_a_row_has_the_keys_that_results_json_is_fixed_to(ratios) -> None:
    one = ratios.compare("loop", "mlp", "bare loop", "samples/s", [2.0, 4.0], [1.0, 2.0])
    assert list(one.row()) == [
        "benchmark", "case", "ours", "peer", "peer_name", "unit", "ratio", "ratio_low",
        "ratio_high",
    ]  # fmt: skip


def test_a_ratio_above_one_is_ours_better_also_where_less_is(ratios) -> None:
    faster = ratios.compare("b", "c", "p", "1/s", [4.0] * 3, [2.0] * 3)
    shorter = ratios.compare("b", "c", "p", "s", [2.0] * 3, [4.0] * 3, less_is_better=True)
    assert (faster.ratio, shorter.ratio) == (2.0, 2.0)


def test_the_table_replaces_the_one_between_the_markers(ratios, readme) -> None:
    one = ratios.Ratio("loop", "mlp", 2000.0, 1000.0, "bare loop", "samples/s", 2.0, 1.5, 2.5)
    other = ratios.Ratio("orchestration", "start", 1.5, None, "", "s", None, None, None)
    assert readme.replace_table(README, [one, other], "A CPU, 2 cores", "2026-11-21") == (
        "# Title\n\n<!-- bench -->\n\n"
        "Measured on 2026-11-21: A CPU, 2 cores. A ratio above 1 means that ours is better.\n\n"
        "| benchmark | case | ours | peer | peer's | ratio |\n"
        "|---|---|---:|---|---:|---:|\n"
        "| loop | mlp | 2,000 samples/s | bare loop | 1,000 samples/s | 2.00 (1.50 to 2.50) |\n"
        "| orchestration | start | 1.50 s | – | – | – |\n\n"
        "<!-- /bench -->\n\nAfter.\n"
    )


def test_a_readme_without_the_markers_is_an_error(readme) -> None:
    with pytest.raises(ValueError, match="markers"):
        readme.replace_table("# Title\n", [], "A CPU", "2026-11-21")
