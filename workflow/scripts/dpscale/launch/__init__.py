"""Starts a run's workers, on this machine or on the nodes of a Slurm job, and sees them end."""

from dpscale.launch import leftovers, warm
from dpscale.launch.command import LaunchError, command, may_fork, torchrun_arguments
from dpscale.launch.meeting import Meeting, meeting_place
from dpscale.launch.node import cpus_per_node, devices_per_node, memory_per_node_mb
from dpscale.launch.supervise import supervise

__all__ = [
    "LaunchError",
    "Meeting",
    "command",
    "cpus_per_node",
    "devices_per_node",
    "leftovers",
    "may_fork",
    "meeting_place",
    "memory_per_node_mb",
    "supervise",
    "torchrun_arguments",
    "warm",
]
