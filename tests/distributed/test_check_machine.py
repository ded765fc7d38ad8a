"""The check of the machine, made for real between two workers on this one's cores."""

import pytest
from patience import HANG_S

import check_machine
from dpscale.launch import warm
from dpscale.plan import Spec, check_spec
from dpscale.studies import load_config, planned_runs

STUDIES = ("sweep", "large_batch", "replicas", "ledger", "data_parallel")


@pytest.fixture
def spec(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv(warm.SOCKET, server[warm.SOCKET])  # seconds less
    scaling = {"workers": [1, 2], "per_worker_batches": [32]}
    hardware = {"allow_oversubscription": True}
    config = load_config(
        {"name": "test", "hardware": hardware, "scaling": scaling} | dict.fromkeys(STUDIES)
    )
    return check_spec(config, planned_runs(config))


def test_workers_that_exchange_a_message_can_train(spec, tmp_path, capfd) -> None:
    assert check_machine.check(spec, tmp_path) == []
    (node,) = check_machine.facts_in(tmp_path)
    said = capfd.readouterr().out
    assert f"check_machine.py: {node.described()}" in said
    assert node.cores > 0
    assert (tmp_path / "record.json").exists()


def test_workers_that_do_not_meet_are_one_line_with_the_reason_and_the_log(
    spec, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("GLOO_DEVICE_TRANSPORT", "PIGEONS")
    (line,) = check_machine.check(spec, tmp_path)
    assert line.startswith("2 workers did not exchange a message over gloo: rank ")
    assert "unsupported gloo device" in line
    assert line.endswith(f"see {tmp_path / 'log.txt'}")


def test_limits_of_time_grow_with_an_import_from_a_cold_network_disk(
    spec, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(check_machine, "NODE_S", 0.0)
    monkeypatch.setattr(check_machine, "GROUP_S", 0.0)
    monkeypatch.setattr(check_machine, "torch_import_s", lambda: HANG_S)
    assert check_machine.check(spec, tmp_path) == []
    monkeypatch.setattr(check_machine, "torch_import_s", lambda: 0.0)
    (line,) = check_machine.check(spec, tmp_path)
    assert line.startswith("0 of 1 nodes answered (none)")


def test_an_environment_that_does_not_answer_is_said(spec, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(check_machine, "IMPORT_S", 0.0)
    (line,) = check_machine.check(spec, tmp_path)
    assert line.startswith("torch is not imported here within 0 s; put the environment on")
