"""Which launch a run is, and one short pattern for the runs of a rule."""

import re

from dpscale.plan.names import launch_of, pattern_of


def matched(pattern: str, names: list[str]) -> list[str]:
    return [name for name in names if re.fullmatch(pattern, name)]


def test_it_names_the_common_beginning() -> None:
    assert pattern_of(["scale-n1", "scale-n2"], ["scale-n1", "scale-n2", "sweep-b1"]) == (
        r"scale\-n[^/]*"
    )


def test_it_is_no_longer_for_ten_thousand_runs() -> None:
    runs = [f"scale-b{batch}" for batch in range(10_000)]
    assert pattern_of(runs, [*runs, "sweep-b1"]) == r"scale\-b[^/]*"


def test_names_of_other_runs_that_begin_alike_are_left_out() -> None:
    planned = ["a-b1", "a-b12", "a-b13", "a-b2", "a-b25"]
    chosen = ["a-b1", "a-b12", "a-b25"]
    assert matched(pattern_of(chosen, planned), planned) == chosen


def test_no_run_has_no_pattern() -> None:
    assert pattern_of([], ["a"]) == ""


def test_a_run_is_the_launch_that_ends_its_name_else_the_first() -> None:
    assert [launch_of(run) for run in ("q2-n2", "q2-n2-launch12", "own-launchpad")] == [1, 12, 1]
