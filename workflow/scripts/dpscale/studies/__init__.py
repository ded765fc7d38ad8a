"""The studies, each a folder with all that it alone needs, and what all of them together hold."""

import json
import traceback
from collections.abc import Mapping, Sequence, Set
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from dpscale.config import ConfigError
from dpscale.config.load import load_config as load
from dpscale.config.own import OwnFacts
from dpscale.config.reading import read_mapping
from dpscale.config.root import Config
from dpscale.errors import located
from dpscale.plan.spec import KINDS, Kind, RunProtocol, Spec
from dpscale.records.columns import columns
from dpscale.records.schemas import SCHEMAS
from dpscale.reporting.parts import PARTS
from dpscale.studies.study import Study
from dpscale.vocabulary import agreed, words

if TYPE_CHECKING:  # what not everybody who plans runs needs is imported when it is asked for
    import pandas as pd

    from dpscale.derive.tables import Derived, Table
    from dpscale.figures import FigureEntry
    from dpscale.reporting.answer import Answer
    from dpscale.reporting.inputs import Inputs
    from dpscale.reporting.question import Question

MOST_RUNS = 100_000  # snakemake looks over so many in some minutes

# In the order of the report: the one list of the studies.
ORDER = (
    "sweep",
    "scaling",
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
    "cluster",
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


def load_config(
    raw: Mapping[str, Any], *, folder: Path = Path(), facts: OwnFacts | None = None
) -> Config:
    """Return the configuration of a mapping; see `config.load`."""
    return load(raw, config_model(), folder=folder, facts=facts)


def read_config(path: Path) -> Config:
    """Return the configuration in a YAML or JSON file; see `config.load`."""
    return load_config(read_mapping(path), folder=path.parent)


def planned_runs(config: Config) -> dict[str, Spec]:
    """Return every run of a configuration by name, in the order of the studies.

    Raises ConfigError where there are too many, where two have one name, or where the report is
    to hold a part of which nothing is planned.
    """
    planned: dict[str, Spec] = {}
    for name, runs in _parts("plan", "PLANS").items():
        for spec in runs(config, section) if (section := config.section(name)) else ():
            if spec.run in planned:
                raise ConfigError(
                    f"config: {name}: plans {spec.run} twice; its values are too close"
                )
            if len(planned) == MOST_RUNS:
                raise ConfigError(
                    f"config: {name}: takes the plan beyond {MOST_RUNS:,} runs, which nobody waits "
                    f"for; ask less, or set launches = {config.launches} lower"
                )
            planned[spec.run] = spec
    _check_parts(config, {spec.study for spec in planned.values()})
    return planned


def _check_parts(config: Config, planned: set[str]) -> None:
    """Raise ConfigError where report.parts names a part of which nothing is planned."""
    if config.report.parts is None:
        return
    ids = asked_by(planned)
    ids += ["T"] if config.audit and config.audit.tables else []
    there = [part.name for part in PARTS if any(q[0] == part.letter for q in ids)]
    if absent := [name for name in config.report.parts if name not in there]:
        raise ConfigError(
            f"config: report.parts = {list(config.report.parts)}: nothing is planned for "
            f"{absent[0]}; there is {' and '.join(there) or 'nothing at all'}"
        )


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
    """Return the module and function that measure a run."""
    return f"{kinds()[spec.kind].package}.{kinds()[spec.kind].measure}"


def _protocol_of(kind: Any) -> type[RunProtocol]:
    """The section of a kind's specs; raises ValueError for an unknown kind."""
    if kind not in kinds():
        raise ValueError(f"kind {kind!r} is none of {', '.join(kinds())}")
    protocol: type[RunProtocol] = resolve_name(f"{kinds()[kind].package}.{kinds()[kind].protocol}")
    return protocol


@cache
def _spec_model(kind: Any) -> type[Spec]:
    return Spec[_protocol_of(kind)]  # type: ignore[misc, return-value]


def read_spec(text: str | bytes) -> Spec:
    """Return the spec in a JSON text; ValueError says what is wrong in it."""
    kind = json.loads(text)
    model = _spec_model(kind.get("kind")) if isinstance(kind, dict) else Spec[RunProtocol]
    # Of no class that pydantic makes up, which no other process could unpickle.
    return Spec(**dict(model.model_validate_json(text)))


def import_for_runs() -> None:
    """Import what runs of any kind need to be launched, completed and measured, once for all."""
    for kind in kinds().values():
        _spec_model(kind.name)
        resolve_name(f"{kind.package}.{kind.measure}")
    tables()


def run_columns(kind: str) -> Sequence[str]:
    """Return the fields of a kind's protocol that are columns of the tidy table `runs`."""
    return _protocol_of(kind).columns


def timed_alone(spec: Spec) -> bool:
    """Return whether nothing else may run on the machine beside a run."""
    return spec.protocol.needs.alone or kinds()[spec.kind].timed


@cache
def schemas() -> dict[str, dict[str, str]]:
    """Return the columns and types of the tidy tables, by table."""
    made = dict(SCHEMAS)
    for one in studies():
        for name, more in one.tidy.items():
            made[name] = {**made.get(name, columns("run")), **more}
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


def questions() -> dict[str, "Question"]:
    """Return the questions by id, in the order of the report."""
    return {name: _question(name) for name in question_ids()}


@cache
def _question(name: str) -> "Question":
    """A question by its id, of which alone the study is imported."""
    asked = study_of(name).part("answers", "QUESTIONS")
    if not (found := [one for one in asked if one.id == name]):
        raise KeyError(f"declared and in no answers.QUESTIONS: {name}")
    return found[0]


def vocabulary(question: str) -> dict[str, str]:
    """Return what can index a table of words in a question's template: kinds of columns by name.

    Those are the columns of its study's derived tables, where they agree, and what it declares.
    """
    from dpscale.derive.published import Judgement

    found = words("judgement", Judgement)
    derived = study_of(question).part("derive", "TABLES").values()
    found |= agreed(table.columns for table in derived)
    for name, kind in _question(question).vocabulary.items():
        table, _, column = kind.partition(".")  # of another study
        found[name] = tables()[table].columns[column] if column else kind
    return found


def study_of(question: str) -> Study:
    """Return the study that a question is of."""
    return next(one for one in studies() if question in (*one.questions, one.closing))


def closing_id() -> str:
    """Return the id of the report's closing page."""
    return next(one.closing for one in studies() if one.closing)


def names(kind: str) -> list[str]:
    """Return the names of the studies' `derived` tables or `figures`, in order; imports neither."""
    part, name = {"derived": ("derive", "TABLES"), "figures": ("figures", "FIGURES")}[kind]
    return list(chain.from_iterable(one.names(part, name) for one in studies()))


def question_ids() -> list[str]:
    """Return the ids in the order of the report: parts as the studies come, numbers ascending."""
    ids = list(chain.from_iterable(one.questions for one in studies()))
    parts = list(dict.fromkeys(name[0] for name in ids))
    return sorted(ids, key=lambda name: (parts.index(name[0]), float(name[1:])))


def asked_by(planned: Set[str]) -> list[str]:
    """Return the ids of the questions of the studies whose runs are planned, as `question_ids`."""
    asked = {q for one in studies() if planned & {*one.runs, one.name} for q in one.questions}
    return [name for name in question_ids() if name in asked]


def answer_one(question: str, inputs: "Inputs") -> "Answer":
    """Return the answer to a question.

    Where its tables lack a result it says so and names the cells, or the study where the
    configuration leaves it out.
    """
    from dpscale.reporting.question import withheld

    found, study = _question(question)(inputs), study_of(question)
    needed = study.runs or (study.name,)
    planned = {row["study"] for row in inputs.tidy_rows("runs")}
    left_out = found.missing and planned.isdisjoint(needed)
    return withheld(found, " or ".join(needed)) if left_out else found


def answer_all(
    derived: Mapping[str, "pd.DataFrame"], tidy: Mapping[str, "pd.DataFrame"]
) -> list["Answer"]:
    """Return the answers to all questions in order, from tables keyed by name.

    One that fails takes no other with it: it says so, and its traceback goes to stderr.
    """
    from dpscale.reporting.inputs import Inputs

    inputs = Inputs(derived, tidy)
    return [_answered(question, inputs) for question in question_ids()]


def closing(derived: Mapping[str, "pd.DataFrame"], tidy: Mapping[str, "pd.DataFrame"]) -> "Answer":
    """Return the closing page of the report, worded as an answer; no question asks for it."""
    from dpscale.reporting.inputs import Inputs

    return _answered(closing_id(), Inputs(derived, tidy))


def _answered(question: str, inputs: "Inputs") -> "Answer":
    from dpscale.reporting.answer import dump_answers
    from dpscale.reporting.question import failed

    try:
        found = answer_one(question, inputs)
        json.dumps(dump_answers([found]), allow_nan=False)
    except Exception as error:  # whatever it is: the report is of all the others
        traceback.print_exception(error)
        return failed(question, located(error))
    return found
