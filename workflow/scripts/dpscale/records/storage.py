"""Files of a lab: written whole or not at all, and named where they cannot be read."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from dpscale.files import whole
from dpscale.records.columns import FLOAT, bounds
from dpscale.records.record import Record

Model = TypeVar("Model", bound=BaseModel)
_KEYS = ("seed", "arm", "repeat", "epoch", "rank")  # of steps that follow each other


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


class DamagedError(ValueError):
    """A file that is there and not what it has to be; `reason` names it, and what is wrong."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; delete it and call snakemake, which makes it again")
        self.reason = reason


@contextmanager
def _checked(path: Path, what: str) -> Iterator[None]:
    """Have an error of the block name the file, the field, its bound, and what to do."""
    try:
        yield
    except ValidationError as error:
        raise DamagedError(f"{path}: no valid {what}: {_first(error)}") from None
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise DamagedError(f"{path}: no valid {what}: {reason}") from None


def _first(error: ValidationError) -> str:
    """The first field that is not as declared: `spans, row 4, span_s: -0.1: Input should ...`."""
    first = error.errors(include_url=False)[0]
    where = [f"row {part + 1}" if isinstance(part, int) else part for part in first["loc"]]
    value = repr(first["input"]) if isinstance(first["input"], int | float) else ""
    message = first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, [", ".join(where), value, message]))


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


def read_model(path: Path, model: type[Model]) -> Model:
    """The checked content of a JSON file.

    Raises OSError, or ValueError that names file, field and bound where it is damaged.
    """
    text = path.read_bytes()
    with _checked(path, "content"):
        return model.model_validate_json(text)


def write_record(path: Path, record: Record) -> None:
    """Write record.json whole or not at all."""
    write_text(path, record.model_dump_json(indent=1) + "\n")


def read_record(path: Path, rows: SchemaValidator | None = None) -> Record:
    """The record in a file; ValueError names file, table, row and field where it is damaged.

    rows: what checks its tables (`row_checks`).
    """
    with _checked(path, "record"):
        record = Record.model_validate_json(path.read_bytes())
        if rows:
            rows.validate_python(dict(record))
    return record


def write_steps(path: Path, columns: Mapping[str, Any]) -> None:
    """Write steps.parquet from columns of equal length (arrays or lists)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with whole(path) as temporary:
        pq.write_table(pa.table(dict(columns)), temporary)


def read_steps(path: Path, columns: Mapping[str, str], *, needed: bool) -> Any:
    """The steps in a file as a pyarrow.Table of the known columns that it has.

    columns: type by name. needed: the run is complete, so it must have steps. Raises ValueError
    that names file, row and field where it is damaged, lacks step times or has impossible ones.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _checked(path, "steps"):
        with pq.ParquetFile(pa.BufferReader(path.read_bytes())) as file:  # faster than by its name
            steps = file.read(use_threads=False)  # which take longer to start than a run to read
        if needed and not len(steps):
            raise ValueError("a complete run without steps")
        if len(steps):
            for name in ("rank", "step", "samples", "step_s"):
                if name not in steps.column_names or _has_unknown(steps[name]):
                    raise ValueError(f"column {name} is missing or has nulls")
        known = [name for name in steps.column_names if name in columns]
        wanted = _step_types(tuple((name, columns[name]) for name in known))
        if steps.schema != wanted:
            steps = steps.select(known).cast(wanted)
        _check_steps(steps, columns)
        return steps


@cache
def _step_types(columns: tuple[tuple[str, str], ...]) -> Any:
    """The pyarrow.Schema of columns, by name and type."""
    import pyarrow as pa

    types = {"Int64": pa.int64(), "float64": pa.float64(), "str": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in columns])


def _check_steps(steps: Any, columns: Mapping[str, str]) -> None:
    """Raise ValueError for a number beyond its bounds, or steps of an epoch that do not rise."""
    import numpy as np

    values = {name: steps[name].to_numpy() for name in steps.column_names}
    for name, column in values.items():
        low, high = bounds(name)
        if columns[name] == "str" or low is None:
            continue
        with np.errstate(invalid="ignore"):  # NaN: unknown
            wrong = (column < low) | (column > (np.inf if high is None else high))
        if columns[name] == FLOAT:
            wrong |= np.isinf(column)
        if wrong.any():
            row = int(wrong.argmax())
            bound = f"from {low} to {high}" if high else f"finite and not below {low}"
            raise ValueError(f"row {row + 1}, {name}: {column[row]} is not {bound}")
    if len(steps) > 1:
        follows = np.all([values[key][1:] == values[key][:-1] for key in _KEYS if key in values], 0)
        wrong = follows & (values["step"][1:] <= values["step"][:-1])
        if wrong.any():
            row, step = int(wrong.argmax()) + 2, values["step"][1:][wrong.argmax()]
            raise ValueError(f"row {row}, step: {step} does not come after the row before")


def _has_unknown(column: Any) -> bool:
    """Whether a pyarrow column has a null, or a float that is not a number."""
    import numpy as np
    import pyarrow as pa

    if column.null_count:
        return True
    return pa.types.is_floating(column.type) and bool(np.isnan(column.to_numpy()).any())


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
    with _checked(path, "table"):
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path, columns)
        if absent := [name for name in columns if name not in table]:
            raise ValueError(f"lacks the columns {', '.join(absent)}")
        return table


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
