"""What a user can mend, said in one line: the scripts end with it instead of a traceback."""

import errno
import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

# Files, texts and keys; any other error is a slip of the program and keeps its traceback.
MENDABLE = (OSError, ValueError, KeyError)
_UNUSABLE_PLACE = "a file stands where a folder should be; move it away or name another place"


@contextmanager
def one_line(script: str, status: int = 1) -> Iterator[None]:
    """End the script with a status and one line on stderr when the block raises one of MENDABLE.

    Where the status is not Python's own 1, which then means something else, a slip of the program
    ends with it too, after its traceback. Also serves as a decorator of `main`.
    """
    try:
        yield
    except MENDABLE as error:
        line = f"{script}: {described(error)}"
        if status == 1:
            sys.exit(line)
        print(line, file=sys.stderr)
        sys.exit(status)
    except Exception:
        if status == 1:
            raise
        traceback.print_exc()
        sys.exit(status)


def described(error: Exception) -> str:
    """One line that says what is wrong, after the notes that name what it is about."""
    about = [str(note) for note in getattr(error, "__notes__", [])]
    lines = ": ".join([*reversed(about), _reason(error)]).splitlines()
    return "; ".join(line.strip() for line in lines if line.strip())


def located(error: Exception) -> str:
    """One line of a slip of the program: its kind, what it says, and where.

    That is the last line of a template or of the library that it came through.
    """
    where = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if template := frame.f_globals.get("__jinja_template__"):  # whose code has other lines
            line = template.get_corresponding_lineno(line)
        if path.suffix == ".j2" or path.is_relative_to(Path(__file__).parent):
            where = f" ({path.name}, line {line})"
    text = " ".join([f"{type(error).__name__}:", *described(error).split()])
    return "".join(letter for letter in text if letter.isprintable()) + where


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, json.JSONDecodeError):
        return f"no valid JSON: {error}; mend it or make it again"
    if isinstance(error, UnicodeDecodeError):
        return f"no UTF-8 text: {error}; mend it or make it again"
    if isinstance(error, KeyError):
        return f"lacks the key or column {error}"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename}: {_UNUSABLE_PLACE}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.filename or 'the disk'}: {error.strerror}; free some space and repeat this"
    if isinstance(error, OSError) and error.filename:
        absent = isinstance(error, FileNotFoundError)
        hint = "make it first or name another" if absent else "name another"
        # Of a rename, the second is the file that was asked for.
        return f"{error.filename2 or error.filename}: {error.strerror}; {hint}"
    return str(error)


def _invalid(error: ValidationError) -> str:
    """The first problem of a value that is checked field by field, and how many there are.

    An unknown key comes first: a misspelt one also leaves its right spelling missing.
    """
    problems = error.errors(include_url=False)
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        reason = "unknown key; leave it out"
    elif first["type"] == "missing":
        reason = "missing; add it"
    elif first["type"] == "json_invalid":
        reason = first["msg"]
    else:
        reason = f"{first['msg']}, and it is {first['input']!r:.60}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ": ".join(part for part in (error.title, key, reason) if part) + more
