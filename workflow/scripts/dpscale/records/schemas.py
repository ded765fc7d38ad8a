"""Columns and types of the tidy tables that no study owns, and what a column may hold."""

from collections.abc import Mapping

from pydantic_core import CoreSchema, SchemaValidator, core_schema

INT, FLOAT, BOOL, TEXT = "Int64", "float64", "boolean", "str"


def typed(names: str, dtype: str) -> dict[str, str]:
    """Return the type of columns that are named in one string."""
    return dict.fromkeys(names.split(), dtype)


def bounds(column: str) -> tuple[float | None, float | None]:
    """Return the least and the largest number that a column may hold; None: no bound.

    Times, sizes, rates and counts are never below zero, and a share is at most 1. A gap or a
    difference is a share of another thing, which may be smaller.
    """
    if column.endswith("loss") or column == "seed":
        return None, None
    share = column.endswith("_frac") and not column.endswith(("_gap_frac", "_difference_frac"))
    return 0, 1 if share else None


def row_checks(schemas: Mapping[str, Mapping[str, str]]) -> SchemaValidator:
    """Return what checks the tables of a record: types, finite numbers, bounds; null is unknown."""
    fields = {
        name: core_schema.typed_dict_field(
            core_schema.list_schema(_row_schema(columns)), required=False
        )
        for name, columns in schemas.items()
    }
    return SchemaValidator(core_schema.typed_dict_schema(fields, extra_behavior="allow"))


def _row_schema(columns: Mapping[str, str]) -> CoreSchema:
    fields = {
        name: core_schema.typed_dict_field(
            core_schema.nullable_schema(_value_schema(name, dtype)), required=False
        )
        for name, dtype in columns.items()
    }
    row = core_schema.typed_dict_schema(fields, extra_behavior="allow")
    pairs = [(name, f"{name[:-4]}_high") for name in columns if name.endswith("_low")]
    if not pairs:
        return row

    def in_order(values: dict[str, float | None]) -> dict[str, float | None]:
        for low, high in pairs:
            least, most = values.get(low), values.get(high)
            if least is not None and most is not None and least > most:
                raise ValueError(f"{low} is above {high}, {least} and {most}")
        return values

    return core_schema.no_info_after_validator_function(in_order, row)


def _value_schema(column: str, dtype: str) -> CoreSchema:
    low, high = bounds(column)
    if dtype == INT:
        return core_schema.int_schema(ge=None if low is None else int(low), strict=True)
    if dtype == FLOAT:
        return core_schema.float_schema(ge=low, le=high, allow_inf_nan=False, strict=True)
    return core_schema.bool_schema(strict=True) if dtype == BOOL else core_schema.str_schema()


SCHEMAS: dict[str, dict[str, str]] = {
    "runs": typed("run kind study arm status message", TEXT)
    | typed("workers nodes per_worker_batch global_batch train_samples test_samples", INT)
    | typed("seeds epochs", INT)
    | typed("lr", FLOAT)
    | typed("parameters payload_bytes buffer_bytes peak_memory_bytes memory_budget_bytes", INT)
    | typed("utilisation_frac", FLOAT)
    | typed("oversubscribed", BOOL)
    | typed("workers_per_machine devices_per_machine", INT)
    | typed("mixed_devices", BOOL)
    | typed("num_ooms num_alloc_retries", INT)
    | typed("device fingerprint host started_at finished_at", TEXT)
    | typed("wall_s", FLOAT)
    | typed("dataset model optimizer loader", TEXT)
    | typed("repeated_data", BOOL)
    | typed("commit versions", TEXT)
    | typed("startup_s", FLOAT)
    | typed("expected", TEXT)
    | typed("warmup", TEXT)
    | typed("zero_gamma", BOOL)
    | typed("sample backend precision", TEXT),
    "steps": typed("run", TEXT)
    | typed("seed", INT)
    | typed("arm", TEXT)
    | typed("repeat epoch step rank samples", INT)
    | typed("step_s load_s copy_s forward_s backward_s update_s loss", FLOAT),
    # A repeat of what a run times; what others used of the machine's cores meanwhile.
    "repeats": typed("run", TEXT)
    | typed("repeat", INT)
    | typed("wall_s others_frac", FLOAT)
    | typed("kept", BOOL),  # else it was disturbed, and made again
    "replicas": typed("run", TEXT)
    | typed("seed epoch rank", INT)
    | typed("parameter_digest", TEXT)
    | typed("parameter_difference_max", FLOAT)
    | typed("buffer_digest", TEXT)
    | typed("buffer_difference_frac test_accuracy_frac", FLOAT),
    "orders": typed("run", TEXT)
    | typed("seed epoch rank", INT)
    | typed("digest first_indices", TEXT),
    "collectives": typed("run phase", TEXT)
    | typed("iteration index", INT)
    | typed("operation purpose dtype", TEXT)
    | typed("calls bytes", INT)
    | typed("timed_arm", TEXT),
    "wire": typed("run phase", TEXT)
    | typed("iterations", INT)
    | typed("interface", TEXT)
    | typed("sent_bytes", INT)
    | typed("timed_arm", TEXT),
    "buckets": typed("run", TEXT) | typed("index bytes", INT) | typed("ready_frac", FLOAT),
    "spans": typed("run", TEXT) | typed("rank iteration", INT) | typed("span_s overlap_s", FLOAT),
    "messages": typed("run operation", TEXT) | typed("bytes repeat", INT) | typed("seconds", FLOAT),
    # A trained model: a seed of an arm, or a trial of a search; wall_s without its evaluations.
    "trials": typed("run", TEXT)
    | typed("trial seed", INT)
    | typed("role arm model optimizer status", TEXT)
    | typed("learners per_learner_batch global_batch local_steps", INT)
    | typed("lr momentum", FLOAT)
    | typed("steps steps_to_goal rounds sent_bytes", INT)
    | typed("wall_s", FLOAT),
    # An evaluation of a trial, and the steps since the one before: their mean loss while the model
    # learns, the rate of the first, the summed times of the slowest worker's, and what a user waits
    # for them.
    "curves": typed("run", TEXT)
    | typed("trial step", INT)
    | typed("epoch lr train_loss train_accuracy_frac", FLOAT)
    | typed("validation_loss validation_accuracy_frac test_loss test_accuracy_frac", FLOAT)
    | typed("steps_s wall_s evaluation_s utilisation_frac", FLOAT),
    "links": typed("link", TEXT)
    | typed("bytes_per_s latency_s", FLOAT)
    | typed("source", TEXT)
    | typed("own", BOOL),
}
