"""The studies, each a folder with all that it alone needs."""

ORDER = (
    "batch_sweep",
    "scaling",
    "communication",
    "large_batch",
    "replicas",
    "ledger",
    "assignment",
    "steps_to_goal",
    "lr_scaling",
    "model_averaging",
    "local_sgd",
)
