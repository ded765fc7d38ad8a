"""Numbers as people read them, by literals."""

import math

import pytest

from dpscale.units import UNITS, column_format, format_value, group_digits, status_text

THIN = "\u202f"
GAP = "\u00a0"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.234, "s", f"1.23{GAP}s"),
        (0.0123456, "s", f"12.3{GAP}ms"),
        (2e-6, "s", f"2.00{GAP}µs"),
        (0.9996, "s", f"1.00{GAP}s"),
        (4980.2, "s", f"4{THIN}980{GAP}s"),
        (0, "s", f"0{GAP}s"),
        (-0.07, "s", f"−70.0{GAP}ms"),
        (4980, "duration", f"1{GAP}h{GAP}23{GAP}min"),
        (44_695_848, "bytes", f"44.7{GAP}MB"),
        (1_000_000_000, "bytes", f"1.00{GAP}GB"),
        (8, "bytes", f"8{GAP}B"),  # there is no part of a byte
        (312, "bytes_binary", f"312{GAP}B"),
        (8.25, "bytes", f"8.25{GAP}B"),  # a mean
        (1_048_576, "bytes_binary", f"1.00{GAP}MiB"),
        (44_695_848, "bytes_exact", f"44{THIN}695{THIN}848{GAP}B"),
        (1.098e9, "bytes/s", f"1.10{GAP}GB/s"),
        (12345.6, "samples/s", f"12{THIN}346{GAP}samples/s"),
        (0.9731, "fraction", "97.3%"),
        (0.0, "fraction", "0%"),
        (1.231, "ratio", "1.23×"),
        (0.00002, "number", f"2.00{GAP}×{GAP}10⁻⁵"),
        (11_173_962, "count", f"11{THIN}173{THIN}962"),
        (390.625, "count", "390.6"),
        (0.1, "setting", "0.1"),
        (True, "flag", "yes"),
    ],
)
def test_a_value_has_three_digits_and_the_prefix_that_it_reaches(value, unit, text):
    assert format_value(value, unit) == text


def test_an_interval_has_the_decimals_and_the_prefix_of_its_value():
    assert format_value(1.234, "s", low=1.2, high=1.27) == f"1.23{GAP}s (1.20 to 1.27)"


def test_a_narrow_interval_brings_the_decimals_that_tell_its_ends_apart():
    assert format_value(0.94321, "fraction", low=0.9428, high=0.9436) == "94.32% (94.28 to 94.36)"


def test_a_difference_of_rounding_has_the_digits_of_its_interval():
    assert format_value(1e-17, "points", low=-0.002132, high=0.005836) == (
        f"0.0{GAP}percentage points (−0.2 to 0.6)"
    )


def test_half_an_interval_is_no_interval():
    assert format_value(1.5, "ratio", low=1.4) == "1.50×"


@pytest.mark.parametrize(
    ("value", "status", "text"),
    [
        (None, None, "unknown"),
        (float("nan"), None, "unknown"),
        (None, "complete", "unknown"),
        (None, "out_of_memory", "out of memory"),
        (None, "not run yet", "not run yet"),
    ],
)
def test_a_null_is_words(value, status, text):
    assert format_value(value, "s", status=status) == text


def test_a_number_that_rounds_to_zero_has_no_minus():
    assert group_digits(-0.001, 2) == "0.00"


def test_a_status_is_read_without_underscores():
    assert status_text("exceeds_dataset") == "exceeds dataset"


def test_a_column_has_the_prefix_of_its_largest_value_and_one_number_of_decimals():
    form = column_format([12.5, 8.1234, 0.95, None], "s")
    assert (form.symbol, [form.text(value) for value in (12.5, 8.1234, 0.95, None)]) == (
        "s",
        ["12.50", "8.12", "0.95", "unknown"],
    )


def test_a_column_near_a_power_of_ten_keeps_the_digit_that_parts_its_values():
    form = column_format([0.99988, 0.998, 0.99993], "fraction")
    assert [form.text(value) for value in (0.99988, 0.998, 1.0)] == ["100.0", "99.8", "100.0"]
    assert column_format([1.0, 0.998, 1.0], "fraction").text(1.0) == "100"


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.0653, 0.0555, 0.0690, "0.0653"),
        (0.0653, -1.2, 1.3, "0.07"),  # further digits would say nothing
        (1.0793, 1.0118, 1.1050, "1.08"),
        (0.0653, 0.0, math.inf, "0.07"),
    ],
)
def test_a_value_with_an_interval_has_three_digits_in_a_column_of_larger_ones(
    value, low, high, text
):
    form = column_format([0.0653, 1.0793], "number").of_interval(value, low, high)
    assert form.text(value) == text


def test_a_column_of_bytes_keeps_its_smallest_value_visible():
    form = column_format([44_695_848, 38_560], "bytes")
    assert [form.symbol, form.text(44_695_848), form.text(38_560)] == ["MB", "44.70", "0.04"]


def test_a_column_without_numbers_has_a_unit_all_the_same():
    assert column_format([None], "bytes").symbol == "B"


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_formats_a_column(unit):
    assert column_format([1.0], unit).text(1.0)
