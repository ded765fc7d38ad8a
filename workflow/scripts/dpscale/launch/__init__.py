"""Starts a run's workers, on this machine or on the nodes of a Slurm job, and sees them end."""
