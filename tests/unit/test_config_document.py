"""The configuration's schema as Markdown: sections under headings, fields in tables."""

import pytest
from pydantic import Field

from dpscale.config.document import MARK, with_fields
from dpscale.config.sections import MemorySize, Section


class Link(Section):
    """A link."""

    latency_s: float = Field(5e-6, ge=0, lt=1, description="Seconds of a message.")


class Net(Section):
    """The network between workers."""

    links: tuple[Link, ...] = Field((), description="Links a|b.", min_length=2)
    memory: MemorySize = Field(None, description="Memory, for example 16 GiB.")


class File(Section):
    """All."""

    name: str = Field(description="Name.")
    net: Net | None = Field(Net(), description="Network.")


FIELDS = """## The file

All.

| key | type | default | |
|---|---|---|---|
| `name` | string | required | Name. |
| `net` | [section](#net) or null | as in its table | Network. |

## `net`

The network between workers.

| key | type | default | |
|---|---|---|---|
| `links` | list (2 or more) of [section](#netlinks) | `[]` | Links a\\|b. |
| `memory` | string or null | `null` | Memory, for example 16 GiB. |

### `net.links`

A link.

| key | type | default | |
|---|---|---|---|
| `latency_s` | number ≥ 0 and < 1 | `5.0e-06` | Seconds of a message. |
"""


def test_what_stands_above_the_mark_is_kept_and_the_fields_follow() -> None:
    text = with_fields(f"# Title\n\n{MARK}\n\nold\n", File.model_json_schema())
    assert text == f"# Title\n\n{MARK}\n\n{FIELDS}"


def test_alternatives_and_values_that_only_some_fields_have() -> None:
    one = {
        "description": "Weight.",
        "anyOf": [{"const": "1/k", "type": "string"}, {"enum": ["a", "b"]}, {"type": "null"}],
        "default": "1/k",
    }
    text = with_fields(MARK, {"properties": {"weight": one}})
    assert text.endswith("| `weight` | `1/k` or `a`, `b` or null | `1/k` | Weight. |\n")


def test_a_document_without_the_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match="write_schema"):
        with_fields("# Title", {})
