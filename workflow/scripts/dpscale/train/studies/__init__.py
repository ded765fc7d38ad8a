"""Trainings of the studies of large batches, one module a kind of run."""
