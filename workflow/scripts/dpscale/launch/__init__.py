"""Starts a run's workers, on this machine or on the nodes of a Slurm job, and sees them end."""

from dpscale.launch import leftovers, warm
from dpscale.launch.command import LaunchError, command, torchrun_arguments
from dpscale.launch.supervise import supervise

__all__ = ["LaunchError", "command", "leftovers", "supervise", "torchrun_arguments", "warm"]
