"""The machine under a worker: its device, memory, condition, and what others take of it."""
