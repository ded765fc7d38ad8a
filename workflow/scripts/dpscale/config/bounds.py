"""Conditions of a field that say why: in the schema as bounds, in an error as a sentence."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Condition:
    """What a value has to fulfil, in an `Annotated` type.

    words: what an error says of a value that does not; schema: the same in the JSON schema.
    """

    holds: Callable[[Any], bool]
    words: str
    schema: tuple[tuple[str, object], ...] = ()

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), **dict(self.schema)}

    def _checked(self, value: Any) -> Any:
        if not self.holds(value):
            raise ValueError(self.words)
        return value


def at_most(bound: float, why: str) -> Condition:
    """Return the condition of a number that no machine goes beyond; the reason is a clause."""
    words = f"must be {bound:,} or less: {why}"
    return Condition(lambda value: value <= bound, words, (("maximum", bound),))


def written(pattern: str, words: str) -> Condition:
    """Return the condition of a text that a regular expression matches from end to end."""
    whole = re.compile(pattern)
    return Condition(
        lambda text: bool(whole.fullmatch(text)), words, (("pattern", f"^{pattern}$"),)
    )


DISTINCT = Condition(
    lambda values: len(set(values)) == len(values),
    "name each value once: a repeated one is no repeat of a measurement",
    (("uniqueItems", True),),
)
ASCENDING = Condition(
    lambda values: all(one < other for one, other in pairwise(values)),
    "must rise from value to value",
    (("uniqueItems", True),),
)
