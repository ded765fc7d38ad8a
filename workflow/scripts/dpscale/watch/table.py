"""The view as rich renders it: counts, runs at work, jobs that wait, failures, other outcomes.

Text from files goes in as Text, which rich takes as it is.
"""

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dpscale.units import plain
from dpscale.watch.headline import counts, times
from dpscale.watch.state import Overview, Run, State
from dpscale.watch.text import clean, nodes_text

MOST_ROWS = 30  # of failures, outcomes and reasons to wait
BAR = 14  # characters
# Columns that a narrower view leaves out: what the run's name says too, and details.
NEEDED = {"study": 130, "attempt": 130, "": 130, "job": 100, "step": 100}


def render(overview: Overview, width: int) -> RenderableType:
    """Return the whole view for a terminal of `width` characters."""
    parts: list[RenderableType] = [Text(counts(overview), style="bold")]
    if line := times(overview):
        parts.append(Text(line))
    if running := overview.among(State.RUNNING):
        parts.append(_at_work(running, width))
    if waiting := [job for job in overview.jobs if job.waits]:
        by_reason: dict[str, list[str]] = defaultdict(list)
        for job in waiting:
            by_reason[job.reason].append(f"{job.run or job.rule} ({job.number})")
        rows = [
            (f"{len(jobs)} waiting", reason, ", ".join(jobs[:3]) + ", …" * (len(jobs) > 3))
            for reason, jobs in by_reason.items()
        ]
        parts.append(_listed("Jobs that wait for Slurm", ("jobs", "why", "which"), rows, "yellow"))
    if failed := overview.among(State.FAILED):
        rows = [(run.spec.run, _attempt(run), run.reason) for run in failed]
        parts.append(_listed("Failed", ("run", "attempt", "why"), rows, "red"))
    done = overview.among(State.DONE)
    if other := [run for run in done if run.status != "complete"]:
        rows = [(run.spec.run, run.status.replace("_", " "), run.reason) for run in other]
        parts.append(_listed("Done, and not complete", ("run", "outcome", "why"), rows, "yellow"))
    return Group(*parts)


def _at_work(runs: Sequence[Run], width: int) -> Table:
    columns = [
        "study",
        "run",
        "on",
        "job",
        "attempt",
        "done",
        "",
        "at",
        "step",
        "loss",
        "samples/s",
        "left",
    ]
    hidden = {name for name, needed in NEEDED.items() if width < needed}
    if not any(_job(run) for run in runs):
        hidden.add("job")
    shown = [name for name in columns if name not in hidden]
    table = _table("At work")
    for name in shown:
        right = name in ("done", "loss", "samples/s", "left", "attempt")
        table.add_column(name, justify="right" if right else "left")
    for run in runs:
        cells = dict(zip(columns, _cells(run), strict=True))
        table.add_row(*(cells[name] for name in shown))
    return table


def _cells(run: Run) -> list[RenderableType]:
    attempt, progress = run.attempt, run.progress
    where = nodes_text(attempt.nodes, attempt.host) if attempt else ""
    known: list[RenderableType] = [
        Text(clean(run.spec.study)),
        Text(clean(run.spec.run), style="cyan"),
        Text(where),
        Text(_job(run)),
        Text(_attempt(run)),
    ]
    if progress is None:
        return [*known, Text(""), Text(""), Text("starting"), *[Text("")] * 4]
    step = ""
    if progress.step is not None and progress.steps is not None:
        step = f"{plain.count(progress.step)} of {plain.count(progress.steps)}"
    at = ", ".join(part for part in (progress.place(), progress.note) if part)
    numbers = (progress.loss, progress.samples_per_s)
    return [
        *known,
        Text(f"{progress.done_frac:.0%}"),
        ProgressBar(total=1.0, completed=progress.done_frac, width=BAR),
        Text(clean(at)),
        Text(step),
        *(Text("" if one is None else plain.rounded(one)) for one in numbers),
        Text("" if progress.left_s is None else plain.duration(progress.left_s)),
    ]


def _job(run: Run) -> str:
    number = run.job.number if run.job else run.attempt.job if run.attempt else None
    return clean(number or "")


def _attempt(run: Run) -> str:
    return str(run.attempt.number) if run.attempt else ""


def _listed(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> Table:
    table = _table(title)
    for name in head:
        table.add_column(name)
    for first, second, why in rows[:MOST_ROWS]:
        table.add_row(Text(clean(first), style=style), Text(clean(second)), Text(clean(why)))
    if len(rows) > MOST_ROWS:
        table.add_row(Text(f"and {len(rows) - MOST_ROWS} more"))
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
