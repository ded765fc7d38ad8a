"""Yes and no of many samples as a short text: eight a byte, in base64."""

from base64 import b64decode, b64encode

import numpy as np


def packed(flags: np.ndarray) -> str:
    """Return the text of some flags: of 360 it has 60 letters."""
    return b64encode(np.packbits(flags).tobytes()).decode("ascii")


def unpacked(text: str, count: int) -> np.ndarray:
    """Return so many flags of a text; ValueError where it holds another number of bytes."""
    found = np.frombuffer(b64decode(text, validate=True), np.uint8)
    if len(found) != -(-count // 8):
        raise ValueError(f"{len(found)} bytes are not those of {count} flags")
    return np.unpackbits(found, count=count).astype(bool)
