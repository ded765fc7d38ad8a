"""Columns of the tidy tables that no study owns, and what a column may hold."""

from collections.abc import Mapping

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from dpscale.records.columns import BOOL, FLOAT, INT, bounds, columns, reals


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
    "runs": columns("run kind study arm status message workers nodes per_worker_batch global_batch")
    | columns("train_samples test_samples seeds epochs lr parameters payload_bytes buffer_bytes")
    | columns("peak_memory_bytes memory_budget_bytes utilisation_frac oversubscribed")
    | columns("workers_per_machine devices_per_machine mixed_devices num_ooms num_alloc_retries")
    | columns("device fingerprint host started_at finished_at wall_s dataset model optimizer")
    | columns("loader repeated_data commit versions startup_s expected warmup zero_gamma sample")
    | columns("backend precision loader_workers"),
    "steps": columns("run seed arm repeat epoch step rank samples step_s load_s copy_s forward_s")
    | columns("backward_s update_s loss"),
    "repeats": columns("run repeat wall_s others_frac kept"),
    "replicas": columns(
        "run seed epoch rank parameter_digest parameter_difference_max buffer_digest"
    )
    | columns("buffer_difference_frac test_accuracy_frac"),
    "orders": columns("run seed epoch rank digest first_indices"),
    "collectives": columns(
        "run phase iteration index operation purpose dtype calls bytes timed_arm"
    ),
    "wire": columns("run phase iterations interface sent_bytes timed_arm"),
    "buckets": columns("run index bytes ready_frac"),
    "spans": columns("run rank iteration span_s overlap_s"),
    "messages": columns("run operation bytes repeat seconds"),
    "trials": columns("run trial seed role arm model optimizer status learners per_learner_batch")
    | columns("global_batch local_steps lr momentum steps steps_to_goal rounds sent_bytes wall_s"),
    "curves": columns("run trial step epoch lr train_loss train_accuracy_frac validation_loss")
    | columns("validation_accuracy_frac test_loss test_accuracy_frac steps_s wall_s evaluation_s")
    | columns("test_right utilisation_frac")
    | reals("epoch"),
    "links": columns("link bytes_per_s latency_s source own"),
}
