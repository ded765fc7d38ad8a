"""Whatever a configuration says: it is refused in a sentence, or what it asks can be answered."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from dpscale.config import Config, ConfigError
from dpscale.config.datasets import train_samples
from dpscale.config.load import MOST_CHARACTERS
from dpscale.plan import Spec, check_spec
from dpscale.studies import MOST_RUNS, configured_rows, load_config, planned_runs, read_spec
from dpscale.studies.assignment.config import AssignmentConfig
from drawn_configs import configurations

AND_MORE = re.compile(r"and [\d,]+ more")  # than are listed
LINE = re.compile(r"config: [\w.-]+( = .+)?: .+[a-z0-9\]}?)\"'*%]", re.IGNORECASE)
JARGON = re.compile(r"[Ii]nput|array|object|integer|boolean|None|Traceback|pydantic|[Tt]uple")
DIRECT = {"solo", "reference", "noop_hook", "buckets"}

Specs = list[Spec]
Needs = Iterator[bool]


def refused(raw: dict[str, Any]) -> list[str]:
    """The lines that a configuration is refused with; none where it is valid."""
    try:
        planned_runs(load_config(raw))
    except ConfigError as error:
        return str(error).split("\n")
    return []


def of(specs: Specs, study: str, **fields: Any) -> Specs:
    return [
        spec
        for spec in specs
        if spec.study == study and all(getattr(spec, key) == value for key, value in fields.items())
    ]


# What the answers of a study need of the plan, a condition each.


def sweep(config: Config, specs: Specs) -> Needs:
    found = of(specs, "sweep")
    yield len(found) > 1
    yield found[0].per_worker_batch == config.section("sweep").first_batch


def scaling(config: Config, specs: Specs) -> Needs:
    asked = config.section("scaling")
    launches = asked.launches or config.launches
    yield max(asked.workers) > 1
    for batch in asked.per_worker_batches:
        yield from (
            len(of(specs, "scaling", workers=n, per_worker_batch=batch)) == launches
            for n in {1, *asked.workers}
        )


def communication(config: Config, specs: Specs) -> Needs:
    split = [spec for spec in of(specs, "scaling") if {*spec.protocol.timing.arms} > DIRECT]
    yield split != []
    yield {spec.workers for spec in of(specs, "link")} == {spec.workers for spec in split}
    hooks = config.section("communication").hooks
    yield all({*hooks} < {*spec.protocol.timing.arms} for spec in of(specs, "compression"))
    yield bool(of(specs, "compression")) == bool(hooks)


def large_batch(config: Config, specs: Specs) -> Needs:
    arms = {spec.arm: spec for spec in of(specs, "large_batch")}
    remedies = {*config.section("large_batch").remedies}
    control = {"small_scaled_rate"} if "linear_scaling" in remedies else set()
    yield {*arms} == {"small", "large"} | control | remedies
    small, large = arms["small"].per_worker_batch, arms["large"].per_worker_batch
    yield small is not None
    yield bool(of(specs, "sweep")) if large is None else large > (small or 0)
    if "more_epochs" in arms:
        yield arms["more_epochs"].training.epochs > arms["large"].training.epochs


def replicas(config: Config, specs: Specs) -> Needs:
    found = of(specs, "replicas")
    yield len({spec.arm for spec in found}) == 3
    yield all(spec.training.epochs > 1 and spec.workers > 1 for spec in found)


def data_parallel(config: Config, specs: Specs) -> Needs:
    yield bool(of(specs, "data_parallel", arm="data_parallel"))


def ledger(config: Config, specs: Specs) -> Needs:
    found = of(specs, "ledger")
    yield found != []
    yield all(spec.workers > 1 and spec.protocol.steady_steps for spec in found)


def assignment(config: Config, specs: Specs) -> Needs:
    asked: AssignmentConfig = config.section("assignment")
    linear = of(specs, "assignment", arm="linear")
    yield {1} < {spec.workers for spec in linear}
    yield {(spec.workers, spec.nodes) for spec in linear} == {
        (spec.workers, spec.nodes) for spec in of(specs, "assignment_split")
    }
    yield all(of(specs, "assignment", arm=rule) for rule in asked.other_rules)
    larger = of(specs, "assignment", arm="larger_batch")
    yield all((spec.per_worker_batch or 0) > asked.per_worker_batch for spec in larger)
    yield {spec.per_worker_batch for spec in larger} == set(asked.larger_batches)


def steps_to_goal(config: Config, specs: Specs) -> Needs:
    models = config.section("steps_to_goal").models
    yield len(of(specs, "steps_to_goal")) == sum(len(model.optimizers) for model in models)


def lr_scaling(config: Config, specs: Specs) -> Needs:
    asked = config.section("lr_scaling")
    rates = [spec.protocol for spec in of(specs, "lr_scaling")]
    arms = [rate for rate in rates if rate.role == "arm"]
    yield any(rate.groups == asked.reference_groups for rate in arms)
    yield any(rate.groups > asked.reference_groups for rate in arms)
    yield {*asked.rules} <= {rate.rule for rate in arms if rate.groups == asked.large_groups}
    yield sum(rate.optimizer == "lars" for rate in rates) == len(asked.lars_lrs)
    yield sum(rate.role == "search" and rate.optimizer == "sgd" for rate in rates) == len(
        asked.candidate_lrs
    )


def model_averaging(config: Config, specs: Specs) -> Needs:
    asked = config.section("model_averaging")
    found = of(specs, "model_averaging")
    yield sum(spec.kind == "learners" for spec in found) == len(asked.cells) * config.launches
    trained = [spec for spec in found if spec.kind == "averaging"]
    tried = bool(asked.rates or asked.averaging_rates)
    yield len(trained) == len(asked.seeds) + tried
    for spec in trained:
        arms = [arm.name for arm in spec.protocol.arms]
        yield "rates" in spec.run or len({*arms}) == len(arms) >= 4


def local_sgd(config: Config, specs: Specs) -> Needs:
    yield len(of(specs, "local_sgd")) == 4 * len(config.section("local_sgd").label_noise_fracs)


def strategies(config: Config, specs: Specs) -> Needs:
    for workers in config.section("strategies").workers:
        kinds = {spec.kind for spec in of(specs, "strategies", workers=workers)}
        yield workers > 1
        yield kinds == {"timed", "sharing"}


def choose(config: Config, specs: Specs) -> Needs:
    asked = config.section("choose")
    yield 1 in asked.workers
    for workers in asked.workers:
        goal, *_ = of(specs, "choose", workers=workers, kind="goal")  # launches, and a rival's
        advisers = [s.kind for s in specs if (s.model, s.arm) == (goal.model, goal.arm)]
        yield {"search", "grid"} <= {*advisers}
        (search,) = of(specs, "steps_to_goal", model=goal.model, arm=goal.arm)
        sizes = search.protocol.batch_sizes
        yield any(workers * batch in sizes for batch in asked.per_worker_batches)


NEEDS: tuple[Callable[[Config, Specs], Needs], ...] = (
    sweep,
    scaling,
    communication,
    large_batch,
    replicas,
    data_parallel,
    ledger,
    assignment,
    steps_to_goal,
    lr_scaling,
    model_averaging,
    local_sgd,
    strategies,
    choose,
)


def check_spec_of(spec: Spec) -> None:
    """A run can be started from its spec alone, and its step has no more samples than there are."""
    assert read_spec(spec.model_dump_json()) == spec
    assert len(shlex.quote(spec.model_dump_json())) < MOST_CHARACTERS + 20_000
    assert re.fullmatch(r"[\w.+-]{1,200}", spec.run)
    samples = train_samples(spec.data)
    if samples is not None and spec.per_worker_batch is not None and spec.study != "sweep":
        assert spec.workers * spec.per_worker_batch <= samples


def check(raw: dict[str, Any]) -> None:
    """It is refused in sentences, or its plan has what each study that it asks needs."""
    for line in refused(raw):
        assert LINE.fullmatch(line) or AND_MORE.fullmatch(line), line
        assert not JARGON.search(line.rpartition(": ")[2]), line
        assert len(line) < 500
    if refused(raw):
        return
    config = load_config(raw)
    planned = planned_runs(config)
    specs = list(planned.values())
    assert len(planned) <= MOST_RUNS
    for run, spec in planned.items():
        assert spec.run == run
        check_spec_of(spec)
    for needs in NEEDS:
        if config.section(needs.__name__):
            assert all(needs(config, specs)), needs.__name__
    again = load_config(json.loads(config.model_dump_json()))
    assert planned_runs(again) == planned
    assert configured_rows(again) == configured_rows(config)
    if planned:
        assert check_spec(config, planned).workers == max(spec.workers for spec in specs)


@given(configurations())
@settings(max_examples=600, derandomize=True, deadline=None)
def test_a_configuration_is_refused_in_a_sentence_or_can_be_answered(raw) -> None:
    check(raw)


@pytest.mark.slow
@given(configurations())
@settings(max_examples=50_000, deadline=None, database=None)
def test_many_configurations_are_refused_in_a_sentence_or_can_be_answered(raw) -> None:
    check(raw)
