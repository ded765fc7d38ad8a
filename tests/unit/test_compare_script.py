"""compare.py by whole calls on made results: what it finds, and how it ends."""

import re
from pathlib import Path
from typing import Any

import pytest

from builders import full_lab, run_row
from compare_builders import results, timed, trained
from script_calls import call

SPEC = {"data": {"dataset": "digits"}}


@pytest.fixture
def ended(tmp_path, capsys):
    """Compare two folders under tmp_path; return the status, and what was said and written."""

    def compared(a: Path, b: Path, *options: object) -> tuple[int, str, str]:
        page = tmp_path / "compare.html"
        end = call("compare", a, b, "--output", page, *options)
        said = capsys.readouterr().out
        return end.returncode, said or end.stderr, page.read_text() if page.exists() else ""

    return compared


def test_the_same_results_twice_differ_in_nothing(tmp_path, ended):
    a = results(tmp_path / "a", timed(), trained([0.9, 0.92, 0.91]), spec=SPEC)
    status, said, page = ended(a, a, "--fail-if-slower", "0")
    assert status == 0
    assert "0 worse, 0 better" in said
    first = said.splitlines()[0]
    assert re.search(
        r": no cell could show a change below [\d.]+ ?%, and half of them none below", first
    )
    assert "Before the correction 0 of " in said
    assert "Could show" in page
    # 12 times of cells, of a training one, 7 peaks of memory, an accuracy; 3 arms over their cells.
    assert "None of 24 ratios shows a measurable difference." in page
    assert "Machine, versions and commit are the same." in said


@pytest.mark.parametrize("seed", [1, None], ids=["measured anew", "a copy"])
def test_an_arm_slowed_by_a_tenth_is_found_and_nothing_else(tmp_path, ended, seed):
    a = results(tmp_path / "a", timed(seed=0), spec=SPEC)
    slowed = timed(seed=seed or 0, slower={"with_loading": 1.1})
    b = results(tmp_path / "b", slowed, spec=SPEC)
    status, said, page = ended(a, b, "--fail-if-slower", "0.02")
    found = [line for line in said.splitlines() if line.startswith("  slower")]
    assert status == 1
    assert len(found) == 7  # each of the six cells, and all of them together
    assert all("with_loading" in line for line in found)
    assert "  faster" not in said
    assert page.count("slower, beyond the bound") == 7


def test_a_small_change_everywhere_is_found_over_the_cells(tmp_path, ended):
    a = results(tmp_path / "a", timed(seed=0, noise=0.05), spec=SPEC)
    slowed = timed(seed=0, noise=0.05, slower={"with_loading": 1.03})
    status, said, _ = ended(a, results(tmp_path / "b", slowed, spec=SPEC))
    assert status == 0
    assert "1 worse, 0 better" in said
    assert "with_loading, all cells" in said


@pytest.mark.parametrize(
    ("a", "b", "bound", "words"),
    [
        (timed(), timed(slower={"with_loading": 1.1}), 0.2, "Nothing is slower by more than 20%"),
        (timed(slower={"with_loading": 1.3}), timed(), 0.05, "  faster"),
        (trained([0.95, 0.951, 0.949]), trained([0.80, 0.801, 0.799]), 0.05, "  less accurate"),
        (timed(), timed(peak_memory_bytes=330_000_000), 0.05, "  more "),
    ],
    ids=["within the bound", "faster", "less accurate", "more memory"],
)
def test_what_is_not_slower_beyond_the_bound_is_named_and_no_failure(
    tmp_path, ended, a, b, bound, words
):
    one, other = (results(tmp_path / name, rows, spec=SPEC) for name, rows in (("a", a), ("b", b)))
    status, said, page = ended(one, other, "--fail-if-slower", bound)
    assert status == 0
    assert words in said
    assert "Peak memory" in page or words == "  less accurate"


def test_a_configuration_names_its_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a = results(tmp_path / "results/a", timed(launches=1), spec=SPEC)
    Path("my.yaml").write_text("name: b", encoding="utf-8")
    assert "results/b: no results" in call("compare", a, "my.yaml").stderr
    results(tmp_path / "results/b", timed(launches=1), spec=SPEC)
    for places in ((a, "my.yaml"), ("my.yaml", a), (a, "--configfile", "my.yaml")):
        assert call("compare", *places).returncode == 0
    for places in ((a,), (a, a, "--configfile", "my.yaml")):
        assert call("compare", *places).returncode == 2


def test_a_whole_lab_without_specs_or_launches_is_compared_too(tmp_path, ended):
    tables = full_lab()
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        (folder / "tables").mkdir(parents=True)
        for name, frame in tables.items():
            frame.to_parquet(folder / "tables" / f"{name}.parquet")
    steps = tables["steps"].copy()
    solo = steps["arm"] == "solo"
    steps["step_s"] = steps["step_s"].mask(solo, steps["step_s"] * 1.5)
    steps.to_parquet(folders[1] / "tables/steps.parquet")
    status, said, _ = ended(*folders, "--fail-if-slower", "0.05")
    found = [line for line in said.splitlines() if line.startswith("  slower")]
    assert status == 1
    assert found
    assert all("solo" in line for line in found)


def test_nulls_on_one_side_are_of_the_other_alone(tmp_path, ended):
    a = results(tmp_path / "a", timed(), spec=SPEC)
    b = results(tmp_path / "b", timed(peak_memory_bytes=None), spec=SPEC)
    _, said, page = ended(a, b)
    assert "In both: 12 cells" in said
    assert f"Only in {a}: 6 (scaling-n1-b32, peak_memory_bytes" in said
    assert "6 only in" in page


def test_a_cell_that_ran_out_of_memory_on_one_side_is_an_outcome(tmp_path, ended):
    def cell(**given: Any) -> dict[str, list]:
        return {"runs": [run_row("scaling-n8-b32", workers=8, **given)]}

    a = results(tmp_path / "a", timed(), cell(), spec=SPEC)
    b = results(tmp_path / "b", timed(), cell(status="out_of_memory"), spec=SPEC)
    status, said, page = ended(a, b, "--fail-if-slower", "0.5")
    assert status == 0
    assert "scaling-n8-b32: complete -> out of memory" in said
    assert "<td>out of memory</td>" in page


LAB = "workers,per_worker_batch,transfer_s,affordable_base_s,exposed_s,exposed_s_low,"
LAB += "exposed_s_high,speedup_ratio,speedup_ratio_low,speedup_ratio_high,checked\n"
AWAY = LAB + "2,32,2.8,50.3,,,,,,,to be measured\n4,32,2.1,75.5,,,,,,,to be measured\n"
THERE = LAB + "2,32,2.8,50.3,3.1,3,3.2,1.8,1.7,1.9,measured\n4,32,2.1,75.5,,,,,,,to be measured\n"


@pytest.mark.parametrize("turned", [False, True])
def test_what_one_predicts_of_the_lab_stands_beside_what_the_other_measured(
    tmp_path, ended, turned
):
    folders = []
    for name, cells in (("laptop", AWAY), ("lab", THERE)):
        folders.append(results(tmp_path / name, timed(), spec=SPEC))
        (folders[-1] / "derived").mkdir()
        (folders[-1] / "derived" / "lab_cells.csv").write_text(cells)
    _, said, page = ended(*(folders[::-1] if turned else folders))
    said = " ".join(said.split())
    assert "N = 2, b = 32: all-reduces of an epoch 2.80 s, waited 3.10 s (3.00 to 3.20);" in said
    assert "90% efficient from T_1 = 75.5 s, speed-up not measured" in said
    assert "Predicted and measured" in page


def test_where_no_cell_of_the_lab_was_measured_nothing_is_said_of_predictions(tmp_path, ended):
    folder = results(tmp_path / "laptop", timed(), spec=SPEC)
    (folder / "derived").mkdir()
    (folder / "derived" / "lab_cells.csv").write_text(AWAY)
    _, said, page = ended(folder, folder)
    assert "predicted" not in said + page


def test_one_results_folder_of_two_machines_is_refused(tmp_path, ended):
    a = results(tmp_path / "a", timed(), spec=SPEC)
    mixed = {"runs": [run_row("other", workers=8, fingerprint="another")]}
    status, said, _ = ended(a, results(tmp_path / "b", timed(), mixed, spec=SPEC))
    assert status == 2
    assert "different machines are not combined" in said


def test_nothing_in_common_is_said_and_fails_where_a_bound_was_asked(tmp_path, ended):
    a = results(tmp_path / "a", timed(), spec=SPEC)
    b = results(tmp_path / "b", timed(), spec={"data": {"dataset": "mnist"}})
    status, said, page = ended(a, b)
    assert status == 0
    assert "No cell is in both." in said
    assert "data.dataset: digits -> mnist (30 runs)" in said
    assert "No cell is in both." in page
    status, said, _ = ended(a, b, "--fail-if-slower", "0.05")
    assert status == 2
    assert "Nothing is slower" not in said


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        (".", "no results: it lacks tables/runs.parquet"),
        ("tables/runs.parquet", "no results: it lacks tables/runs.parquet"),
        ("tables/steps.parquet", "tables/steps.parquet: no such table"),
    ],
)
def test_a_folder_that_cannot_be_read_is_one_line_and_2(tmp_path, lacking, words):
    a = results(tmp_path / "a", timed(launches=1))
    b = results(tmp_path / "b", timed(launches=1))
    place = b / lacking
    place.rename(tmp_path / "away")
    end = call("compare", a, b)
    assert end.returncode == 2
    assert end.stderr.startswith("compare.py: ")
    assert words in end.stderr
    assert end.stderr.count("\n") == 1


def test_a_damaged_table_is_named(tmp_path):
    a = results(tmp_path / "a", timed(launches=1))
    (a / "tables/steps.parquet").write_bytes(b"no parquet")
    end = call("compare", a, a)
    assert end.returncode == 2
    assert "tables/steps.parquet: no valid table" in end.stderr


@pytest.mark.parametrize("bound", ["-0.1", "nan", "5%"])
def test_a_bound_that_is_no_share_is_refused(tmp_path, bound):
    end = call("compare", tmp_path, tmp_path, f"--fail-if-slower={bound}")
    assert end.returncode == 2
    assert "--fail-if-slower" in end.stderr


def test_a_terminal_shows_the_worst_and_how_many_more(tmp_path, ended, monkeypatch):
    monkeypatch.setattr("dpscale.compare.page.MOST_LINES", 3)
    a = results(tmp_path / "a", timed(), spec=SPEC)
    b = results(tmp_path / "b", timed(slower={"with_loading": 1.5}), spec=SPEC)
    _, said, page = ended(a, b)
    assert said.count("\n  slower") == 3
    assert "  and 4 more" in said
    assert page.count('<td class="verdict">slower</td>') == 7


def test_the_page_asks_nothing_of_any_server_and_escapes_names(tmp_path, ended):
    a = results(tmp_path / "a&b", timed(), spec=SPEC)
    _, _, page = ended(a, results(tmp_path / "c", timed(seed=1), spec=SPEC))
    assert "a&amp;b" in page
    assert "a&b" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "prefers-color-scheme: dark" in page
