"""Whatever values, nulls and failures the tables hold, every answer is whole sentences."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_e1
import test_e2
from builders import Tables, full_lab
from cases import followed
from dpscale.derive.tables import Derived
from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of
from properties import BY_CHANCE, NAN, asked, failing
from test_s1 import EVERY, searched

TIMED = ("sweep", "boundary", "scaling", "link-", "compression", "assignment-split")
ALONE = ("assignment-linear-n1", "assignment-batch")


@functools.cache
def study(runs: tuple[str, ...], epochs: Sequence[int] = (), two_nodes: bool = False) -> Tables:
    """The runs of the made-up lab whose names begin so, and what they measured.

    epochs: those kept of their trainings, which makes deriving quicker; none: all.
    """
    made = {
        name: rows[rows["run"].str.startswith(runs)] if "run" in rows else rows
        for name, rows in full_lab(two_nodes=two_nodes).items()
    }
    seen = made["curves"]
    return made | {"curves": seen[seen["epoch"].isin(epochs)] if epochs else seen}


@functools.cache
def searches() -> Tables:
    """Two searches of S1."""
    return searched(every=dict(list(EVERY.items())[:2]))()


class Asked(NamedTuple):
    """A question, a lab that answers it, and columns of its tables that may hold anything.

    Of those with an interval any value, with a null or without an interval; of others nulls. Never
    null: those that end in !. ways: the most failures that are tried, each of one run or of all.
    """

    question: str
    lab: Callable[[], Tables]
    columns: dict[str, str]
    ways: int = 6


def of(*runs: str, epochs: tuple[int, ...] = (), two_nodes: bool = False) -> Callable[[], Tables]:
    """Such a lab, made when it is asked for."""
    return functools.partial(study, runs, epochs, two_nodes)


TIMED_LAB = of(*TIMED)
TRAINED = of(
    "assignment-linear", "assignment-sqrt", "assignment-fixed", epochs=(4,), two_nodes=True
)
REPLICAS = of("replicas", "data_parallel", epochs=(2, 3))
LARGE_BATCH = of("large_batch", epochs=(5, 10))
MEASURES = "train_loss train_accuracy_frac test_accuracy_frac"
DIFFERENCES = "train_loss_difference train_accuracy_difference_frac test_accuracy_difference_frac"
ACCURACY = {"accuracy": MEASURES, "large_batch": DIFFERENCES}
TIMES = "train_s full_run_s speedup_ratio efficiency_frac test_accuracy_difference_frac lr! steps"
ASKED = [
    Asked("Q1", TIMED_LAB, {"sweep": "epoch_s! utilisation_frac update_s copy_s"}),
    Asked("Q2", TIMED_LAB, {"scaling": "epoch_s speedup_ratio oversubscribed"}),
    Asked(
        "Q3.1",
        TIMED_LAB,
        {
            "communication": "subtraction_s exposed_s overhead_s contention_s span_s buckets_s "
            "straggler_s loaded_epoch_s epoch_s!",
            "prediction": "measured_step_s! note",
            "ddp_at_one": "overhead_frac",
        },
    ),
    Asked(
        "Q3.2",
        TIMED_LAB,
        {
            "bandwidth": "lab_bytes_per_s! busbw_bytes_per_s transfer_frac waiting_frac other_frac",
            "communication": "other_s waiting_s",
            "link": "alpha_s! level_bytes",
            "compression": "step_ratio bytes_ratio",
        },
    ),
    Asked("Q4.1", LARGE_BATCH, ACCURACY),
    Asked("Q4.2", LARGE_BATCH, ACCURACY),
    Asked(
        "Q5",
        REPLICAS,
        {
            "set_epoch": DIFFERENCES,
            "wrappers": "slower_ratio epoch_s",
            "order": "same_as_first digest",
        },
    ),
    Asked(
        "Q6",
        of("ledger"),
        {
            "ledger": "bytes calls",
            "wire": "interface_bytes ledger_bytes predicted_bytes bucket_bytes gradient_bytes",
        },
    ),
    Asked(
        "Q7",
        REPLICAS,
        {
            "replicas": "parameters_identical buffer_difference_frac_max test_accuracy_spread_frac",
            "spreads": "one_image_frac",
        },
    ),
    Asked(
        "H1",
        of(*ALONE),
        {"assignment_utilisation": "utilisation_frac samples_per_s load_frac! compute_frac"},
    ),
    *(
        Asked(
            name, TRAINED, {"assignment": f"{TIMES} test_accuracy_frac counted_workers startup_s"}
        )
        for name in ("H2", "H3", "H5", "H6")
    ),
    Asked(
        "H4",
        TIMED_LAB,
        {
            "assignment_split": "load_frac copy_frac sharing_frac overhead_frac "
            "stragglers_frac exposed_frac",
            "compression": "step_ratio",
        },
    ),
    Asked("S1", searches, {}, ways=4),
    Asked(
        "S2",
        of("lr_scaling"),
        {"lr_scaling": "test_error_frac train_loss", "published_lr_scaling": "measured"},
    ),
    Asked(
        "S3",
        of("model_averaging"),
        {
            "averaging_pairs": "epochs_difference seconds_difference accuracy_difference_frac",
            "model_averaging": "epochs_to_target! seconds_to_target!",
            "learners": "gain_frac against_plain_ratio",
        },
    ),
    Asked(
        "S4",
        of("local_sgd"),
        {
            "local_sgd": "over_large_frac train_loss test_accuracy_frac",
            "published_local_sgd": "measured",
        },
    ),
    Asked(
        "E1",
        test_e1.lab,
        {
            "strategies": "step_s to_ddp_ratio ledger_bytes interface_bytes",
            "strategy_needs": "peak_bytes fits_batch fails_batch loss_gap_frac "
            "parameter_gap_frac budget_bytes",
        },
    ),
    Asked(
        "E2",
        test_e2.lab,
        {
            "time_to_goal": "step_s peak_bytes lr",
            "goal_trainings": "measured_s ratio predicted_s",
            "doublings": "time_ratio samples_ratio batch_ratio worker_s_ratio",
        },
    ),
]


@st.composite
def changed(draw: st.DrawFn, rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A table with other values or nulls in some cells of some columns."""
    made = rows.copy()
    for named in draw(st.lists(st.sampled_from(list(columns)), unique=True)):
        name = named.rstrip("!")
        ends = [one for one in (f"{name}_low", f"{name}_high") if one in made]
        for place in made.index:
            kind = draw(st.sampled_from(["as it is", "another", "no interval", "null"]))
            if kind == "another" and ends:
                value = float(made[name].abs().max() or 1.0) * draw(st.floats(0.01, 1.0))
                width = draw(st.floats(0.0, 0.9))
                made.loc[place, [name, *ends]] = value, value * (1 - width), value * (1 + width)
            elif kind == "no interval" and ends:
                made.loc[place, ends] = NAN
            elif kind == "null" and not named.endswith("!"):
                made.loc[place, [name, *ends]] = pd.NA if made[name].dtype == "Int64" else None
    return made


@functools.cache
def derived(question: str) -> Derived:
    """The derived tables of a question's lab."""
    return derived_of(next(one.lab() for one in ASKED if one.question == question))


@pytest.mark.parametrize("one", [one for one in ASKED if one.columns], ids=lambda one: one.question)
@settings(BY_CHANCE, max_examples=15)
@given(data=st.data())
def test_any_values_and_nulls_are_answered(one: Asked, data: st.DataObject) -> None:
    tables, tidy = derived(one.question), one.lab()
    edited = {
        name: data.draw(changed(tables[name], columns.split()))
        for name, columns in one.columns.items()
    }
    asked(one.question, Inputs(followed(tables, edited, tidy), tidy))


LABS = {one.lab: [other for other in ASKED if other.lab is one.lab] for one in ASKED}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: "-".join(one.question for one in LABS[lab]))
def test_runs_that_fail_are_answered_one_at_a_time_and_together(lab: Callable[[], Tables]) -> None:
    tidy, asking = lab(), LABS[lab]
    names = tidy["runs"]["run"].tolist()
    step = -(-len(names) // max(one.ways for one in asking))
    for _, tables in failing(tidy, names[::step], names):
        inputs = Inputs(derived_of(tables), tables)  # made once for all that are asked of it
        for one in asking:
            asked(one.question, inputs)
