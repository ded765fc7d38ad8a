"""What workers tell each other, as JSON over the process group.

torch's own calls for objects unpickle what comes from a socket: who can write to it runs code.
"""

import base64
import json
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor


def share(value: Any) -> list[Any]:
    """Return the values of all workers by rank, on every worker; for the types see `encoded`."""
    own, sizes = _own_and_sizes(value)
    everyone = [torch.empty_like(own) for _ in sizes]
    dist.all_gather(everyone, own)
    return _decoded_by_rank(everyone, sizes)


def gather(value: Any) -> list[Any]:
    """Return the values of all workers by rank on rank 0, nothing elsewhere; else as `share`."""
    own, sizes = _own_and_sizes(value)
    if dist.get_rank() > 0:
        dist.gather(own)
        return []
    everyone = [torch.empty_like(own) for _ in sizes]
    dist.gather(own, everyone)
    return _decoded_by_rank(everyone, sizes)


def _own_and_sizes(value: Any) -> tuple[Tensor, list[int]]:
    """This worker's bytes, as long as the longest worker's, and the bytes of each."""
    own = encoded(value)
    size = torch.tensor([len(own)])
    sizes = [torch.empty_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    padded = own.ljust(max(map(int, sizes)))
    return torch.frombuffer(bytearray(padded), dtype=torch.uint8), [int(one) for one in sizes]


def _decoded_by_rank(everyone: list[Tensor], sizes: list[int]) -> list[Any]:
    return [
        decoded(one[:size].numpy().tobytes()) for one, size in zip(everyone, sizes, strict=True)
    ]


def encoded(value: Any) -> bytes:
    """Return a value as JSON: None, bool, numbers, text, lists, tuples, dicts, numpy arrays.

    Raises TypeError for another type.
    """
    return json.dumps(_tagged(value)).encode()


def decoded(text: bytes) -> Any:
    """Return the value that `encoded` had."""
    return _untagged(json.loads(text))


def _tagged(value: Any) -> Any:
    """The value in JSON's types; all but its scalars and lists as {name of the type: content}."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return value.item()
        case list():
            return [_tagged(item) for item in value]
        case tuple():
            return {"tuple": [_tagged(item) for item in value]}
        case dict():
            return {"dict": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
        case np.ndarray() if value.dtype == object:
            return {"objects": [_tagged(item) for item in value]}
        case np.ndarray():
            content = base64.b64encode(value.tobytes()).decode()
            return {"array": [value.dtype.str, list(value.shape), content]}
    raise TypeError(f"workers cannot tell each other a {type(value).__name__}: {value!r}")


def _untagged(value: Any) -> Any:
    match value:
        case list():
            return [_untagged(item) for item in value]
        case {"tuple": items}:
            return tuple(_untagged(item) for item in items)
        case {"dict": items}:
            return {_untagged(key): _untagged(item) for key, item in items}
        case {"objects": items}:
            objects = np.empty(len(items), dtype=object)
            objects[:] = [_untagged(item) for item in items]
            return objects
        case {"array": [dtype, shape, content]}:
            return np.frombuffer(base64.b64decode(content), dtype=dtype).reshape(shape).copy()
    return value
