"""Columns and types of the tidy tables."""

_INT, _FLOAT, _BOOL, _TEXT = "Int64", "float64", "boolean", "str"


def _typed(names: str, dtype: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), dtype)


SCHEMAS: dict[str, dict[str, str]] = {
    "runs": _typed("run kind study arm status message", _TEXT)
    | _typed("workers nodes per_worker_batch global_batch train_samples test_samples", _INT)
    | _typed("seeds epochs", _INT)
    | _typed("lr", _FLOAT)
    | _typed("parameters payload_bytes buffer_bytes peak_memory_bytes memory_budget_bytes", _INT)
    | _typed("utilisation_frac", _FLOAT)
    | _typed("oversubscribed", _BOOL)
    | _typed("workers_per_machine devices_per_machine", _INT)
    | _typed("device fingerprint host started_at finished_at", _TEXT)
    | _typed("wall_s", _FLOAT)
    | _typed("dataset model optimizer loader", _TEXT)
    | _typed("repeated_data", _BOOL)
    | _typed("commit versions", _TEXT)
    | _typed("startup_s", _FLOAT)
    | _typed("expected", _TEXT)
    | _typed("role rule warmup", _TEXT)
    | _typed("zero_gamma", _BOOL)
    | _typed("group_batch groups reference_groups", _INT)
    | _typed("base_lr margin_frac", _FLOAT),
    "steps": _typed("run", _TEXT)
    | _typed("seed", _INT)
    | _typed("arm", _TEXT)
    | _typed("repeat epoch step rank samples", _INT)
    | _typed("step_s load_s copy_s forward_s backward_s update_s loss", _FLOAT),
    "epochs": _typed("run", _TEXT)
    | _typed("seed epoch", _INT)
    | _typed("train_loss train_accuracy_frac validation_accuracy_frac", _FLOAT)
    | _typed("test_loss test_accuracy_frac epoch_s lr", _FLOAT)
    | _typed("wall_s evaluation_s utilisation_frac", _FLOAT),
    "replicas": _typed("run", _TEXT)
    | _typed("seed epoch rank", _INT)
    | _typed("parameter_digest", _TEXT)
    | _typed("parameter_difference_max", _FLOAT)
    | _typed("buffer_digest", _TEXT)
    | _typed("buffer_difference_frac test_accuracy_frac", _FLOAT),
    "orders": _typed("run", _TEXT)
    | _typed("seed epoch rank", _INT)
    | _typed("digest first_indices", _TEXT),
    "collectives": _typed("run phase", _TEXT)
    | _typed("iteration index", _INT)
    | _typed("operation purpose dtype", _TEXT)
    | _typed("calls bytes", _INT)
    | _typed("timed_arm", _TEXT),
    "wire": _typed("run phase", _TEXT)
    | _typed("iterations", _INT)
    | _typed("interface", _TEXT)
    | _typed("sent_bytes", _INT)
    | _typed("timed_arm", _TEXT),
    "buckets": _typed("run", _TEXT) | _typed("index bytes", _INT) | _typed("ready_frac", _FLOAT),
    "spans": _typed("run", _TEXT)
    | _typed("rank iteration", _INT)
    | _typed("span_s overlap_s", _FLOAT),
    "messages": _typed("run operation", _TEXT)
    | _typed("bytes repeat", _INT)
    | _typed("seconds", _FLOAT),
    # One training of a study: a trial of a search, or a seed of an arm. Its result is at its end.
    "trials": _typed("run", _TEXT)
    | _typed("trial seed", _INT)
    | _typed("role arm model optimizer status", _TEXT)
    | _typed("learners per_learner_batch global_batch local_steps", _INT)
    | _typed("lr momentum", _FLOAT)
    | _typed("steps steps_to_goal rounds sent_bytes", _INT)
    | _typed("wall_s", _FLOAT)
    | _typed("alpha target_accuracy_frac", _FLOAT)
    | _typed("median_of", _INT)
    | _typed("label_noise_frac rate_factor", _FLOAT)  # S4
    | _typed("local_from_step", _INT),
    # The curve of a trial.
    "evaluations": _typed("run", _TEXT)
    | _typed("trial step", _INT)
    | _typed("epoch lr train_loss train_accuracy_frac validation_loss", _FLOAT)
    | _typed("validation_accuracy_frac test_accuracy_frac wall_s", _FLOAT)
    # Mean squared norms of the gradients of small batches, and that of a big one of all of them.
    | _typed("small_batch big_batch", _INT)
    | _typed("small_gradient_square big_gradient_square", _FLOAT),
    # Timed repeats of so many learners that train side by side on one device.
    "throughputs": _typed("run", _TEXT)
    | _typed("learners per_learner_batch repeat samples", _INT)
    | _typed("seconds threshold_frac", _FLOAT)
    | _typed("stacked", _BOOL),
    # What a search was told to look for, and where: its protocol.
    "searches": _typed("run model optimizer", _TEXT)
    | _typed("goal_error_frac effective_lr_low effective_lr_high momentum_rest_low", _FLOAT)
    | _typed("max_steps max_epochs", _INT)
    | _typed("patience", _FLOAT)
    | _typed("evaluation_samples planned_trials finalists stacked_samples noise_batch", _INT)
    | _typed("batch_sizes expected", _TEXT),
    "links": _typed("link", _TEXT)
    | _typed("bytes_per_s latency_s", _FLOAT)
    | _typed("source", _TEXT)
    | _typed("own", _BOOL),
}
