"""Numbers in texts keep their runs, through every filter, until they are links."""

import pytest

from dpscale.reporting.answer import Value
from dpscale.reporting.links import Sources
from dpscale.reporting.links import printed as linked
from dpscale.reporting.texts import PRINTED, of_runs, plain

TEXT = f"Two are {of_runs('1.5×', ['a', 'b'])} as fast, {of_runs('3', ['c'])} as dear."


def test_the_plain_text_has_the_numbers_alone():
    assert plain(TEXT) == "Two are 1.5× as fast, 3 as dear."


def test_equal_wordings_lead_each_to_its_own_runs():
    text = f"{of_runs('2 s', ['a'])} and {of_runs('2 s', ['b'])}"
    page = linked(text, Sources.of_runs(["a", "b"]))
    assert page == (
        '<a class="measured" href="#run-a" title="run a">2 s</a> and '
        '<a class="measured" href="#run-b" title="run b">2 s</a>'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Value(value=2.0, unit="s", low=1.0, high=3.0, runs=["a"]), "2.00 s (1.00 to 3.00)"),
        (Value(value=None, unit="s", runs=["a"], status="diverged"), "diverged"),
    ],
)
def test_a_value_writes_itself_and_a_null_has_no_runs(value, text):
    assert plain(str(value)).replace("\u00a0", " ") == text
    assert bool(PRINTED.search(str(value))) is (value.value is not None)
    assert plain(value.bare).replace("\u00a0", " ") == text.split(" (")[0]
