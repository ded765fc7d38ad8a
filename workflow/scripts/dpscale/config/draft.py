"""A first configuration as text, with comments, from a few wishes."""

import json
from typing import NamedTuple

LAUNCHES = "launches: 3 # of each timed cell, in processes of their own: intervals are over them\n"
SHORT = "  epochs: 2\n  seeds: [0, 1]\n"
# From the most thorough to the shortest: what stands beside the defaults.
LEVELS = ("full", "usual", "short")

ASKED = "# Q1 to Q7 are asked; H1 to H6, S1 to S4, E1 and E2 where their sections are added.\n"


class Wishes(NamedTuple):
    """What a first configuration is to have.

    own: file of a training; devices: on all nodes, None if unknown.
    """

    name: str
    own: str | None = None
    device: str = "cpu"
    devices: int | None = None
    nodes: int = 1


def draft(wishes: Wishes, level: str) -> str:
    """Return the text of a configuration at one of LEVELS."""
    parts = [_head(wishes), _trained(wishes), _hardware(wishes), ASKED, _spent(wishes, level)]
    return "\n".join(part for part in parts if part)


def _head(wishes: Wishes) -> str:
    return (
        "# What this file does not name has its default: docs/configuration.md lists every key.\n"
        f"# Check it: python workflow/scripts/check_config.py THIS_FILE\n"
        f"name: {json.dumps(wishes.name)} # results go to results/{wishes.name}/\n"
    )


def _trained(wishes: Wishes) -> str:
    if wishes.own:
        return (
            "own: # a training of your own: model, dataset and perhaps loss, correct, optimizer\n"
            f"  file: {json.dumps(wishes.own)} # beside this file, or an absolute path\n"
            "  arguments: {} # passed to each function of the file that names them\n"
        )
    if wishes.device == "cuda":
        return (
            "data:\n  dataset: cifar10 # downloaded once; of your own: own: {file: ...}\n"
            "  loader_workers: 4 # processes that load for one GPU\n  augment: true\n\n"
            "model:\n  name: resnet18_cifar\n"
        )
    return (
        "data:\n  dataset: digits # 1,797 images of 8x8 pixels; of your own: own: {file: ...}\n\n"
        "model:\n  name: resnet_8x8\n\ntraining:\n  lr: 0.02 # the default, 0.1, is for larger "
        "images\n"
    )


def _hardware(wishes: Wishes) -> str:
    on_gpus = wishes.device == "cuda"
    lines = [f"hardware:\n  device: {wishes.device}\n  backend: {'nccl' if on_gpus else 'gloo'}\n"]
    if wishes.devices:
        lines.append(f"  devices: {wishes.devices} # on all nodes; no run has more workers\n")
    if wishes.nodes > 1:
        share = max(1, wishes.devices // wishes.nodes) if wishes.devices else 1
        lines.append(f"  workers_per_node: {share} # more workers take more nodes\n")
    return "".join(lines)


def _spent(wishes: Wishes, level: str) -> str:
    """What is cut for the time."""
    if level == "full":
        return ""
    if level == "usual":
        return LAUNCHES
    pairs = "" if wishes.devices == 1 else f"\nreplicas: # Q5, Q7\n{SHORT}"
    return f"{LAUNCHES}\nlarge_batch: # Q4\n{SHORT}{pairs}"
