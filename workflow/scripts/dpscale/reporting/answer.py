"""The typed form of one answered question, as `answers.json` holds it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dpscale.reporting import texts
from dpscale.units import UNITS, format_value


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Value(_Frozen):
    """One measurement: a number or null, its unit, its 95% interval and the runs behind it."""

    value: float | int | bool | None = Field(description="the number; null where unknown")
    unit: str = Field(description="a key of dpscale.units.UNITS")
    low: float | None = Field(default=None, description="lower end of the 95% interval")
    high: float | None = Field(default=None, description="upper end of the 95% interval")
    n: int | None = Field(default=None, description="repeats or seeds that it summarises")
    runs: list[str] = Field(default_factory=list, description="names of the runs behind it")
    status: str | None = Field(default=None, description="why a null value is null")

    @model_validator(mode="after")
    def _unit_is_known(self) -> "Value":
        if self.unit not in UNITS:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(UNITS)}")
        return self

    def without_interval(self) -> "Value":
        """Return the number alone, with its unit and its runs."""
        return self.model_copy(update={"low": None, "high": None})

    def written(self, text: str) -> str:
        """Return a text of this number with its runs in it."""
        return texts.of_runs(text, [] if self.value is None else self.runs)

    @property
    def bare(self) -> str:
        """The number with its unit, without its interval."""
        return self.written(format_value(self.value, self.unit, status=self.status))

    def __str__(self) -> str:
        """Return the number with its unit and its interval."""
        return self.written(
            format_value(self.value, self.unit, low=self.low, high=self.high, status=self.status)
        )


def nothing(unit: str) -> Value:
    """Return the null value of a withheld conclusion."""
    return Value(value=None, unit=unit, status="withheld")


LEFT_OUT = "left out of the configuration"  # the end of the line on a study without a plan

AnswerCell = Value | str | int | float | None


class Column(_Frozen):
    """A column of a table: the key of its cells in each row, its head and its unit.

    formulas: whether its words hold formulas, as $TeX$.
    """

    key: str
    title: str
    unit: str = ""
    formulas: bool = False


class AnswerTable(_Frozen):
    """A table of the report; `runs[i]` are the runs behind `rows[i]` (or `runs` is empty).

    further: for who wants to know more, folded or in the appendix.
    """

    caption: str
    columns: list[Column]
    rows: list[dict[str, AnswerCell]]
    runs: list[list[str]] = Field(default_factory=list)
    further: bool = False

    @model_validator(mode="after")
    def _rows_match(self) -> "AnswerTable":
        keys = {column.key for column in self.columns}
        for index, row in enumerate(self.rows):
            if set(row) != keys:
                raise ValueError(
                    f"row {index} of {self.caption!r} has the keys {sorted(row)}, "
                    f"not {sorted(keys)}"
                )
        if self.runs and len(self.runs) != len(self.rows):
            raise ValueError(
                f"{self.caption!r} has {len(self.rows)} rows and runs for {len(self.runs)}"
            )
        unknown = [column.unit for column in self.columns if column.unit not in ("", *UNITS)]
        if unknown:
            raise ValueError(f"units {unknown} are none of {', '.join(UNITS)}")
        return self


class Figure(_Frozen):
    """A figure of the report: its name in a study's `FIGURES`, and its words.

    further: for who wants to know more, folded or in the appendix.
    """

    name: str
    title: str
    caption: str
    further: bool = False


class Said(_Frozen):
    """What an answer says.

    sentence: the result, its reason and limit, chosen by the data; short: the same in a line, for
    the first page; paragraphs: why it is so; method: how it was measured.
    """

    sentence: str
    short: str = ""
    paragraphs: list[str] = Field(default_factory=list)
    method: list[str] = Field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return the texts by name without the runs of their numbers."""
        return {
            name: texts.plain(said) if isinstance(said, str) else [*map(texts.plain, said)]
            for name, said in self
        }


class Answer(_Frozen):
    """One question of the report and its answer.

    Every text is plain: it is escaped when rendered. A paragraph or a sentence may hold inline
    formulas as $TeX$ (a literal dollar is written as a backslash and a dollar).
    """

    id: str = Field(description="Q1, Q3.1, H2, S4 ...")
    status: Literal["complete", "withheld", "failed"] = "complete"
    error: str = Field("", description="of one that failed: why, in one line")
    question: str
    title: str = Field("", description="the question in a few words, for the contents")
    sentence: str = Field(description="the answer: result, reason, limit, chosen by the data")
    short: str = Field("", description="the same in a line, for the first page")
    paragraphs: list[str] = Field(default_factory=list, description="why it is so")
    method: list[str] = Field(default_factory=list, description="how it was measured")
    marked: Said | None = Field(
        None, description="the same texts, each number between marks with its runs (`texts`)"
    )
    formula: list[str] = Field(default_factory=list, description="displayed formulas, TeX")
    values: dict[str, Value] = Field(default_factory=dict)
    tables: list[AnswerTable] = Field(default_factory=list)
    figures: list[Figure] = Field(default_factory=list)
    references: list[str] = Field(default_factory=list, description="plain text, DOI included")
    missing: list[str] = Field(default_factory=list, description="cells that lack a result")
    weight: float = Field(1, description="the factor that its lesson shows at least; 1: none")

    @property
    def said(self) -> Said:
        """Its texts with the runs of their numbers, where they have any."""
        return self.marked or Said.model_validate({name: getattr(self, name) for name in _TEXTS})

    @property
    def left_out(self) -> bool:
        """Whether the configuration does not plan the study, so that nothing is to be awaited."""
        return bool(self.missing) and all(line.endswith(LEFT_OUT) for line in self.missing)


_TEXTS = tuple(Said.model_fields)


def dump_answers(answers: list[Answer]) -> list[dict[str, Any]]:
    """Return the list that `answers.json` holds: formulas joined to one string by newlines."""
    return [
        {**answer.model_dump(mode="json"), "formula": "\n".join(answer.formula)}
        for answer in answers
    ]


def load_answers(dumped: list[dict[str, Any]]) -> list[Answer]:
    """Return the answers of a list made by `dump_answers`."""
    return [
        Answer.model_validate({**item, "formula": item["formula"].splitlines()}) for item in dumped
    ]
