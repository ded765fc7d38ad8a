"""What a study declares: names of what its folder holds, so that nothing is imported for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpscale.plan.spec import Kind


@dataclass(frozen=True)
class Study:
    """A study: the folder `dpscale/studies/<name>` and, a template a question, `report/<id>.j2`.

    kinds: of run that it alone measures; tidy: columns that it adds to tidy tables, or tables of
    its own (a list of its records each); derived, figures, questions: names of what the folder's
    `derive.TABLES`, `figures.FIGURES` and `answers.QUESTIONS` hold. `config.SECTIONS` and
    `plan.PLANS` are by section of the configuration, `plan.CONFIGURED` by tidy table: the section
    that gives its rows, and the function that makes them. runs: the studies (as runs name them)
    of which a configuration has to plan one, or its questions are left out; a study without runs of
    its own names those that it reads.
    """

    name: str
    kinds: tuple[Kind, ...] = ()
    tidy: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    def part(self, part: str, name: str) -> Any:
        """Return what a module of the folder holds under a name; nothing where there is none."""
        module = f"dpscale.studies.{self.name}.{part}"
        return getattr(import_module(module), name, {}) if find_spec(module) else {}
