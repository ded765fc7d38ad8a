"""Calls of a script's main in this process: seconds less than a process that imports it anew.

That a process ends with the same status and lines, test_scripts.py shows.
"""

import importlib
import io
import sys
from contextlib import redirect_stderr
from typing import NamedTuple
from unittest.mock import patch


class Ended(NamedTuple):
    """What a call ended with."""

    returncode: int
    stderr: str


def call(script: str, *arguments: object) -> Ended:
    """Call a script of workflow/scripts; what is no end of it (a traceback) is raised."""
    words = [f"{script}.py", *map(str, arguments)]
    errors = io.StringIO()
    with patch.object(sys, "argv", words), redirect_stderr(errors):
        try:
            status = importlib.import_module(script).main()
        except SystemExit as end:
            if isinstance(end.code, str):  # the interpreter prints it and ends with 1
                return Ended(1, f"{errors.getvalue()}{end.code}\n")
            return Ended(int(end.code or 0), errors.getvalue())
    return Ended(status or 0, errors.getvalue())
