"""The example of a training of one's own, from its file to the report."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from checkouts import ROOT, copied, snakemake

EXAMPLE = "examples/language_model"
CONFIG = f"{EXAMPLE}/config.yaml"
RESULTS = "results/language_model"
SHORT = ("--config", "large_batch={epochs: 2, seeds: [0]}")


def checkout(folder: Path) -> Path:
    """A copy of the repository with its examples and the documents that one trains on."""
    copied(folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "docs").mkdir()
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        shutil.copy(document, folder / document.relative_to(ROOT))
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = checkout(tmp_path_factory.mktemp("own"))
    runs = [f"{RESULTS}/runs/{run}/record.json" for run in ("ledger-n2", "large_batch-small-n2")]
    ended = snakemake(folder, *runs, *SHORT, config=CONFIG)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return folder


def test_a_transformer_is_trained_and_sends_what_its_parameters_weigh(trained) -> None:
    ledger, training = (
        json.loads((trained / RESULTS / f"runs/{run}/record.json").read_text())
        for run in ("ledger-n2", "large_batch-small-n2")
    )
    # Tied: 256 x 64 once. Positions 64 x 64; a layer of width w has 12 w^2 + 13 w; two gains.
    parameters = 256 * 64 + 64 * 64 + 2 * (12 * 64**2 + 13 * 64) + 2 * 64
    assert (ledger["parameters"], ledger["payload_bytes"]) == (parameters, 4 * parameters)
    calls = pd.DataFrame(ledger["collectives"])
    sent = calls[(calls["phase"] == "steady") & (calls["purpose"] == "gradient bucket")]
    assert set(sent.groupby("iteration")["bytes"].sum()) == {4 * parameters}
    first = training["curves"][0]
    assert training["curves"][-1]["test_loss"] < first["test_loss"] < 5.5  # ln 256 = 5.545
    assert first["test_accuracy_frac"] > 0.1
    assert training["task"] == {
        "model": "Transformer",
        "dataset": "language_model.py",
        "optimizer": "AdamW",
        "sample": "sequence",
    }


def test_an_edit_of_the_file_makes_its_runs_anew(trained) -> None:
    target = f"{RESULTS}/runs/ledger-n2/record.json"
    fresh = snakemake(trained, "-n", target, *SHORT, config=CONFIG)
    assert "Nothing to be done" in fresh.stdout + fresh.stderr
    file = trained / EXAMPLE / "language_model.py"
    file.write_text(file.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")
    stale = snakemake(trained, "-n", target, *SHORT, config=CONFIG)
    assert re.search(r"^(timed|training)_run +1$", stale.stdout, re.MULTILINE), stale.stdout


def test_a_wrong_file_is_named_before_anything_is_measured(tmp_path) -> None:
    folder = checkout(tmp_path)
    file = folder / EXAMPLE / "language_model.py"
    wrong = file.read_text(encoding="utf-8").replace("outputs.flatten(0, 1)", "outputs")
    file.write_text(wrong, encoding="utf-8")
    ended = snakemake(folder, config=CONFIG)
    assert ended.returncode != 0
    assert 'language_model.py": language_model.py: loss: ' in ended.stderr + ended.stdout
    assert not list((folder / RESULTS).glob("runs/*/record.json"))


@pytest.mark.slow
def test_a_precision_that_cannot_be_had_here_is_refused_before_anything_is_measured(
    tmp_path,
) -> None:
    folder = checkout(tmp_path)
    file, config = folder / EXAMPLE / "language_model.py", folder / CONFIG
    first = "hidden = self.embedding(tokens)"
    refuses = f'assert not torch.is_autocast_enabled("cpu"), "no bfloat16"\n        {first}'
    file.write_text(file.read_text(encoding="utf-8").replace(first, refuses), encoding="utf-8")
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("training:\n", "training:\n  precision: bf16\n"), "utf-8")
    ended = snakemake(folder, "--keep-going", config=CONFIG)
    said = ended.stderr + ended.stdout
    assert ended.returncode != 0
    assert "training.precision = bf16: " in said
    assert "AssertionError: no bfloat16; set it to fp32" in said
    assert not list((folder / RESULTS).glob("runs/*/record.json"))


@pytest.mark.slow
def test_the_report_answers_for_the_transformer(tmp_path) -> None:
    folder = checkout(tmp_path)
    ended = snakemake(folder, config=CONFIG)
    assert ended.returncode == 0, ended.stderr[-4000:]
    answers = {
        one["id"]: one for one in json.loads((folder / RESULTS / "answers.json").read_text())
    }
    asked = ("Q1", "Q2", "Q3.1", "Q3.2", "Q4.1", "Q4.2", "Q5", "Q6", "Q7", "E1")
    assert not any(answers[name]["missing"] for name in asked)
    parts = [answers[name][part] for name in asked for part in ("paragraphs", "method")]
    said = " ".join(text for part in parts for text in part)
    assert "trains the network Transformer" in said
    assert "sequences" in said
    assert "image" not in said
    assert (folder / RESULTS / "report.pdf").stat().st_size > 0


@pytest.mark.slow
def test_the_report_advises_workers_and_batch_for_a_network_of_the_same_text(tmp_path) -> None:
    folder = checkout(tmp_path)
    ended = snakemake(folder, config=f"{EXAMPLE}/goal.yaml")
    assert ended.returncode == 0, ended.stderr[-4000:]
    answers = {
        one["id"]: one
        for one in json.loads((folder / "results/language_model_goal/answers.json").read_text())
    }
    for name in ("S1", "E2"):
        answer = answers[name]
        assert not answer["missing"]
        assert re.search(r"\d", answer["sentence"])
        said = " ".join([answer["sentence"], *answer["paragraphs"]])
        assert "Windows" in said
        assert "image" not in said
    assert "Take " in answers["E2"]["sentence"]
