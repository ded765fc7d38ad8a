"""What a benchmark leaves: rows for programs, and tables in two documents for people."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
DOCUMENT = "# Title\n\n<!-- bench -->\nold\n<!-- /bench -->\n\nAfter.\n"


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
def documents(ratios, monkeypatch):
    return module("documents", monkeypatch)


@pytest.fixture
def published(ratios):
    return [ratios.Ratio(**row) for row in json.loads((BENCHMARKS / "results.json").read_text())]


def test_a_row_has_the_keys_that_results_json_is_fixed_to(ratios) -> None:
    one = ratios.compare("loop", "mlp", "bare loop", "samples/s", [2.0, 4.0], [1.0, 2.0])
    assert list(one.row()) == [
        "benchmark",
        "case",
        "ours",
        "peer",
        "peer_name",
        "unit",
        "ratio",
        "ratio_low",
        "ratio_high",
    ]


def test_a_ratio_above_one_is_ours_better_also_where_less_is(ratios) -> None:
    faster = ratios.compare("b", "c", "p", "1/s", [4.0] * 3, [2.0] * 3)
    shorter = ratios.compare("b", "c", "p", "s", [2.0] * 3, [4.0] * 3, less_is_better=True)
    assert (faster.ratio, shorter.ratio) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("ours", "ratio"),
    [
        ([1.0, 9.0, 1.2], 1.2),
        # Of 20 the mean of the middle ten: six of 1.0 and four of 1.2; their median is 1.0.
        ([0.1] * 5 + [1.0] * 6 + [1.2] * 4 + [9.0] * 5, 1.08),
    ],
)
def test_a_ratio_is_the_median_of_few_and_the_middle_half_of_many(ratios, ours, ratio) -> None:
    found = ratios.compare("b", "c", "p", "1/s", ours, [1.0] * len(ours))
    assert found.ratio == pytest.approx(ratio)


def test_the_table_replaces_the_one_between_the_markers(ratios, documents) -> None:
    one = ratios.Ratio("loop", "mlp", 2000.0, 1000.0, "bare loop", "samples/s", 2.0, 1.5, 2.5)
    other = ratios.Ratio("orchestration", "start", 1.5, None, "", "s", None, None, None)
    assert documents.replace_table(DOCUMENT, [one, other], "A CPU, 2 cores", "2026-11-21") == (
        "# Title\n\n<!-- bench -->\n\n"
        "Measured on 2026-11-21: A CPU, 2 cores. A ratio above 1 means that ours is better.\n\n"
        "| benchmark | case | ours | peer | peer's | ratio |\n"
        "|---|---|---:|---|---:|---:|\n"
        "| loop | mlp | 2,000 samples/s | bare loop | 1,000 samples/s | 2.00 (1.50 to 2.50) |\n"
        "| orchestration | start | 1.50 s | – | – | – |\n\n"
        "<!-- /bench -->\n\nAfter.\n"
    )


def test_a_document_without_the_markers_is_an_error(documents) -> None:
    with pytest.raises(ValueError, match="markers"):
        documents.replace_table("# Title\n", [], "A CPU", "2026-11-21")


def test_the_headline_is_the_worst_case_beside_each_peer(ratios, documents) -> None:
    def found(case: str, peer: str, unit: str, ratio: float | None):
        return ratios.Ratio("loading", case, 1.0, 1.0, peer, unit, ratio, None, None)

    rows = [
        found("fast", "torchvision, 0 processes", "samples/s", 5.0),
        found("slow", "torchvision, 2 processes", "samples/s", 1.5),
        found("utilisation", "lab", "fraction", 0.5),
        found("share", "goal", "fraction", 2.0),
        found("start", "", "s", None),
        found("search", "one at a time", "s", 3.0),
    ]
    assert [one.case for one in documents.headline(rows)] == ["slow", "share", "search"]


def test_the_headline_of_the_results_names_every_benchmark_in_twelve_lines(
    documents, published
) -> None:
    rows = documents.headline(published)
    assert {one.benchmark for one in rows} == {one.benchmark for one in published}
    assert len([documents.HEAD, *rows]) + 1 <= 12  # the head has two lines


def test_the_documents_show_the_results(documents, published) -> None:
    headline = documents.headline(published)
    for name, rows in (("docs/benchmarks.md", published), ("README.md", headline)):
        text = (ROOT / name).read_text(encoding="utf-8")
        table = text.partition(documents.HEAD)[2].partition(documents.END)[0].split("\n")
        assert [line for line in table if line] == [documents.row(one) for one in rows], name
