"""All that trains, and so all that needs torch."""

import gc
from importlib import import_module


def import_quickly(module: str) -> None:
    """Import a module of many objects, and never look for garbage among them.

    Importing torch is a fifth faster so, and forks share the objects' memory for longer.
    """
    gc.disable()
    import_module(module)
    gc.enable()
    gc.freeze()


def import_for_forks() -> None:
    """Import what torch imports for its first optimiser, once for all forks: it takes seconds."""
    import_quickly("torch._dynamo")


import_quickly("torch")
