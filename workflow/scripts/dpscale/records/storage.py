"""Files of a run, written whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dpscale.records.record import Record


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file by a temporary name and a rename."""
    with _whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_record(path: Path, record: Record) -> None:
    """Write record.json whole or not at all."""
    write_text(path, record.model_dump_json(indent=1) + "\n")


def read_record(path: Path) -> Record:
    """The record in a file; ValueError names the file where it is no whole record."""
    try:
        return Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ValueError(f"{path}: no valid record: {where}: {first['msg']}") from None


def write_steps(path: Path, columns: Mapping[str, Any]) -> None:
    """Write steps.parquet from columns of equal length (arrays or lists)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _whole(path) as temporary:
        pq.write_table(pa.table(dict(columns)), temporary)


def read_steps(path: Path, columns: Mapping[str, str], *, needed: bool) -> Any:
    """The steps in a file; ValueError names the file where it is damaged or lacks step times.

    columns: type by name. needed: the run is complete, so it must have steps.
    """
    import pandas as pd

    try:
        steps = pd.read_parquet(path)
        if needed and steps.empty:
            raise ValueError("a complete run without steps")
        if not steps.empty:
            for name in ("rank", "step", "samples", "step_s"):
                if name not in steps or steps[name].isna().any():
                    raise ValueError(f"column {name} is missing or has nulls")
        known = {name: kind for name, kind in columns.items() if name in steps}
        return steps.astype(known)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{path}: no valid steps: {reason}; delete the run's folder and run it again"
        ) from None


def write_table(path: Path, table: Any) -> None:
    """Write a DataFrame as parquet by a temporary name and a rename."""
    with _whole(path) as temporary:
        table.to_parquet(temporary, index=False)
