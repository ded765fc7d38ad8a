"""A user's own training: its configuration, its plan, and the line that each mistake gets."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dpscale.arguments import looked_config
from dpscale.config import Config, ConfigError
from dpscale.config.own import OwnFacts, source_digest, sources
from dpscale.plan.spec import own_file
from dpscale.studies import load_config, planned_runs
from dpscale.train.data import DatasetError
from dpscale.train.data.own import OwnTask, OwnTrainingError
from dpscale.train.tries import look as tried
from dpscale.train.tries import sharded, stacked

FILE = Path(__file__).parents[1] / "own_training.py"
STUDIES = ("sweep", "large_batch", "replicas", "data_parallel", "scaling", "ledger")
GOOD = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset

def model(width=4):
    return nn.Linear(width, 3)

def dataset(split, width=4):
    return TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))
"""
LOSS = "def loss(outputs, targets):\n    return outputs.mean()\n"
CORRECT = "def correct(outputs, targets):\n    return 0, 1\n"


def raw(file: Path, **fields: Any) -> dict[str, Any]:
    own = {"file": str(file), "arguments": fields.pop("arguments", {})}
    return {"name": "own", "own": own} | dict.fromkeys(STUDIES) | fields


def task(file: Path, **arguments: Any) -> OwnTask:
    own = own_file(load_config(raw(file, arguments=arguments)))
    assert own is not None
    return OwnTask(own)


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


def line_of(folder: Path, text: str, **arguments: Any) -> str:
    with pytest.raises(OwnTrainingError) as caught:
        task(written(folder, text), **arguments).checked()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_without_loss_and_optimizer_is_a_classification(tmp_path) -> None:
    made = task(written(tmp_path, GOOD), width=6).checked()
    assert (len(made.train), len(made.validation), len(made.test)) == (8, 8, 8)
    logits, labels = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])
    assert made.loss(logits, labels) == pytest.approx(0.4076, abs=1e-4)  # ln(1 + 1/e + 1/e^2)
    answers = torch.tensor([[2.0, 1.0], [2.0, 1.0]]), torch.tensor([0, 1])
    assert made.counts_correct
    assert made.correct(*answers) == (1, 2)
    assert made.right(*answers).tolist() == [True, False]
    assert made.optimizer(list(nn.Linear(1, 1).parameters()), 0.1) is None
    assert made.network().in_features == 6
    assert made.described(made.network()) == {
        "model": "Linear",
        "dataset": "mine.py",
        "sample": "sample",
    }


def test_targets_that_are_shares_of_classes_have_no_right_answers(tmp_path) -> None:
    text = GOOD.replace("torch.randint(0, 3, (8,))", "torch.rand(8, 3).softmax(1)")
    assert not task(written(tmp_path, text)).checked().counts_correct


def test_a_loss_of_its_own_counts_no_right_answers(tmp_path) -> None:
    made = task(written(tmp_path, GOOD + LOSS)).checked()
    assert not made.counts_correct
    assert made.right(torch.zeros(1, 2), torch.tensor([0])) is None


def test_every_process_gets_the_same_samples_and_keeps_its_random_numbers(tmp_path) -> None:
    state = torch.get_rng_state()
    one, other = (task(written(tmp_path, GOOD)).train for _ in range(2))
    assert torch.equal(one.tensors[0], other.tensors[0])
    assert torch.equal(state, torch.get_rng_state())


def test_parameters_without_a_gradient_are_found() -> None:
    made = task(FILE).checked()
    assert made.find_unused_parameters
    found = {"model": "Pairs", "dataset": "own_training.py", "sample": "pair"}
    assert made.described(made.network()) == found | {"optimizer": "RMSprop"}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "import torch\n",
            "import torc\n",
            "mine.py: cannot be imported: ModuleNotFoundError: No module named 'torc' (line 1)",
        ),
        (
            "def model(width=4):",
            "def model(width=4)",
            "mine.py: cannot be imported: SyntaxError: expected ':' (mine.py, line 5)",
        ),
        ("def model", "def network", "mine.py: there is no function model(); add it"),
        ("def dataset", "def data", "mine.py: there is no function dataset(split); add it"),
        ("model(width=4)", "model(width)", "mine.py: model asks for own.arguments.width; give it"),
        (
            "return nn.Linear(width, 3)",
            "return [nn.Linear(width, 3)]",
            "mine.py: model: returned an object of type list, not a torch.nn.Module",
        ),
        (
            "return nn.Linear(width, 3)",
            "return nn.Linear(width / 2, 3)",
            "mine.py: model: TypeError: empty(): argument 'size' failed to unpack the object",
        ),
        (
            "return nn.Linear(width, 3)",
            "return nn.Linear(width, 3).requires_grad_(False)",
            "mine.py: loss: does not depend on any trainable parameter",
        ),
        (
            "return nn.Linear(width, 3)",
            "return nn.Linear(width + 1, 3)",
            "mine.py: model: RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        ),
        ("return TensorDataset", "return iter", "mine.py: dataset: TypeError: "),
        (
            "TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))",
            "iter(())",
            "mine.py: dataset: of 'train' returned an object of type tuple_iterator, which has no "
            "length or no items",
        ),
        (
            "TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))",
            "[]",
            "mine.py: dataset: of 'train' has no samples",
        ),
        (
            ", torch.randint(0, 3, (8,))",
            "",
            "mine.py: dataset: an item of 'train' is an object of type tuple, not (input, target)",
        ),
        (
            "TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))",
            "[(object(), 0)] * 8",
            "mine.py: dataset: TypeError: default_collate: ",
        ),
        (
            "TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))",
            "[('text', 0)] * 8",
            "mine.py: dataset: inputs of 'train' are no tensors with a row for each sample",
        ),
        (
            "(8, width)",
            "(8, width + (split == 'test'))",
            "mine.py: model, on 'test': RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        ),
        (
            "TensorDataset(torch.randn(8, width), torch.randint(0, 3, (8,)))",
            "([(torch.randn(width), 0)] * 8 if split == 'train' else [torch.randn(width)] * 8)",
            "mine.py: dataset: an item of 'validation' is a tensor of shape [4], not (input, "
            "target)",
        ),
    ],
)
def test_a_mistake_gets_a_line_that_names_file_and_function(tmp_path, old, new, line) -> None:
    assert GOOD.count(old) == 1
    assert line_of(tmp_path, GOOD.replace(old, new)).startswith(line)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (
            "def loss(outputs, targets): return outputs",
            "loss: returned a tensor of shape [2, 3], not a tensor without dimensions",
        ),
        (
            "def loss(outputs, targets): return 1.0",
            "loss: returned an object of type float, not a tensor without dimensions",
        ),
        ("def loss(outputs): return outputs.sum()", "loss: TypeError: loss() takes 1 positional"),
        (
            "def correct(outputs, targets): return 1",
            "correct: returned an object of type int, not (right, counted)",
        ),
        ("def correct(outputs, targets): return 3, 2", "correct: counts 3 right of 2"),
        (
            "def optimizer(parameters, lr): return lr",
            "optimizer: returned an object of type float, not a torch.optim.Optimizer",
        ),
        ("SAMPLE = 'two words'", "SAMPLE is 'two words', and should be one word"),
        ("loss = 3", "there is no function loss(outputs, targets); add it"),
    ],
)
def test_a_mistake_in_what_may_be_given_gets_its_line(tmp_path, function, line) -> None:
    assert line_of(tmp_path, f"{GOOD}\n\n{function}\n").startswith(f"mine.py: {line}")


def test_an_argument_that_no_function_names_is_refused(tmp_path) -> None:
    assert line_of(tmp_path, GOOD, wdth=4) == (
        "own.arguments.wdth: no function of mine.py names it; leave it out"
    )


def test_a_file_that_changed_since_the_plan_is_refused(tmp_path) -> None:
    file = written(tmp_path, GOOD)
    own = own_file(load_config(raw(file)))
    assert own is not None
    file.write_text(GOOD + "EDITED = 1\n", encoding="utf-8")
    with pytest.raises(OwnTrainingError, match=r"mine.py, or what it imports, changed since"):
        OwnTask(own)


def test_an_edit_of_the_file_makes_its_runs_stale_and_no_others(tmp_path) -> None:
    file = written(tmp_path, GOOD)
    config = raw(file, ledger={"workers": [2], "per_worker_batch": 4})
    before = planned_runs(load_config(config))
    assert planned_runs(load_config(config)) == before
    file.write_text(GOOD + "EDITED = 1\n", encoding="utf-8")
    after = planned_runs(load_config(config))
    assert before.keys() == after.keys()
    assert all(before[run] != after[run] for run in before)
    other = {"name": "own", **dict.fromkeys(STUDIES), "ledger": config["ledger"]}
    assert planned_runs(load_config(other)) == planned_runs(load_config(other))
    assert all(spec.own is None for spec in planned_runs(load_config(other)).values())


def test_comments_and_docstrings_are_not_code(tmp_path) -> None:
    file = written(tmp_path, GOOD)
    before = source_digest(file)
    commented = GOOD.replace("):\n", '):  # as wide\n    """A network."""\n')
    file.write_text(f'"""A training."""\n# of mine\n{commented}', encoding="utf-8")
    assert source_digest(file) == before
    file.write_text(GOOD.replace("(8, width)", "(9, width)"), encoding="utf-8")
    assert source_digest(file) != before


def test_an_edit_of_a_module_beside_the_file_is_one_of_its_code(tmp_path) -> None:
    file = written(tmp_path, f"import parts.wide\nimport parts as other, torch\n{GOOD}")
    alone = source_digest(file)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/__init__.py").write_text("from .deep import WIDTH\n", encoding="utf-8")
    (tmp_path / "parts/wide.py").write_text("", encoding="utf-8")
    deep, unused = tmp_path / "parts/deep.py", tmp_path / "unused.py"
    digests = []
    for text in ("WIDTH = 4\n", "WIDTH = 4  # a comment\n", "WIDTH = 5\n"):
        deep.write_text(text, encoding="utf-8")
        unused.write_text(text, encoding="utf-8")
        digests.append(source_digest(file))
    assert digests[0] == digests[1] != digests[2] != alone
    assert {path.name for path in sources(file)} == {"mine.py", "__init__.py", "wide.py", "deep.py"}


def test_an_error_in_a_module_beside_the_file_names_its_line(tmp_path) -> None:
    (tmp_path / "mine_parts.py").write_text("def width():\n    return 1 / 0\n", encoding="utf-8")
    text = "from mine_parts import width\n" + GOOD.replace("Linear(width,", "Linear(width(),")
    assert line_of(tmp_path, text.replace("model(width=4)", "model()")) == (
        "mine.py: model: ZeroDivisionError: division by zero (mine_parts.py, line 2)"
    )


def test_a_look_finds_sizes_and_what_the_file_cannot_have(tmp_path) -> None:
    own = own_file(load_config(raw(written(tmp_path, GOOD))))
    assert own is not None
    assert tried(own) == OwnFacts(
        train_samples=8, validation_samples=8, test_samples=8, counts_correct=True
    )
    refused = tried(own_file(load_config(raw(FILE)))).refused  # has an optimiser of its own
    assert list(refused) == ["stacked"]
    assert refused["stacked"].startswith("own_training.py: optimizer: ")


def test_a_file_is_looked_at_once_for_each_edit_of_its_code(tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, GOOD)
    config = looked_config(raw(file))
    assert (config.data.samples, config.own_facts.counts_correct) == (8, True)
    assert "mine.py is tried on two samples" in capfd.readouterr().err
    file.write_text(f"{GOOD}# a comment\n", encoding="utf-8")
    assert looked_config(raw(file)) == config
    assert not capfd.readouterr().err
    resolved = json.loads(config.model_dump_json())
    assert (
        load_config(resolved).model_dump() == config.model_dump()
    )  # what is written of it needs no further look


def test_a_file_that_fails_is_named_with_its_line_before_anything_is_planned(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, GOOD.replace("nn.Linear(width, 3)", "nn.Linear(width, 3 / 0)"))
    with pytest.raises(ConfigError) as caught:
        looked_config(raw(file))
    assert str(caught.value) == (
        f'config: own.file = "{file}": mine.py: model: ZeroDivisionError: division by zero (line 6)'
    )


FACTS = OwnFacts(train_samples=200, validation_samples=0, test_samples=50, counts_correct=False)


def known(file: Path, **sections: Any) -> Config:
    """The smallest configuration of a file that was looked at."""
    fields = {"name": "own", "own": {"file": str(file)}} | sections
    return load_config(fields, facts=FACTS)


def test_runs_that_the_data_cannot_have_are_not_planned_and_the_plan_says_why(tmp_path) -> None:
    config = known(written(tmp_path, GOOD))
    plan = planned_runs(config)
    fitting = [s for s in plan.values() if s.workers * (s.per_worker_batch or 1) <= 200]
    (beyond,) = [s.run for s in plan.values() if s not in fitting]
    assert beyond == "sweep-b512"  # where the sweep ends: the dataset has no such batch
    assert config.left_out == (
        "scaling.per_worker_batches is [32] here: 4 times 128 samples in a step are more than the "
        "200 training samples of own.file",
        "large_batch.small_per_worker_batch is 25 here: 4 times 128 samples in a step are more "
        "than the 200 training samples of own.file",
        'large_batch.remedies is ["linear_scaling", "warmup", "more_epochs"] here: zero_gamma '
        "needs residual blocks and own.file has none",
    )


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        (
            {"steps_to_goal": {"models": [{"goal_error_frac": 0.1}]}},
            "config: steps_to_goal: counts what is right, and own.file has no correct; add it, or "
            "set it to null",
        ),
        (
            {"data": {"samples": 100}},
            "config: data.samples = 100: own.file has 200 to train on; leave it out",
        ),
        (
            {"local_sgd": {"per_worker_batch": 2, "rate_factors": [0.5, 1.0]}},
            "config: local_sgd.rate_factors = [0.5, 1.0]: needs validation data to choose, and "
            "own.file has none; give it some",
        ),
    ],
)
def test_what_a_look_does_not_allow_is_refused(tmp_path, sections, line) -> None:
    with pytest.raises(ConfigError) as caught:
        known(written(tmp_path, GOOD), **sections)
    assert line in str(caught.value).splitlines()


def test_a_relative_path_begins_beside_the_configuration(tmp_path) -> None:
    file = written(tmp_path, GOOD)
    config = load_config(raw(Path("mine.py")), folder=tmp_path)
    assert config.own is not None
    assert config.own.file == str(file)
    assert (config.model.name, config.data.dataset) == ("own", "own")


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"model": {"name": "mlp"}},
            'config: model.name = "mlp": own.file takes the place of mlp; leave one of them out',
        ),
        (
            {"data": {"dataset": "digits"}},
            'config: data.dataset = "digits": own.file takes the place of digits; leave one of '
            "them out",
        ),
        (
            {"data": {"loader": "resident"}},
            'config: data.loader = "resident": your own dataset is loaded as it loads; set it '
            "to dataloader",
        ),
        (
            {"data": {"augment": True}},
            "config: data.augment = true: your own dataset augments its samples itself; set it "
            "to false",
        ),
    ],
)
def test_what_the_file_takes_the_place_of_is_refused_beside_it(tmp_path, fields, line) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(raw(written(tmp_path, GOOD), **fields))
    assert str(caught.value) == line


def test_a_missing_file_and_studies_of_built_in_networks_are_refused(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"own.file = .*mine.py\": there is no such file"):
        load_config(raw(tmp_path / "mine.py"))
    with pytest.raises(ConfigError, match=r"model.name = \"own\": there is no own.file"):
        load_config({"name": "x", "model": {"name": "own"}} | dict.fromkeys(STUDIES))
    scaled = {"group_batch": 2, "groups": [2], "expected": "x"}
    with pytest.raises(ConfigError, match=r"lr_scaling: groups the batch norm of built-in"):
        load_config(raw(written(tmp_path, GOOD), lr_scaling=scaled))


LOCAL = {
    "model": None,
    "workers": 2,
    "per_worker_batch": 2,
    "label_noise_fracs": [0.0],
    "augment": False,
}
AVERAGING = {"model": None, "learners": 2}


@pytest.mark.parametrize(
    ("section", "fields", "line"),
    [
        (
            "local_sgd",
            LOCAL | {"model": "mlp"},
            'config: local_sgd.model = "mlp": own.file takes the place of mlp; set it to null',
        ),
        (
            "local_sgd",
            LOCAL | {"label_noise_fracs": [0.0, 0.2]},
            "config: local_sgd.label_noise_fracs = [0.0, 0.2]: nobody knows what a wrong "
            "target of own.file is; "
            "the nearest valid is [0.0]",
        ),
        (
            "local_sgd",
            LOCAL | {"augment": True},
            "config: local_sgd.augment = true: your own dataset augments its samples; set it "
            "to false",
        ),
        (
            "model_averaging",
            AVERAGING | {"model": "mlp"},
            'config: model_averaging.model = "mlp": own.file takes the place of mlp; set it to '
            "null",
        ),
        (
            "model_averaging",
            AVERAGING | {"cells": [{"model": "mlp", "batch": 8}]},
            'config: model_averaging.cells.0.model = "mlp": own.file takes the place of mlp; '
            "set it to null",
        ),
        (
            "strategies",
            {"model": "mlp"},
            'config: strategies.model = "mlp": own.file takes the place of mlp; set it to null',
        ),
    ],
)
def test_studies_take_the_network_of_the_file(tmp_path, section, fields, line) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(raw(written(tmp_path, GOOD), **{section: fields}))
    assert str(caught.value) == line
    builtin = fields | {"model": "own"}
    with pytest.raises(ConfigError, match=r"there is no own.file; name the file, or a built-in"):
        load_config({"name": "x", section: builtin} | dict.fromkeys(STUDIES))
    right = {"local_sgd": LOCAL, "model_averaging": AVERAGING, "strategies": {}}[section]
    planned = planned_runs(load_config(raw(written(tmp_path, GOOD), **{section: right})))
    assert {spec.model.name for spec in planned.values()} == {"own"}


UNSTACKABLE = """
class Branching(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return y if float(y.detach().sum()) > 0 else -y

def model(width=4):
    return Branching(width, 3)
"""


def test_a_network_that_cannot_be_stacked_is_refused_where_studies_stack(tmp_path) -> None:
    made = task(written(tmp_path, GOOD + UNSTACKABLE))
    made.checked()
    with pytest.raises(OwnTrainingError) as caught:
        stacked(made)
    text = str(caught.value)
    assert text.startswith("mine.py: model or loss cannot be stacked by torch.func.vmap (set ")
    assert "model_averaging, local_sgd and steps_to_goal, which train several as one, to nu" in text
    assert "(line " in text
    for possible in (stacked, sharded):
        possible(task(written(tmp_path, GOOD)))


def test_an_optimizer_of_the_file_is_refused_where_studies_have_their_own() -> None:
    with pytest.raises(OwnTrainingError, match=r"optimizer: model_averaging, .* train by SGD of"):
        stacked(task(FILE))


UNSHARDABLE = """
class Reaching(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, 3)])

    def forward(self, x):
        return nn.functional.linear(x, self.layers[0].weight)

def model(width=4):
    return Reaching(width)
"""


def test_a_network_that_cannot_be_sharded_is_refused_where_a_study_shards(tmp_path) -> None:
    made = task(written(tmp_path, GOOD + UNSHARDABLE))
    stacked(made)
    with pytest.raises(OwnTrainingError) as caught:
        sharded(made)
    text = str(caught.value)
    assert text.startswith("mine.py: model cannot be sharded by torch's fully_shard (set strat")
    sharded(task(FILE))  # tied, frozen, unused and scalar parameters


def test_nothing_can_be_chosen_by_validation_data_that_is_not_there(tmp_path) -> None:
    unsplit = GOOD.replace("return Tensor", "return [] if split == 'validation' else Tensor")
    with pytest.raises(DatasetError, match=r"no samples of 'validation' to choose by, for a.key"):
        task(written(tmp_path, unsplit + CORRECT)).require_a_score("a.key")
    with pytest.raises(DatasetError, match=r"no function correct to choose by"):
        task(written(tmp_path, GOOD + LOSS)).require_a_score("a.key")
    for text in (GOOD, GOOD + LOSS + CORRECT):
        task(written(tmp_path, text)).require_a_score("a.key")


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_an_argument_that_is_no_number_of_json_is_refused_by_its_key(tmp_path, number) -> None:
    file = written(tmp_path, "")
    with pytest.raises(ConfigError, match=r"own\.arguments.*must hold finite numbers"):
        load_config(raw(file, arguments={"width": [number]}))
