"""Files of a lab: written whole or not at all, and named where they cannot be read."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dpscale.records.record import Record

_AGAIN = "delete the run's folder and run it again"


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def about(subject: object) -> Iterator[None]:
    """Note on an error of the block what it is about: a file, or an argument.

    An OSError names its file by itself.
    """
    try:
        yield
    except (ValueError, KeyError) as error:
        error.add_note(str(subject))
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file by a temporary name and a rename."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_json(path: Path, key: str | None = None) -> Any:
    """The JSON in a file, or one key of it; an error's note names the file."""
    text = path.read_bytes()
    with about(path):
        content = json.loads(text.decode())
        if key is None:
            return content
        if not isinstance(content, dict) or key not in content:
            raise ValueError(f"lacks the key {key!r}; make it again")
        return content[key]


def write_record(path: Path, record: Record) -> None:
    """Write record.json whole or not at all."""
    write_text(path, record.model_dump_json(indent=1) + "\n")


def read_record(path: Path) -> Record:
    """The record in a file; ValueError names the file where it is no whole record."""
    try:
        return Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {error}; {_AGAIN}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        reason = f"{where}: {first['msg']}"
        raise ValueError(f"{path}: no valid record: {reason}; {_AGAIN}") from None


def write_steps(path: Path, columns: Mapping[str, Any]) -> None:
    """Write steps.parquet from columns of equal length (arrays or lists)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with whole(path) as temporary:
        pq.write_table(pa.table(dict(columns)), temporary)


def read_steps(path: Path, columns: Mapping[str, str], *, needed: bool) -> Any:
    """The steps in a file as a pyarrow.Table of the known columns that it has.

    columns: type by name. needed: the run is complete, so it must have steps. Raises ValueError
    that names the file where it is damaged or lacks step times.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"Int64": pa.int64(), "float64": pa.float64(), "str": pa.string()}
    try:
        with pq.ParquetFile(path) as file:
            steps = file.read()
        if needed and not len(steps):
            raise ValueError("a complete run without steps")
        if len(steps):
            for name in ("rank", "step", "samples", "step_s"):
                if name not in steps.column_names or _has_unknown(steps[name]):
                    raise ValueError(f"column {name} is missing or has nulls")
        known = [name for name in columns if name in steps.column_names]
        return steps.select(known).cast(pa.schema([(name, types[columns[name]]) for name in known]))
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: no valid steps: {reason}; {_AGAIN}") from None


def _has_unknown(column: Any) -> bool:
    """Whether a pyarrow column has a null, or a float that is not a number."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.is_null(column, nan_is_null=True)).as_py())


def write_table(path: Path, table: Any) -> None:
    """Write a DataFrame as parquet by a temporary name and a rename."""
    with whole(path) as temporary:
        table.to_parquet(temporary, index=False)


def write_csv(path: Path, table: Any) -> None:
    """Write a DataFrame as CSV by a temporary name and a rename."""
    with whole(path) as temporary:
        table.to_csv(temporary, index=False)


def read_table(path: Path, columns: Mapping[str, str]) -> Any:
    """The DataFrame in a parquet or CSV file that has these columns, and more or not.

    columns: type by name; a CSV file's are read as these types. Raises FileNotFoundError for a
    missing file, and ValueError that names the file, and the columns where some are at fault.
    """
    import pandas as pd

    if not path.exists():
        raise FileNotFoundError(f"no input table {path}")
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path, columns)
        if absent := [name for name in columns if name not in table]:
            raise ValueError(f"lacks the columns {', '.join(absent)}")
        return table
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: no valid table: {reason}; make it again") from None


def _read_csv(path: Path, columns: Mapping[str, str]) -> Any:
    import pandas as pd

    if not path.read_bytes().endswith(b"\n"):
        raise ValueError("it is empty or cut short")
    try:
        return pd.read_csv(path, dtype=dict(columns))
    except (ValueError, TypeError):
        for name in [name for name in pd.read_csv(path, dtype=str) if name in columns]:
            try:
                pd.read_csv(path, usecols=[name], dtype={name: columns[name]})
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {name} is not {columns[name]}: {error}") from None
        raise
