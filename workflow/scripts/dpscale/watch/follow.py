"""Shows a workflow once, live on a terminal, or as a line a change."""

import os
import sys
import time
from io import TextIOWrapper

from rich.console import Console
from rich.live import Live

from dpscale.watch.headline import change, counts
from dpscale.watch.observer import Observer
from dpscale.watch.state import State
from dpscale.watch.table import render

PLAIN_WIDTH = 200  # of what is no terminal; COLUMNS in the environment comes first


def open_console() -> Console:
    """Return the console of standard output, wide where that is no terminal."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for a terminal that lacks a letter
    console = Console()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(width=PLAIN_WIDTH)


def is_live(console: Console) -> bool:
    """Return whether a console can be drawn on again and again."""
    return console.is_terminal and not console.is_dumb_terminal


def show(observer: Observer, console: Console) -> None:
    """Print the view once."""
    console.print(render(observer.look(), console.width))


def follow(observer: Observer, console: Console, interval_s: float) -> None:
    """Keep the view up to date until every run is done; no terminal: print a line a change."""
    if not is_live(console):
        _follow_plainly(observer, console, interval_s)
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        while True:
            overview = observer.look()
            live.update(render(overview, console.width), refresh=True)
            if overview.over():
                return
            time.sleep(interval_s)


def _follow_plainly(observer: Observer, console: Console, interval_s: float) -> None:
    """Print a line for each run that stands elsewhere than before, until every run is done."""
    before: dict[str, tuple[State, str]] = {}
    while True:
        overview = observer.look()
        now = {run.spec.run: (run.state, run.reason) for run in overview.runs}
        changed = [
            run for run in overview.runs if before and before[run.spec.run] != now[run.spec.run]
        ]
        for run in changed:
            _line(console, change(run))
        if changed or not before:
            _line(console, counts(overview))
        if overview.over():
            return
        before = now
        time.sleep(interval_s)


def _line(console: Console, text: str) -> None:
    stamp = time.strftime("%H:%M:%S")
    console.print(f"{stamp} {text}", markup=False, highlight=False, soft_wrap=True)
