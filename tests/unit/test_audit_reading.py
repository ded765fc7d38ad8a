"""Tables as people write them: formats, headers, units, number signs."""

import re
import zipfile
from io import BytesIO

import openpyxl
import pytest

from audit_tables import audited, codes, lines
from dpscale.audit import Given
from dpscale.audit.cells import RATIO, TIME, number
from dpscale.audit.table import found_columns

MARKDOWN = """# Results of 50 000 training images

| model | size |
|-------|------|
| a     | 1    |

What we measured:

| N     | batch per GPU | **Time** (ms) | Speed-up (T1/TN) |
|:-----:|--------------:|---------------|------------------|
| 1     | 32            | 10 000.0      | 1                |
| **2** | 32            | 6 250.0       | 1.60×            |

and 4 GPUs later.
"""


def base_s(found) -> list[float]:
    return [row.epoch_s for row in found.derived]


def test_a_markdown_table_is_found_in_a_longer_text(tmp_path):
    found = audited(tmp_path, MARKDOWN, Given(), name="notes.md")
    assert base_s(found) == [10.0, 6.25]
    assert codes(found) == []
    assert found.facts.samples == 50_000


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(lines()).replace(",", "\t"),
        "﻿" + "\n".join(lines()),
        "\r\n".join(lines()) + "\r\n",
        ("# Zürich –\n" + "\n".join(lines())).encode("cp1252"),
        "\n".join(lines()).encode("utf-16"),
        "# a comment\n\n" + "\n".join(lines()) + "\n# and one more\n",
        "# " + "\n".join(lines()),
    ],
    ids=["tsv", "bom", "crlf", "cp1252", "utf-16", "comments", "numpy"],
)
def test_text_files_of_all_kinds_are_read_alike(tmp_path, text):
    found = audited(tmp_path, text)
    assert len(found.derived) == 6
    assert found.findings == []


def test_a_decimal_comma_is_read_with_semicolons_and_said(tmp_path):
    found = audited(tmp_path, "GPUs;b;time (s);speedup\n1;1.024;1.234,50;1\n2;1.024;800,25;1,54\n")
    assert base_s(found) == [1234.5, 800.25]
    assert [row.per_worker_batch for row in found.derived] == [1024, 1024]
    assert "the comma is the decimal sign" in found.assumptions


def spreadsheet(folder, rows, *, sheet="Sheet"):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["nothing", "here"])
    page = book.create_sheet(sheet)
    for row in rows:
        page.append(row)
    path = folder / "table.xlsx"
    book.save(path)
    return path.read_bytes()


def test_a_spreadsheet_is_read_below_its_comments(tmp_path):
    rows = [
        ["60,000 samples"],
        [],
        ["N", "b", "time (s)", "speedup"],
        [1, 32, 10.04, 1],
        ["# the second day"],
        [],
        [2, 32, 6.21, 1.7],
        [4, 32, None, None],
    ]
    found = audited(tmp_path, spreadsheet(tmp_path, rows), Given(), name="t.xlsx")
    assert codes(found) == [(2, 32, "speedup_mismatch")]
    assert base_s(found) == [10.04, 6.21, None]
    assert found.facts.samples == 60_000
    assert "the sheet 'Sheet' is read" in found.assumptions


def test_a_sheet_is_taken_by_name_and_an_unknown_one_is_refused(tmp_path):
    rows = [["N", "b", "time"], [1, 32, 10.5]]
    content = spreadsheet(tmp_path, rows, sheet="mine")
    assert base_s(audited(tmp_path, content, name="t.xlsx", sheet="mine")) == [10.5]
    with pytest.raises(ValueError, match="has no sheet 'theirs'; it has notes, mine"):
        audited(tmp_path, content, name="t.xlsx", sheet="theirs")


def test_a_formula_that_was_never_computed_is_named(tmp_path):
    rows = [["N", "b", "time"], [1, 32, 10.5], [2, 32, "=C2/2"], [4, 32, "=C2/4"]]
    with pytest.raises(ValueError, match="Sheet!C3 holds a formula without a value"):
        audited(tmp_path, spreadsheet(tmp_path, rows), name="t.xlsx")


@pytest.mark.parametrize(
    ("computed", "times"),
    [
        (b'<c r="C3"><f>C2/2</f><v>5.25</v></c>', [10.5, 5.25]),
        (b'<c r="C3" t="str"><f>IF(1,"",0)</f><v></v></c>', [10.5, None]),
    ],
    ids=["number", "empty text"],
)
def test_a_formula_that_was_computed_is_its_value(tmp_path, computed, times):
    content = spreadsheet(tmp_path, [["N", "b", "time"], [1, 32, 10.5], [2, 32, "=C2/2"]])
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb'<c r="C3">.*?</c>', lambda _: computed, old.read(name)))
    assert base_s(audited(tmp_path, made.getvalue(), name="t.xlsx")) == times


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("#GPUs", "workers", ""),
        ("world size", "workers", ""),
        ("Batch size (per GPU)", "per_worker_batch", ""),
        ("Batch-size/GPU", "per_worker_batch", ""),
        ("epoch time [ms]", "epoch_s", "ms"),
        ("T_N (min)", "epoch_s", "min"),
        ("total", "epoch_s", "s"),
        ("Speedup (T1/TN)", "printed_speedup", ""),
        ("T_1/T_N", "printed_speedup", ""),
        ("Compute (sec)", "printed_compute_s", "sec"),
        ("comm. time, s", "printed_comm_s", "s"),
        ("BW MiB/s", "printed_bandwidth_gb_per_s", "MiB/s"),
        ("Bandwidth (Gbit/s)", "printed_bandwidth_gb_per_s", "Gbit/s"),
        ("printed_bandwidth_gb_per_s", "printed_bandwidth_gb_per_s", "gb_per_s"),
    ],
)
def test_common_headers_are_understood(header, name, unit):
    assert found_columns([header])[name].unit == unit


@pytest.mark.parametrize(
    ("comment", "parameters", "samples"),
    [
        ("11 173 962 trainable float32 parameters", 11_173_962, 50_000),
        ("parameters: 421,642; samples = 60000", 421_642, 60_000),
        ("1,281,167 training images", 11_173_962, 1_281_167),
        # Neither a rounded number nor a batch is taken for one.
        ("a model of 2 million parameters, 11.2 million parameters", 11_173_962, 50_000),
        ("a batch of 128 images, 10,000 test images", 11_173_962, 50_000),
    ],
)
def test_comments_say_what_a_table_rests_on(tmp_path, comment, parameters, samples):
    facts = audited(tmp_path, f"# {comment}\nN,b,time\n1,32,10.0\n", Given()).facts
    assert (facts.parameters, facts.samples) == (parameters, samples)


def test_options_come_before_comments(tmp_path):
    text = "# 421,642 parameters\nN,b,time\n1,32,10.0\n"
    assert audited(tmp_path, text, Given(parameters=7_000)).facts.parameters == 7_000


@pytest.mark.parametrize("header", ["B", "global batch size", "batch (global)", "efficiency"])
def test_other_headers_are_not_taken_for_something_else(header):
    assert found_columns([header]) == {}


def test_two_columns_of_one_meaning_are_refused_by_name():
    with pytest.raises(ValueError, match="'workers' and '# GPUs' both mean workers"):
        found_columns(["workers", "# GPUs"])


@pytest.mark.parametrize(
    ("text", "value", "resolution"),
    [
        ("10.41", 10.41, 0.01),
        ("10.40", 10.4, 0.01),
        ("1,234.5", 1234.5, 0.1),
        ("1 234", 1234, 1),
        ("12,5", 12.5, 0.1),
        ("1,234", 1234, 1),
        ("1.2e3", 1200, 100),
        ("−0.5", -0.5, 0.1),
        ("**350**", 350, 1),
    ],
)
def test_a_number_knows_how_far_it_is_rounded(text, value, resolution):
    cell = number(text, 1.0, TIME, decimal_comma=False)
    assert cell.value == value
    assert cell.resolution == pytest.approx(resolution)


@pytest.mark.parametrize(
    ("text", "value"),
    [("12,5", 12.5), ("1.234,50", 1234.5), ("1.234", 1234), ("1.234.567", 1234567)],
)
def test_a_decimal_comma_has_points_between_thousands(text, value):
    assert number(text, 1.0, TIME, decimal_comma=True).value == value


def test_a_float_without_decimals_is_no_finer_than_its_column(tmp_path):
    # 1234 / 617.4 is 2.00; 1230.0 / 617.0 alone would be 1.99.
    rough = "N,b,time,speedup\n1,32,1230.0,1\n2,32,617.0,2.0\n"
    assert audited(tmp_path, rough).findings == []
    fine = "N,b,time,speedup\n1,32,1230.0,1\n2,32,617.4,2.00\n"
    assert codes(audited(tmp_path, fine)) == [(2, 32, "speedup_mismatch")]


def test_a_unit_in_the_cell_counts():
    assert number("350 ms", 1.0, TIME, decimal_comma=False).value == pytest.approx(0.35)
    assert number("63%", 1.0, RATIO, decimal_comma=False).value == pytest.approx(0.63)


def test_a_rate_without_a_unit_is_in_the_unit_that_most_rows_follow(tmp_path):
    text = "N,b,sweep,nodata,BW\n1,64,40.00,,\n2,64,,30.00,40.0\n4,64,,15.00,60.0\n"
    found = audited(tmp_path, text)
    assert found.findings == []
    assert any("bandwidths are in MB/s" in line for line in found.assumptions)


def test_the_other_units_of_a_header_are_not_held_against_it(tmp_path):
    # 4 MB * 100 / 10 s = 0.04 GB/s = 0.03725 GiB/s = 40 MB/s
    for header, value in (("BW (GiB/s)", "0.03725"), ("BW (MB/s)", "40.0")):
        text = f"N,b,sweep,nodata,{header}\n1,64,40.00,,\n2,64,,30.00,{value}\n"
        assert audited(tmp_path, text).findings == []
