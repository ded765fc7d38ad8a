"""Section of the configuration that names tables of timings collected by hand."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from dpscale.config.bounds import at_most, written
from dpscale.config.sections import Line, Section

Count = Annotated[int, Field(ge=1), at_most(10**15, "nothing that was ever trained has more")]


class AuditTableConfig(Section):
    """A table of timings collected by hand, and what it does not say itself."""

    path: Annotated[str, written(r"[^{}\n]{1,1000}", "must name a file, without braces")] = Field(
        description="CSV, TSV, Markdown or .xlsx file; from the folder of the call, or that of the "
        "configuration."
    )
    title: Line = Field("", description="Title in the report; empty: the file's name.")
    parameters: Count | None = Field(
        None, description="Trainable parameters X; null: as a comment of the table, or the lab."
    )
    samples: Count | None = Field(
        None, description="Training samples D; null: as a comment of the table, or the lab."
    )

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem


class AuditConfig(Section):
    """Tables of timings collected by hand, checked in a part of the report of their own."""

    tables: Annotated[tuple[AuditTableConfig, ...], Field(max_length=100)] = Field(
        (), description="Paths, or sections with a path."
    )

    @field_validator(
        "tables", mode="before", json_schema_input_type=tuple[str | AuditTableConfig, ...]
    )
    @classmethod
    def _paths_alone(cls, tables: object) -> object:
        if not isinstance(tables, list | tuple):
            return tables
        return tuple({"path": table} if isinstance(table, str) else table for table in tables)

    @field_validator("tables")
    @classmethod
    def _named_once(cls, tables: tuple[AuditTableConfig, ...]) -> tuple[AuditTableConfig, ...]:
        names = [table.name for table in tables]
        if len(set(names)) < len(names):
            raise ValueError("give each file a name of its own, whatever its folder and ending")
        return tables
