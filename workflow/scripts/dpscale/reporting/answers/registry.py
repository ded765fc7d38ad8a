"""The questions in the order of the report, and what answers each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

import pandas as pd

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers import (
    h1,
    h2,
    h3,
    h4,
    h5,
    h6,
    prose,
    q1,
    q3_bandwidth,
    q3_computation,
    q4_large_batch,
    q4_remedies,
    q5,
    q6,
    q7,
    s1,
    s2,
    s3,
    s4,
)
from dpscale.reporting.answers.inputs import Inputs
from dpscale.studies import ORDER

_IN_PYTHON: dict[str, Callable[[Inputs], Answer]] = {
    "Q1": q1.answer,
    "Q3.1": q3_computation.answer,
    "Q3.2": q3_bandwidth.answer,
    "Q4.1": q4_large_batch.answer,
    "Q4.2": q4_remedies.answer,
    "Q5": q5.answer,
    "Q6": q6.answer,
    "Q7": q7.answer,
    "H1": h1.answer,
    "H2": h2.answer,
    "H3": h3.answer,
    "H4": h4.answer,
    "H5": h5.answer,
    "H6": h6.answer,
    "S1": s1.answer,
    "S2": s2.answer,
    "S3": s3.answer,
    "S4": s4.answer,
}
STUDIES = {
    "Q1": "sweep",
    "Q2": "scaling",
    "Q3.1": "scaling",
    "Q3.2": "scaling",
    "Q4.1": "large_batch",
    "Q4.2": "large_batch",
    "Q5": "replicas",
    "Q6": "ledger",
    "Q7": "replicas",
    "H1": "assignment",
    "H2": "assignment",
    "H3": "assignment",
    "H4": "assignment",
    "H5": "assignment",
    "H6": "assignment",
    "S1": "steps_to_goal",
    "S2": "lr_scaling",
    "S3": "model_averaging",
    "S4": "local_sgd",
}


_WORDED = {
    question.id: question
    for name in ORDER
    if find_spec(f"dpscale.studies.{name}") and find_spec(f"dpscale.studies.{name}.answers")
    for question in import_module(f"dpscale.studies.{name}.answers").QUESTIONS
}
QUESTIONS: dict[str, Callable[[Inputs], Answer]] = {
    name: (_IN_PYTHON | _WORDED)[name] for name in STUDIES
}


def _planned(inputs: Inputs) -> set[str]:
    """The studies that the configuration plans; a run may belong to `one+another`."""
    return {study for row in inputs.tidy_rows("runs") for study in str(row["study"]).split("+")}


def answer_one(question: str, inputs: Inputs) -> Answer:
    """Return the answer to a question.

    Where its tables lack a result it says so and names the cells, or the study where the
    configuration leaves it out.
    """
    found, study = QUESTIONS[question](inputs), STUDIES[question]
    left_out = found.missing and study not in _planned(inputs)
    return prose.left_out(found, study) if left_out else found


def answer_all(
    derived: Mapping[str, pd.DataFrame], tidy: Mapping[str, pd.DataFrame]
) -> list[Answer]:
    """Return the answers to all questions in order, from tables keyed by name."""
    inputs = Inputs(derived, tidy)
    return [answer_one(question, inputs) for question in QUESTIONS]
