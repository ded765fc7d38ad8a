"""audit_table.py: exit codes, the JSON, and one line for whatever cannot be read."""

import csv
import importlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pytest
from patience import HANG_S

from audit_tables import HEADER, lines
from dpscale.audit import read_table

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "workflow/scripts/audit_table.py"
HEAD = "workers,per_worker_batch,epoch_s,printed_speedup\n"
SHEET = "xl/worksheets/sheet1.xml"
GOOD = HEAD + "1,32,10.0,1\n2,32,6.0,1.67\n"
FACTS = ["--parameters", "1000000", "--samples", "12,800"]


@pytest.fixture
def refusal(monkeypatch, capsys):
    """Run the script on a file that it refuses; return its one line."""

    def ended(path: Path, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["audit_table.py", str(path), *arguments])
        with pytest.raises(SystemExit) as stopped:
            importlib.import_module("audit_table").main()
        said = capsys.readouterr()
        assert (stopped.value.code, said.out) == (2, "")
        assert said.err.startswith("audit_table.py: ")
        assert said.err.count("\n") == 1
        return said.err

    return ended


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("# only\n# comments\n", "no table"),
        (HEAD, "a header and no rows"),
        ("workers,epoch_s\n1,2\n", "no columns workers and per_worker_batch"),
        (GOOD + "4,32,fast,2\n", "row 3 (line 4), column epoch_s: 'fast' is no number"),
        (GOOD + "4,32,nan,2\n", "row 3 (line 4), column epoch_s: 'nan' is no number"),
        (GOOD + "4,32,inf,2\n", "column epoch_s"),
        (GOOD + "4,32,0,2\n", "column epoch_s: '0' is no time"),
        (GOOD + "4,32,-3,2\n", "column epoch_s: '-3' is no time"),
        (GOOD + "4,32,1e300,2\n", "column epoch_s: '1e300' is too large"),
        (GOOD + "4,32,5 parsecs,2\n", "unknown unit 'parsecs'"),
        (GOOD + "0,32,3.0,2\n", "column workers: 0 is no whole number"),
        (GOOD + "-2,32,3.0,2\n", "column workers: -2"),
        (GOOD + "1.5,32,3.0,2\n", "column workers: 1.5"),
        (GOOD + ",32,3.0,2\n", "column workers: is empty"),
        (GOOD + "4,32,3.0\n", "row 3 (line 4) has 3 cells where the header has 4"),
        (GOOD + "4,32,3,0,2\n", "row 3 (line 4) has 5 cells"),
        (GOOD + "2,32,6.1,1.6\n", "row 3 (line 4) and line 3 both have 2 workers with batch 32"),
        ("workers,GPUs,b,time\n1,1,2,3\n", "'workers' and 'GPUs' both mean workers"),
        (bytes(range(256)), "is no text"),
        (b"\x81\x8d\x8f\x90\n", "is no text"),
        (GOOD + "4,32,0e999,2\n", "column epoch_s: '0e999' is too large"),
        (b"PK\x03\x04 not a zip", "is no whole .xlsx spreadsheet"),
        (HEAD + "1,32,10.0,1\n" * 2_001, "more than 2,000 rows"),
        (HEAD + "\n" * 20_001, "20,002 lines"),
        ("# " + "1" * 20_000 + "\n" + GOOD, "line 1 has more than 20,000 characters"),
    ],
)
def test_a_table_that_cannot_be_read_ends_with_2_and_one_line(tmp_path, refusal, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in refusal(path)


def test_what_is_no_file_or_far_too_large_is_refused_at_once(tmp_path, refusal):
    assert "is no file" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "nowhere.csv")
    big = tmp_path / "big.csv"
    with big.open("wb") as file:
        file.truncate(10_000_001)
    assert "over 10 MB" in refusal(big)


def test_a_sheet_of_a_text_file_is_refused(tmp_path, refusal):
    (tmp_path / "t.csv").write_text(GOOD)
    assert "leave --sheet out" in refusal(tmp_path / "t.csv", "--sheet", "one")


@pytest.fixture
def spreadsheet(tmp_path) -> Path:
    book, path = openpyxl.Workbook(), tmp_path / "table.xlsx"
    for row in csv.reader(GOOD.splitlines()):
        book.active.append([float(cell) if cell[0].isdigit() else cell for cell in row])
    book.save(path)
    return path


def with_part(path: Path, name: str, change: Callable[[bytes], bytes] | None) -> None:
    with zipfile.ZipFile(path) as whole:
        parts = {part: whole.read(part) for part in whole.namelist()}
    content = parts.pop(name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for part, held in parts.items():
            made.writestr(part, held)
        if change:
            made.writestr(name, change(content))


def test_a_spreadsheet_whose_dimensions_are_wrong_is_read(spreadsheet):
    with_part(spreadsheet, SHEET, lambda xml: xml.replace(b'ref="A1:D3"', b'ref="A1"'))
    assert len(read_table(spreadsheet).rows) == 2


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (SHEET, None),
        ("xl/workbook.xml", None),
        ("[Content_Types].xml", None),  # of any other archive too
        (SHEET, lambda xml: b""),
        (SHEET, lambda xml: xml.replace(b'<row r="3"', b"<row r=<")),
        (SHEET, lambda xml: xml.replace(b"<v>6</v>", b"<v>six</v>")),
        ("xl/workbook.xml", lambda xml: b"\0" * 100),
    ],
)
def test_a_damaged_spreadsheet_ends_with_2_and_one_line(spreadsheet, refusal, part, change):
    with_part(spreadsheet, part, change)
    line = refusal(spreadsheet)
    assert f"{spreadsheet}: is no whole .xlsx spreadsheet (" in line
    assert "open it in a spreadsheet program and save it as .xlsx or CSV" in line


def test_junk_is_refused_whatever_its_name_says(tmp_path, refusal):
    for ending in ("csv", "ods", "xlsx", "md"):
        path = tmp_path / f"table.{ending}"
        path.write_bytes(bytes(range(255, -1, -1)))
        assert f"{path}: is no text; save the table as CSV" in refusal(path)
        path.write_bytes(b"")
        assert f"{path}: is empty" in refusal(path)


def test_a_slip_of_the_program_is_no_finding(tmp_path, monkeypatch, capsys):
    script = importlib.import_module("audit_table")
    monkeypatch.setattr(script, "audit", lambda *_: [][0])
    (tmp_path / "t.csv").write_text(GOOD)
    monkeypatch.setattr(sys, "argv", ["audit_table.py", str(tmp_path / "t.csv")])
    with pytest.raises(SystemExit) as stopped:
        script.main()
    assert stopped.value.code == 2
    assert "IndexError" in capsys.readouterr().err


def test_a_python_without_the_requirements_is_no_finding(tmp_path):
    ended = run(tmp_path, lines(), python=[sys.executable, "-S"])
    assert ended.returncode == 2
    assert ended.stderr.startswith("audit_table.py: No module named ")
    assert ended.stderr.count("\n") == 1


def run(
    folder: Path, text: list[str], *arguments: object, python: Sequence[str] = (sys.executable,)
) -> subprocess.CompletedProcess[str]:
    (folder / "table.csv").write_text("\n".join(text) + "\n")
    command = [*python, SCRIPT, "table.csv", *FACTS, *arguments]
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )


def test_a_consistent_table_ends_with_0_and_its_corrected_tables(tmp_path):
    ended = run(tmp_path, lines())
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "table.csv: 6 rows, no findings" in ended.stdout
    assert "|  2 |  64 |      50 |      32 |    1.562 |     0.7812 |" in ended.stdout
    assert "|  4 | 256 |         13 |            6000000 |            0.039 |" in ended.stdout


def test_findings_end_with_1_and_are_written_as_json(tmp_path):
    ended = run(tmp_path, lines({(2, 64): {"printed_speedup": "3.12"}}), "--output", "a/audit.json")
    assert ended.returncode == 1
    said = json.loads((tmp_path / "a/audit.json").read_text())
    (finding,) = said["findings"]
    assert finding["code"] == "speedup_times_workers"
    assert (finding["printed"], finding["expected"]) == (3.12, 1.5625)
    assert (finding["workers"], finding["per_worker_batch"]) == (2, 64)
    assert "multiplied by the number of workers" in finding["reason"]
    assert (
        "1. N = 2, b = 64: speed-up multiplied by N. 3.12 is printed, 1.562 is right: it is N*T"
        in ended.stdout
    )
    row = said["derived"][1]
    assert (row["speedup_ratio"], row["compute_s"], row["comm_s"]) == (1.5625, 20.0, 10.0)
    assert row["bandwidth_bytes_per_s"] == 40e6
    assert said["derived"][0]["bandwidth_bytes_per_s"] is None
    assert (said["doubts"], said["lessons"], said["digits"]) == ([], [], 4)
    assert "1,000,000 trainable parameters (X): as given" in said["assumptions"]


def test_an_output_that_cannot_be_written_ends_with_2(tmp_path):
    (tmp_path / "file").write_text("")
    ended = run(tmp_path, lines(), "--output", "file/audit.json")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert HEADER[0] not in ended.stdout
