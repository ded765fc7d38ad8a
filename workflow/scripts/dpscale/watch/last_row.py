"""The view inside a call of snakemake: a line at its start, and one kept at the terminal's foot."""

import atexit
import os
import shutil
import sys
import threading
from typing import TextIO

from dpscale.watch.headline import beginning, line
from dpscale.watch.observer import Observer

INTERVAL_S = 5.0  # a look reads a few files, while runs are timed beside it


class LastRow:
    """The last row of a terminal for one text; all else scrolls above it, as under apt."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._rows = 0

    def show(self, text: str) -> None:
        """Write the text in the last row, cut to its width; a resized terminal is set up anew."""
        columns, rows = shutil.get_terminal_size()
        if rows != self._rows:
            self._rows = rows
            # Off the last row, then the rows above it scroll; the cursor stays where it was.
            self._write(f"\n\x1b7\x1b[1;{rows - 1}r\x1b8\x1b[1A")
        self._write(f"\x1b7\x1b[{rows};1H\x1b[2K{text[: columns - 1]}\x1b8")

    def close(self) -> None:
        """Give the row back."""
        if self._rows:
            self._write(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            self._rows = 0

    def _write(self, text: str) -> None:
        self._terminal.write(text)
        self._terminal.flush()


def begin(observer: Observer, terminal: TextIO = sys.stderr) -> None:
    """Say what there is to measure, and on a terminal keep a line on it until the process ends."""
    print(beginning(observer.look()), file=terminal, flush=True)
    if not terminal.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return
    row, over = LastRow(terminal), threading.Event()

    def keep() -> None:
        """Show the line again and again."""
        while not over.wait(INTERVAL_S):
            row.show(line(observer.look()))

    thread = threading.Thread(target=keep, daemon=True)

    def end() -> None:
        """Give the row back once nobody writes to it."""
        over.set()
        thread.join()
        row.close()

    atexit.register(end)
    thread.start()
