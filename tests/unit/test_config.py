"""The configuration is strict, and its errors name the key and the nearest valid one."""

import copy
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpscale.config import ConfigError
from dpscale.config.datasets import train_samples
from dpscale.config.document import with_fields
from dpscale.config.sections import DataConfig
from dpscale.studies import config_model, load_config, planned_runs, read_config
from drawn_configs import field_at, leaves, schema, sections

FOLDER = Path(__file__).resolve().parents[2] / "config"
DEFAULT: dict[str, Any] = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))


def changed(key: str, value: object, raw: dict[str, Any] = DEFAULT) -> dict[str, Any]:
    """A configuration, the embedded default where none is given, with a dotted key set."""
    raw = copy.deepcopy(raw)
    *path, last = key.split(".")
    section = raw
    for name in path:
        section = section.setdefault(name, {})
    section[last] = value
    return raw


def with_keys(keys: dict[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = {"name": "x"}
    for key, value in keys.items():
        raw = changed(key, value, raw)
    return raw


def error_of(raw: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(raw)
    return str(caught.value)


def dotted_keys(raw: dict[str, Any], prefix: str = "") -> list[str]:
    keys = []
    for name, value in raw.items():
        keys.append(prefix + name)
        if isinstance(value, dict):
            keys += dotted_keys(value, f"{prefix}{name}.")
    return keys


def with_one_wrong_letter(raw: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The configuration with the last letter of a key replaced, and the wrong dotted key."""
    wrong_raw = copy.deepcopy(raw)
    *path, last = key.split(".")
    section = wrong_raw
    for name in path:
        section = section[name]
    letter = next(
        c for c in string.ascii_lowercase if c != last[-1] and last[:-1] + c not in section
    )
    wrong = last[:-1] + letter
    section[wrong] = section.pop(last)
    return wrong_raw, ".".join([*path, wrong])


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.yaml"))])
def test_shipped_configurations_are_valid(name) -> None:
    assert read_config(FOLDER / f"{name}.yaml").name == {"config": "laptop"}.get(name, name)


@pytest.mark.parametrize("key", dotted_keys(DEFAULT))
def test_one_wrong_letter_in_a_key_is_refused_with_the_right_key(key) -> None:
    raw, wrong = with_one_wrong_letter(DEFAULT, key)
    assert error_of(raw) == f"config: {wrong}: unknown key; did you mean {key}?"


def test_a_known_key_in_the_wrong_section_is_pointed_to_its_place() -> None:
    assert "did you mean training.lr" in error_of({**DEFAULT, "lr": 0.1})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("training.lr", "fast", "training.lr"),
        ("training.lr", "1e-3", "must be a number, without quotes"),
        ("training.epochs", 2.5, "training.epochs"),
        ("training.lr", float("inf"), "finite"),
        ("hardware.allow_oversubscription", "yes", "hardware.allow_oversubscription"),
        ("data.dataset", "cifar", "did you mean cifar10?"),
        ("sweep.memory_budget", "256 MIBs", "did you mean MiB?"),
        ("sweep.memory_budget", 256, "with its unit, for example 256 MiB"),
        ("scaling.repeats", 0, "scaling.repeats"),
        ("launches", 2, "launches"),
        ("replicas.seeds", [0, 0], "each value once"),
        ("replicas.seeds", [-1], "replicas.seeds"),
        ("steps_to_goal.equivalent_factor", 1.0, "must be above 1"),
        ("data.root", "a{b}", "data.root"),
        ("large_batch.remedies", ["warmup"], "large_batch.remedies"),
        ("large_batch.remedies", ["warmup", "zero_gama"], "did you mean zero_gamma?"),
        ("name", "a b", "name"),
    ],
)
def test_wrong_types_units_and_values_name_the_key(key, value, words) -> None:
    message = error_of(changed(key, value))
    assert words in message
    assert message.startswith(f"config: {key}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scaling.per_worker_batches": [32, 512]}, "the largest valid is 323"),
        ({"replicas.per_worker_batch": 1000}, "the largest valid is 646"),
        ({"model.zero_gamma": True, "model.name": "mlp", "large_batch": None}, "model.zero_gamma"),
        ({"hardware.backend": "nccl"}, "the nearest valid is gloo"),
        ({"training.precision": "tf32"}, "the nearest valid is fp32"),
        ({"training.cudnn_benchmark": True}, "cuDNN works on CUDA alone; set it to false"),
        ({"training.compile": True, "training.compile_mode": "max-autotune"}, "valid is default"),
        (
            {"hardware.device": "cuda", "training.compile_mode": "reduce-overhead"},
            "training.compile: true",
        ),
        (
            {"hardware.device": "cuda", "training.compile": True},
            "data_parallel: DataParallel copies the network",
        ),
        ({"training.nesterov": True, "training.momentum": 0.0}, "training.momentum is 0"),
        (
            {"local_sgd.momentum": 0.0, "local_sgd.nesterov": True},
            "local_sgd.nesterov = true: is a form of momentum",
        ),
        (
            {
                "training.nesterov": True,
                "training.optimizer": "adam",
                "lr_scaling": None,
                "model_averaging": None,
            },
            "training.nesterov = true: adam has no",
        ),
        ({"data.repeats": 2}, "sweep.data_repeats"),
        ({"sweep": None}, "large_batch.large_per_worker_batch"),
        ({"scaling.workers": [2, 4]}, "leaves out 1"),
        ({"training.epochs": 9}, "each study has its own"),
        ({"assignment.workers": [2, 4]}, "leaves out 1"),
        ({"assignment.larger_batches": [32]}, "measured anyway"),
        (
            {"assignment.more_loader_workers": 2, "data.loader_workers": 2},
            "not more than data.loader_workers = 2",
        ),
        ({"hardware.workers_per_node": 4, "assignment.two_node_workers": [7]}, "valid is 6"),
        ({"hardware.workers_per_node": 2, "assignment.two_node_workers": [8]}, "valid is 4"),
        (
            {"hardware.device": "cuda", "hardware.backend": "nccl", "sweep.memory_budget": None},
            "hardware.allow_oversubscription",
        ),
    ],
)
def test_impossible_combinations_are_refused(change, words) -> None:
    raw = DEFAULT
    for key, value in change.items():
        raw = changed(key, value, raw)
    assert words in error_of(raw)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"large_batch.large_per_worker_batch": 16, "large_batch.small_per_worker_batch": 32},
            "large_batch.large_per_worker_batch = 16: is no more than the small one of 32; give a "
            "larger one, or null for the largest that fits",
        ),
        (
            {"large_batch.min_updates_per_epoch": 9, "large_batch.small_per_worker_batch": 40},
            "large_batch.min_updates_per_epoch = 9: leaves no batch above the small one of 40 a "
            "worker; the largest valid is 7",
        ),  # 1,293 images of 4 workers of 41
        (
            {"large_batch.more_epochs": 5},
            "large_batch.more_epochs = 5: is no more than large_batch.epochs = 5; the least "
            "valid is "
            "6",
        ),
        (
            {"large_batch.warmup_epochs": 6.0},
            "large_batch.warmup_epochs = 6.0: is longer than large_batch.epochs = 5; the most "
            "are 5",
        ),
        (
            {"large_batch.remedies": ["warmup", "warmup"]},
            'large_batch.remedies = ["warmup", "warmup"]: name each value once: a repeated one '
            "is no "
            "repeat of a measurement",
        ),
        (
            {"replicas.seeds": [2**63]},
            "replicas.seeds.0 = 9223372036854775808: must be 4,294,967,295 or less: some "
            "generators "
            "take no larger seed",
        ),
        (
            {"scaling": None, "communication": {}},
            "communication: splits the steps of scaling, which is null; ask both, or neither",
        ),
        (
            {"data.samples": 9, "data.classes": 3, "data.image_size": 8},
            "data.image_size = 8: is known of data.dataset = digits; leave it out\n"
            "config: data.classes = 3: is known of data.dataset = digits; leave it out\n"
            "config: data.samples = 9: is known of data.dataset = digits; leave it out",
        ),
        (
            {"lr_scaling.groups": [1], "lr_scaling.large_groups": 1},
            "lr_scaling.groups = [1]: must be more than reference_groups = 2\n"
            "config: lr_scaling.large_groups = 1: must be more than reference_groups = 2",
        ),
        (
            {"lr_scaling.rules": ["linear", "linear"]},
            'lr_scaling.rules = ["linear", "linear"]: name each value once: a repeated one is no '
            "repeat of a measurement",
        ),
        (
            {
                "lr_scaling.workers": 3,
                "lr_scaling.reference_groups": 3,
                "lr_scaling.groups": [6, 8],
                "lr_scaling.large_groups": 6,
            },
            "lr_scaling.groups = [6, 8]: 8 groups do not spread evenly over 3 workers",
        ),
        (
            {"steps_to_goal.finalists": 9, "steps_to_goal.trials": 8},
            "steps_to_goal.finalists = 9: there are 8 trials; use at most those",
        ),
        (
            {"steps_to_goal.space": {"effective_lr_low": 200.0}},
            "steps_to_goal.space.effective_lr_high = 100.0: must be above effective_lr_low = 200.0",
        ),
        (
            {"local_sgd.decay_epochs": [75, 50]},
            "local_sgd.decay_epochs = [75, 50]: must rise from value to value",
        ),
        (
            {"model_averaging.decay_epochs": [30]},
            "model_averaging.decay_epochs = [30]: 30 is not before the end of "
            "model_averaging.epochs "
            "= 30; the latest valid is 29",
        ),
        (
            {"training.schedule": {"decay": "step", "decay_epochs": [5, 6]}, "replicas.epochs": 6},
            "training.schedule.decay_epochs = [5, 6]: 6 is not before the end of "
            "replicas.epochs = 6; "
            "the latest valid is 5",
        ),
        (
            {"training.schedule.decay_epochs": [2]},
            "training.schedule.decay_epochs = [2]: is without effect; set "
            "training.schedule.decay to "
            "step, or leave it out",
        ),
        (
            {"training.schedule.warmup": "gradual"},
            "training.schedule.warmup_epochs = 0.0: training.schedule.warmup = gradual needs "
            "it; add "
            "it",
        ),
        (
            {"ledger.per_worker_batch": 10**7},
            "ledger.per_worker_batch = 10000000: must be 1,048,576 or less: no device takes more "
            "samples in a step",
        ),
        (
            {"sweep.data_repeats": 10**12},
            "sweep.data_repeats = 1000000000000: must be 1,000 or less: no interval is seen to "
            "narrow "
            "by more",
        ),
        ({"report.parts": []}, "report.parts = []: must have 1 or more values"),
        (
            {"launches": 10**6},
            "launches = 1000000: must be 100 or less: intervals hardly narrow beyond",
        ),
        ({"scaling.workers": 4}, "scaling.workers = 4: must be a list, for example [1, 2]"),
        (
            {"scaling.workers": [1]},
            "scaling.workers = [1]: has nothing to set against 1; add a number, or set scaling to "
            "null",
        ),
        (
            {"data.loader": "resident", "data.loader_workers": 2},
            "data.loader_workers = 2: resident data leave nothing to load; set it to 0",
        ),
        (
            {"data.validation_frac": 0.001},
            "data.validation_frac = 0.001: sets fewer images apart than the 10 classes; the least "
            "valid is 0.006959",
        ),
        (
            {"training.optimizer": "adam", "training.momentum": 0.5},
            "training.momentum = 0.5: is that of sgd, and training.optimizer is adam; leave it out",
        ),
        (
            {"training.nesterov": True, "assignment": {}},
            "training.nesterov = true: assignment trains with adam, which has no Nesterov's "
            "form; set "
            "it to false, or assignment to null",
        ),
        (
            {"assignment.per_worker_batch": 30, "assignment.other_rules": ["fixed_batch"]},
            'assignment.other_rules = ["fixed_batch"]: fixed_batch shares '
            "assignment.per_worker_batch = 30 among 4 workers, which do not divide it; leave "
            "it out",
        ),
        (
            {"local_sgd.small_workers": 16},
            "local_sgd.small_workers = 16: is no fewer than local_sgd.workers = 16; the "
            "largest valid "
            "is 15",
        ),
        (
            {"model_averaging.median_of": 31},
            "model_averaging.median_of = 31: there are 30 evaluations; use at most those",
        ),
        (
            {"model_averaging.alphas": ["1/k", 0.125]},
            'model_averaging.alphas = ["1/k", 0.125]: 0.125 is 1/k; leave one of them out',
        ),
        (
            {"hardware.devices": 2, "hardware.workers_per_node": 4},
            "hardware.workers_per_node = 4: hardware.devices offers 2; use at most those",
        ),
    ],
)
def test_what_contradicts_itself_or_is_beyond_any_machine_is_refused_by_key_and_value(
    keys, line
) -> None:
    assert error_of(with_keys(keys)) == f"config: {line}"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {
                "scaling.per_worker_batches": list(range(1, 601)),
                "launches": 100,
                "data.dataset": "cifar10",
            },
            "scaling: takes the plan beyond 100,000 runs",
        ),
        ({"lr_scaling.candidate_lrs": [0.1, 0.1 + 1e-14]}, "lr0.1-kn32 twice; its values are"),
        ({"report.parts": ["lab", "assignment"]}, "nothing is planned for assignment"),
        ({"own.file": str(Path(__file__)), "own.arguments": {"a": "x" * 100_000}}, "too many"),
    ],
)
def test_a_plan_that_nobody_could_run_is_refused(keys, words) -> None:
    with pytest.raises(ConfigError) as caught:
        planned_runs(load_config(with_keys(keys)))
    assert words in str(caught.value)


ASKED = {"sweep", "scaling", "communication", "large_batch", "replicas", "data_parallel", "ledger"}
OWN = {"own.file": str(Path(__file__).parents[1] / "own_training.py")}


@pytest.mark.parametrize(
    ("keys", "left_out"),
    [
        ({}, set()),
        (OWN, set()),
        ({"model.name": "mlp"}, set()),
        ({"hardware.devices": 2}, set()),
        ({"hardware.devices": 1}, ASKED - {"sweep", "large_batch", "data_parallel"}),
        ({"hardware.device": "cuda", "training.compile": True}, {"data_parallel"}),
        ({"data.validation_frac": 0.9}, set()),
        (
            {
                "data.dataset": "synthetic",
                "data.samples": 99,
                "data.image_size": 8,
                "data.channels": 1,
                "data.classes": 3,
            },
            {"large_batch", "replicas"},
        ),
        ({"scaling": None}, {"scaling", "communication"}),
        ({"sweep": None}, {"sweep", "large_batch"}),
    ],
)
def test_what_a_file_leaves_open_is_valid_or_a_study_is_left_out(keys, left_out) -> None:
    config = load_config(with_keys(keys))
    assert {name for name, _ in config.sections()} == ASKED - left_out
    assert planned_runs(config)


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ({}, {"scaling.per_worker_batches": (32, 128), "scaling.workers": (1, 2, 4)}),
        ({"hardware.devices": 3}, {"scaling.workers": (1, 2), "ledger.workers": (2,)}),
        ({}, {"hardware.allow_oversubscription": True}),
        ({"hardware.devices": 4}, {"hardware.allow_oversubscription": False}),
        ({"hardware.device": "cuda"}, {"hardware.allow_oversubscription": False}),
        (
            {"model.name": "mlp"},
            {"large_batch.remedies": ("linear_scaling", "warmup", "more_epochs")},
        ),
        (
            {"large_batch.epochs": 10},
            {"large_batch.more_epochs": 30, "large_batch.warmup_epochs": 4.0},
        ),
        ({"large_batch.large_per_worker_batch": 20}, {"large_batch.small_per_worker_batch": 10}),
        (
            {"local_sgd.epochs": 8},
            {"local_sgd.decay_epochs": (4, 6), "local_sgd.warmup_epochs": 0.4},
        ),
        ({"local_sgd.momentum": 0.0}, {"local_sgd.nesterov": False}),
        (
            OWN | {"local_sgd": {}},
            {
                "local_sgd.model": None,
                "local_sgd.augment": False,
                "local_sgd.label_noise_fracs": (0.0,),
            },
        ),
        ({"lr_scaling.epochs": 10}, {"lr_scaling.decay_epochs": (6, 8)}),
        ({"lr_scaling.reference_groups": 8}, {"lr_scaling.groups": (16, 32, 64)}),
        ({"steps_to_goal.trials": 4}, {"steps_to_goal.finalists": 4}),
        ({"strategies.per_worker_batch": 9}, {"strategies.micro_batches": 3}),
        ({"strategies.micro_batches": 5}, {"strategies.per_worker_batch": 30}),
        ({"assignment.per_worker_batch": 6}, {"assignment.other_rules": ("sqrt", "fixed")}),
        (
            {"steps_to_goal.batch_sizes": [12, 24], "choose.workers": [1, 3]},
            {"choose.per_worker_batches": (4, 8, 12, 24)},
        ),
    ],
)
def test_a_default_follows_from_what_the_file_says(keys, chosen) -> None:
    config = load_config(with_keys(keys))
    for key, value in chosen.items():
        section, field = key.split(".")
        assert getattr(config.section(section), field) == value


@pytest.mark.parametrize("own", [{}, OWN], ids=["built-in", "own"])
@pytest.mark.parametrize("study", sections())
def test_a_study_that_is_named_and_no_more_is_valid(study, own) -> None:
    if own and study == "lr_scaling":
        pytest.skip("groups the batch norm of built-in networks")
    goal = {"models": [{"goal_error_frac": 0.1}]} if own else {}
    needed = {"choose": {"steps_to_goal": goal}, "steps_to_goal": {}}.get(study, {})
    asked = goal if study == "steps_to_goal" else {}
    config = load_config(with_keys(own) | {study: asked} | needed)
    assert config.section(study)
    assert planned_runs(config)


def test_every_number_has_bounds_and_they_are_those_of_the_schema() -> None:
    for place in leaves(schema()):
        fields = field_at(place)
        for field in fields.get("anyOf", [fields]):
            if field.get("type") not in ("integer", "number"):
                continue
            least = field.get("minimum", field.get("exclusiveMinimum"))
            assert least is not None, place
            key = ".".join(place)
            message = error_of(with_keys({key: least - 1}))
            assert re.search(rf"{key}[.0-9]* = .*must be (above )?{least:g}\b", message), message
            if field["type"] == "integer":
                message = error_of(with_keys({key: field["maximum"] + 1}))
                assert f"must be {field['maximum']:,} or less" in message


@pytest.mark.parametrize(
    ("key", "value", "more"),
    [
        ("scaling.per_worker_batches", [-1] * 3000, "and 2,990 more"),
        # Each on its own is valid, and too large for the samples.
        ("scaling.per_worker_batches", list(range(100_000, 100_050)), "and 40 more"),
        ("scaling", {f"key{number}": 1 for number in range(11)}, "and 1 more"),
    ],
)
def test_many_errors_are_ten_lines_and_how_many_more(key, value, more) -> None:
    *lines, last = error_of(changed(key, value)).splitlines()
    assert len(lines) == 10
    assert all(line.startswith(f"config: {key}") for line in lines)
    assert last == more


def test_accuracy_asked_of_synthetic_data_is_refused() -> None:
    raw = copy.deepcopy(DEFAULT)
    raw["data"] = {
        "dataset": "synthetic",
        "image_size": 8,
        "channels": 1,
        "classes": 10,
        "samples": 2000,
    }
    message = error_of(raw)
    assert "config: large_batch: asks for accuracy" in message
    accuracy = (
        "large_batch",
        "replicas",
        "assignment",
        "lr_scaling",
        "model_averaging",
        "local_sgd",
        "steps_to_goal",
        "choose",
    )
    assert load_config(raw | dict.fromkeys(accuracy)).data.samples == 2000


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (["nowhere.csv"], "config: audit.tables.0: there is no file nowhere.csv"),
        ([{"path": "README.md", "tittle": "x"}], "did you mean audit.tables.title?"),
        (["README.md", "docs/README.md"], "a name of its own"),
        ([3], "audit.tables.0"),
    ],
)
def test_a_wrong_table_to_audit_is_one_line(tables, words, monkeypatch) -> None:
    monkeypatch.chdir(FOLDER.parent)
    message = error_of(changed("audit.tables", tables))
    assert words in message
    assert "\n" not in message


def test_tables_to_audit_are_paths_or_sections_and_may_be_left_out(monkeypatch) -> None:
    monkeypatch.chdir(FOLDER.parent)
    config = load_config(changed("audit.tables", ["README.md", {"path": "Makefile", "samples": 9}]))
    assert config.audit is not None
    assert [(table.name, table.samples) for table in config.audit.tables] == [
        ("README", None),
        ("Makefile", 9),
    ]
    assert load_config({**DEFAULT, "audit": None}).audit is None


def test_more_workers_than_devices_need_leave_to_share_them() -> None:
    raw = changed("hardware.devices", 2)
    assert load_config(raw).hardware.devices == 2
    raw["hardware"]["allow_oversubscription"] = False
    assert "scaling.workers = [1, 2, 4]: 4 workers where hardware.devices offers 2" in error_of(raw)


def test_an_unreadable_file_is_one_line(tmp_path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [", encoding="utf-8")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: Zürich".encode("latin-1"))
    for path in (broken, latin, tmp_path / "missing.yaml"):
        with pytest.raises(ConfigError, match=path.name) as caught:
            read_config(path)
        assert "\n" not in str(caught.value)


def test_sizes_known_before_reading() -> None:
    assert train_samples(DataConfig(dataset="digits")) == 1293  # 1,437 less ceil(143.7)
    assert train_samples(DataConfig(dataset="cifar10", validation_frac=0.0)) == 50_000
    assert train_samples(DataConfig(dataset="digits", repeats=8)) == 10_344
    assert train_samples(DataConfig(dataset="image_folder")) is None


def test_a_configuration_survives_its_own_json() -> None:
    config = load_config(DEFAULT)
    assert load_config(json.loads(config.model_dump_json())) == config


def test_the_schema_file_is_current() -> None:
    written = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    assert written == config_model().model_json_schema(), (
        "config/schema.json is stale; write it anew: python workflow/scripts/write_schema.py"
    )


def test_the_document_of_all_fields_is_current() -> None:
    written = (FOLDER.parent / "docs/configuration.md").read_text(encoding="utf-8")
    assert written == with_fields(written, config_model().model_json_schema()), (
        "docs/configuration.md is stale; write it anew: python workflow/scripts/write_schema.py"
    )


def test_every_field_is_described() -> None:
    def undescribed(schema: dict[str, Any], where: str) -> list[str]:
        fields = schema.get("properties", {})
        return [f"{where}.{k}" for k, v in fields.items() if not v.get("description")]

    schema = config_model().model_json_schema()
    missing = undescribed(schema, "Config")
    for name, section in schema["$defs"].items():
        missing += undescribed(section, name)
    assert missing == []


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({"steps_to_goal": None}, "config: choose: takes its steps from steps_to_goal"),
        (
            {"model": "resnet20"},
            'choose.model = "resnet20": is not in steps_to_goal.models; there is',
        ),
        ({"optimizer": "adam"}, 'choose.optimizer = "adam": is not searched for mlp; there is sgd'),
        (
            {"per_worker_batches": [3]},
            "choose.per_worker_batches = [3]: none of them times 1 workers",
        ),
        ({"workers": [2, 4]}, "choose.workers"),
        ({"limits": {"memory": "0 MiB"}}, "choose.limits.memory"),
    ],
)
def test_a_choice_that_the_search_does_not_allow_is_refused(edits, words) -> None:
    raw = copy.deepcopy(DEFAULT)
    if "steps_to_goal" in edits:
        raw |= edits
    else:
        raw["choose"] |= edits
    assert words in error_of(raw)
