"""What a study declares of itself, for all who need not import what its folder holds."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dpscale.plan.spec import Kind, Spec
from dpscale.records import Record


@dataclass(frozen=True)
class Study:
    """A study: the folder `dpscale/studies/<name>` and, a template a question, `report/<id>.j2`.

    kinds: of run that it alone measures; tidy: columns that it adds to tidy tables, or tables of
    its own (a list of its records each); questions: the ids of `answers.QUESTIONS`.
    `derive.TABLES` and `figures.FIGURES` are by name, `config.SECTIONS` and `plan.PLANS` by section
    of the configuration, `plan.CONFIGURED` by tidy table: the section that gives its rows, and the
    function that makes them. runs: the studies (as runs name them)
    of which a configuration has to plan one, or its questions are left out; a study without runs of
    its own names those that it reads. closing: the id of the report's last page, of
    the study that has it.
    """

    name: str
    kinds: tuple[Kind, ...] = ()
    tidy: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    questions: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    closing: str = ""

    def names(self, part: str, name: str) -> list[str]:
        """Return the keys of a dictionary that `part` would return, read in its source.

        Who plans runs needs names of tables and figures, and neither pandas nor matplotlib.
        """
        module = find_spec(f"dpscale.studies.{self.name}.{part}")
        text = Path(module.origin).read_text("utf-8") if module and module.origin else ""
        for node in ast.parse(text).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=held)], value=ast.Dict(keys=keys)):
                    if held == name:
                        return [ast.literal_eval(key) for key in keys if key]
        return []

    def part(self, part: str, name: str) -> Any:
        """Return what a module of the folder holds under a name; nothing where there is none."""
        module = f"dpscale.studies.{self.name}.{part}"
        return getattr(import_module(module), name, {}) if find_spec(module) else {}


def _alone(_: Any) -> Any:
    raise NotImplementedError("further runs are launched in a workflow alone")


class Earlier(NamedTuple):
    """What is known when a spec is completed.

    runs: the tidy table of the earlier runs; derived: the derived tables of them, by name;
    train_samples: D; probe: does a further run in a process of its own, and returns its record;
    launch: does one that counts like the earlier runs; joined: the derived tables with such runs,
    of their names. The record of a further run that is there is kept, if it is of the same spec and
    machine and after the earlier runs.
    """

    runs: Any
    derived: Mapping[str, Any]
    train_samples: int
    probe: Callable[[Spec], Record]
    launch: Callable[[Spec], Record] = _alone
    joined: Callable[[Sequence[str]], Mapping[str, Any]] = _alone


def _nothing(spec: Spec) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    return {}


class Completion(NamedTuple):
    """How records of earlier runs complete a spec.

    reads: whether, of a spec, another planned one is of such a run; complete: the spec that
    follows; configured: rows of tidy tables that the derived ones need and no run has, by table.
    """

    reads: Callable[[Any, Spec], bool]
    complete: Callable[[Any, Earlier], Spec]
    configured: Callable[[Any], Mapping[str, Sequence[Mapping[str, Any]]]] = _nothing
