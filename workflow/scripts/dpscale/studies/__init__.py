"""The studies, each a folder with all that it alone needs, and what all of them together hold."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from dpscale.config.load import load_config as load
from dpscale.config.load import read_config as read
from dpscale.config.root import Config
from dpscale.plan.spec import KINDS, Kind, Spec
from dpscale.records.schemas import SCHEMAS
from dpscale.studies.study import Study

if TYPE_CHECKING:  # what not everybody who plans runs needs is imported when it is asked for
    import pandas as pd

    from dpscale.derive.tables import Derived, Table
    from dpscale.figures import FigureEntry
    from dpscale.reporting.answer import Answer
    from dpscale.reporting.inputs import Inputs
    from dpscale.reporting.question import Question

# In the order of the report: the one list of the studies.
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
    "strategies",
    "choose",
)


@cache
def studies() -> tuple[Study, ...]:
    """Return the declarations in the order of the report."""
    return tuple(import_module(f"dpscale.studies.{name}").STUDY for name in ORDER)


def _parts(part: str, name: str) -> dict[str, Any]:
    return dict(chain.from_iterable(one.part(part, name).items() for one in studies()))


@cache
def config_model() -> type[Config]:
    """Return the configuration's type, which has the sections of all studies."""
    return create_model("Config", __base__=Config, **_parts("config", "SECTIONS"))


def load_config(raw: Mapping[str, Any], *, folder: Path = Path()) -> Config:
    """Return the configuration of a mapping; see `config.load`."""
    return load(raw, config_model(), folder=folder)


def read_config(path: Path) -> Config:
    """Return the configuration in a YAML file; see `config.load`."""
    return read(path, config_model())


def planned_runs(config: Config) -> dict[str, Spec]:
    """Return every run of a configuration by name, in the order of the studies."""
    return {
        spec.run: spec
        for name, runs in _parts("plan", "PLANS").items()
        if (section := config.section(name))
        for spec in runs(config, section)
    }


def configured_rows(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of tidy tables that stand in the configuration, by table."""
    return {
        table: rows(section)
        for table, (name, rows) in _parts("plan", "CONFIGURED").items()
        if (section := config.section(name))
    }


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds of run by name."""
    return {kind.name: kind for kind in chain(KINDS, *(one.kinds for one in studies()))}


def measure_of(spec: Spec) -> str:
    """Return the module and function that measure a run; raises ValueError for an unknown kind."""
    if spec.kind not in kinds():
        raise ValueError(f"kind {spec.kind!r} is none of {', '.join(kinds())}")
    return kinds()[spec.kind].measure


def timed_alone(spec: Spec) -> bool:
    """Return whether nothing else may run on the machine beside a run."""
    return spec.timed_training or kinds()[spec.kind].timed


@cache
def schemas() -> dict[str, dict[str, str]]:
    """Return the columns and types of the tidy tables, by table."""
    made = {name: dict(columns) for name, columns in SCHEMAS.items()}
    for one in studies():
        for name, columns in one.tidy.items():
            made.setdefault(name, {"run": "str"}).update(columns)
    return made


@cache
def tables() -> dict[str, "Table"]:
    """Return the derived tables by name: what makes each, of what, with which columns."""
    from dpscale.derive.tables import CORE

    return CORE | _parts("derive", "TABLES")


def derived_of(tidy: Mapping[str, "pd.DataFrame"]) -> "Derived":
    """Return the derived tables of all the tidy tables, each made when it is read."""
    from dpscale.derive.tables import Derived

    return Derived({name: tidy[name] for name in schemas()}, tables())


@cache
def figures() -> dict[str, "FigureEntry"]:
    """Return the figures by name."""
    return _parts("figures", "FIGURES")


@cache
def questions() -> dict[str, "Question"]:
    """Return the questions by id, in the order of the report."""
    asked = chain.from_iterable(one.part("answers", "QUESTIONS") for one in studies())
    by_id = {question.id: question for question in asked}
    if absent := [name for name in question_ids() if name not in by_id]:
        raise KeyError(f"declared and in no answers.QUESTIONS: {', '.join(absent)}")
    return {name: by_id[name] for name in question_ids()}


def names(kind: str) -> list[str]:
    """Return what the studies declare: names of `derived` tables or `figures`, in order."""
    return list(chain.from_iterable(getattr(one, kind) for one in studies()))


def question_ids() -> list[str]:
    """Return the ids in the order of the report: parts as the studies come, numbers ascending."""
    ids = names("questions")
    parts = list(dict.fromkeys(name[0] for name in ids))
    return sorted(ids, key=lambda name: (parts.index(name[0]), float(name[1:])))


def answer_one(question: str, inputs: "Inputs") -> "Answer":
    """Return the answer to a question.

    Where its tables lack a result it says so and names the cells, or the study where the
    configuration leaves it out.
    """
    from dpscale.reporting.question import withheld

    found = questions()[question](inputs)
    study = next(one for one in studies() if question in one.questions)
    needed = study.runs or (study.name,)
    planned = {row["study"] for row in inputs.tidy_rows("runs")}
    left_out = found.missing and planned.isdisjoint(needed)
    return withheld(found, " or ".join(needed)) if left_out else found


def answer_all(
    derived: Mapping[str, "pd.DataFrame"], tidy: Mapping[str, "pd.DataFrame"]
) -> list["Answer"]:
    """Return the answers to all questions in order, from tables keyed by name."""
    from dpscale.reporting.inputs import Inputs

    inputs = Inputs(derived, tidy)
    return [answer_one(question, inputs) for question in questions()]
