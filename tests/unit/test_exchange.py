"""What workers tell each other arrives as it was, and nothing else is told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpscale.train.communication.exchange import decoded, encoded

VALUES: list[Any] = [
    None,
    True,
    3,
    -2.5,
    float("inf"),
    "text, äß",
    [1, [2.0, None]],
    (1, ("a", 2)),
    [],
    (),
    {},
    {"key": [1]},
    {3: 0.5, None: "none"},
    {"tuple": 1, "array": (2,)},
]
ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.arange(4)[::2],
    np.empty(0),
    np.array([None, "arm", 3], dtype=object),
    np.array([True, False]),
    np.array(2.5),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_arrives_as_it_was(value) -> None:
    arrived = decoded(encoded(value))
    assert arrived == value
    assert type(arrived) is type(value)


@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_an_array_arrives_with_its_type_and_shape(array) -> None:
    arrived = decoded(encoded({"array": array}))["array"]
    np.testing.assert_array_equal(arrived, array)
    assert arrived.dtype == array.dtype
    assert arrived.flags.writeable


def test_numbers_of_numpy_arrive_as_numbers() -> None:
    arrived = decoded(encoded([np.float64(0.5), np.int64(3), np.bool_(True)]))
    assert arrived == [0.5, 3, True]
    assert [type(one) for one in arrived] == [float, int, bool]


@pytest.mark.parametrize("value", [{1}, b"bytes", Path("file")], ids=repr)
def test_another_type_is_refused(value) -> None:
    with pytest.raises(TypeError, match="cannot tell each other"):
        encoded([value])
