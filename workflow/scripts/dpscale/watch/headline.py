"""The first lines of the view, and its lines without a terminal."""

from dpscale.units import plain
from dpscale.watch.estimate import rest_s
from dpscale.watch.state import Overview, Run, State
from dpscale.watch.text import clean


def counts(overview: Overview) -> str:
    """Return how many of the planned runs stand where: `lab: 12 of 40 runs done, 2 running, …`."""
    numbers = {state: len(overview.among(state)) for state in State}
    first = f"{clean(overview.name)}: {numbers[State.DONE]} of {len(overview.runs)} runs done"
    others = (State.RUNNING, State.WAITING, State.FAILED)
    return ", ".join([first, *(f"{numbers[state]} {state}" for state in others)])


def times(overview: Overview) -> str:
    """Return time passed and left, and what else there is to say of the whole; may be empty."""
    parts = []
    if overview.elapsed_s is not None:
        passed = plain.duration(overview.elapsed_s)
        parts.append(f"took {passed}" if overview.over() else f"{passed} since the start")
    if (left_s := rest_s(overview)) is not None:
        # In tens of seconds where a minute is much.
        left = f"{round(left_s, -1):.0f} s" if left_s < 300 else plain.duration(left_s)
        parts.append(f"about {left} until the last run ends")
    if overview.called_at_s is None and not overview.over():
        parts.append("no snakemake runs in this folder")
    return ", ".join(parts)


def line(overview: Overview) -> str:
    """Return where the whole stands, in one line."""
    return ", ".join(part for part in (counts(overview), times(overview)) if part)


def change(run: Run) -> str:
    """Return where a run stands now, in one line."""
    words = run.status.replace("_", " ") if run.state == State.DONE else run.state.value
    reason = clean(run.reason)
    return f"{clean(run.spec.run)}: {words}{': ' if reason else ''}{reason}"
