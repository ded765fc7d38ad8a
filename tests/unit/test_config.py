"""The configuration is strict, and its errors name the key and the nearest valid one."""

import copy
import json
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpscale.config import ConfigError
from dpscale.config.datasets import train_samples
from dpscale.config.document import with_fields
from dpscale.config.sections import DataConfig
from dpscale.studies import config_model, load_config, read_config

FOLDER = Path(__file__).resolve().parents[2] / "config"
DEFAULT: dict[str, Any] = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))


def changed(key: str, value: object) -> dict[str, Any]:
    """The embedded default with the dotted key set to a value."""
    raw = copy.deepcopy(DEFAULT)
    *path, last = key.split(".")
    section = raw
    for name in path:
        section = section.setdefault(name, {})
    section[last] = value
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
def test_shipped_configurations_are_valid(name: str) -> None:
    assert read_config(FOLDER / f"{name}.yaml").name == {"config": "laptop"}.get(name, name)


@pytest.mark.parametrize("key", dotted_keys(DEFAULT))
def test_one_wrong_letter_in_a_key_is_refused_with_the_right_key(key: str) -> None:
    raw, wrong = with_one_wrong_letter(DEFAULT, key)
    assert error_of(raw) == f"config: {wrong}: unknown key; did you mean {key}?"


def test_a_known_key_in_the_wrong_section_is_pointed_to_its_place() -> None:
    assert "did you mean training.lr" in error_of({**DEFAULT, "lr": 0.1})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("training.lr", "fast", "training.lr"),
        ("training.lr", "1e-3", "1.0e-3"),
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
        ("data.root", "a{b}", "data.root"),
        ("large_batch.remedies", ["warmup"], "large_batch.remedies"),
        ("large_batch.remedies", ["warmup", "zero_gama"], "did you mean zero_gamma?"),
        ("name", "a b", "name"),
    ],
)
def test_wrong_types_units_and_values_name_the_key(key: str, value: object, words: str) -> None:
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
        ({"local_sgd.momentum": 0.0}, "local_sgd.nesterov: is a form of momentum"),
        (
            {
                "training.nesterov": True,
                "training.optimizer": "adam",
                "lr_scaling": None,
                "model_averaging": None,
            },
            "training.nesterov: adam has no",
        ),
        ({"data.repeats": 2}, "sweep.data_repeats"),
        ({"sweep": None}, "large_batch.large_per_worker_batch"),
        ({"scaling.workers": [2, 4]}, "leaves out 1"),
        ({"training.epochs": 9}, "each study has its own"),
        ({"assignment.workers": [2, 4]}, "leaves out 1"),
        ({"assignment.larger_batches": [32]}, "measured anyway"),
        ({"hardware.workers_per_node": 4, "assignment.two_node_workers": [7]}, "valid is 6"),
        ({"hardware.workers_per_node": 2, "assignment.two_node_workers": [8]}, "valid is 4"),
        (
            {"hardware.device": "cuda", "hardware.backend": "nccl", "sweep.memory_budget": None},
            "hardware.allow_oversubscription",
        ),
    ],
)
def test_impossible_combinations_are_refused(change: dict[str, object], words: str) -> None:
    raw = copy.deepcopy(DEFAULT)
    for key, value in change.items():
        *path, last = key.split(".")
        section = raw
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    assert words in error_of(raw)


def test_accuracy_asked_of_synthetic_data_is_refused() -> None:
    raw = copy.deepcopy(DEFAULT)
    raw["data"] = {
        "dataset": "synthetic", "image_size": 8, "channels": 1, "classes": 10, "samples": 2000,
    }  # fmt: skip
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
def test_a_wrong_table_to_audit_is_one_line(
    tables: list[object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER.parent)
    message = error_of(changed("audit.tables", tables))
    assert words in message
    assert "\n" not in message


def test_tables_to_audit_are_paths_or_sections_and_may_be_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(FOLDER.parent)
    config = load_config(changed("audit.tables", ["README.md", {"path": "Makefile", "samples": 9}]))
    assert config.audit is not None
    assert [(table.name, table.samples) for table in config.audit.tables] == [
        ("README", None), ("Makefile", 9),
    ]  # fmt: skip
    assert load_config({**DEFAULT, "audit": None}).audit is None


def test_more_workers_than_devices_need_leave_to_share_them() -> None:
    raw = changed("hardware.devices", 2)
    assert load_config(raw).hardware.devices == 2
    raw["hardware"]["allow_oversubscription"] = False
    assert "scaling.workers: 4 workers where hardware.devices offers 2" in error_of(raw)


def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
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
        ({"model": "resnet20"}, "choose.model: resnet20 is not in steps_to_goal.models; there is"),
        ({"optimizer": "adam"}, "choose.optimizer: adam is not searched for mlp; there is sgd"),
        ({"per_worker_batches": [3]}, "choose.per_worker_batches: none of them times 1 workers"),
        ({"workers": [2, 4]}, "choose.workers"),
        ({"limits": {"memory": "0 MiB"}}, "choose.limits.memory"),
    ],
)
def test_a_choice_that_the_search_does_not_allow_is_refused(edits: dict, words: str) -> None:
    raw = copy.deepcopy(DEFAULT)
    if "steps_to_goal" in edits:
        raw |= edits
    else:
        raw["choose"] |= edits
    assert words in error_of(raw)
