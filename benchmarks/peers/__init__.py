"""What a user would pick instead: each peer trains the same model on the same ready batches.

A peer's `build` takes a model, its optimiser, batches and the number of workers, and returns a
function that trains so many steps and returns the seconds that they took.
"""

from collections.abc import Callable

from torch import Tensor

Batches = list[tuple[Tensor, Tensor]]
Train = Callable[[int], float]
