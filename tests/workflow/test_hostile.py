"""Text of a configuration that looks like code reaches neither a shell nor the report as code."""

import json
import shutil
from pathlib import Path

import pytest
from checkouts import COPIED, ROOT, snakemake

STUDIES = ("sweep", "scaling", "communication", "large_batch", "ledger", "data_parallel")
CODE = "<script>alert(1)</script>'\"$(touch pwned)`touch pwned`;touch pwned #"
HOST = CODE.replace("1", "2")
FOLDER = "d'\"$(touch pwned)`touch pwned`;touch pwned #"
RUN = "replicas-baseline-n2-b32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout where one run was made and reported under hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    config = {
        "name": "hostile",
        "report": {"title": CODE, "course": "{{ 7*7 }}", "authors": [CODE, "{% include 'x' %}"]},
        "hardware": {"allow_oversubscription": True},
        "data": {"root": FOLDER},
        "replicas": {"workers": 2, "per_worker_batch": 32, "epochs": 2, "seeds": [0]},
        **dict.fromkeys(STUDIES),
    }
    (folder / "hostile.json").write_text(json.dumps(config))
    path = folder / f"results/hostile/runs/{RUN}/record.json"
    ended = snakemake(folder, str(path.relative_to(folder)), config="hostile.json")
    assert ended.returncode == 0, ended.stderr[-3000:]
    record = json.loads(path.read_text())
    record["provenance"] |= {"host": HOST, "fingerprint": HOST}
    path.write_text(json.dumps(record))
    ended = snakemake(folder, "partial", config="hostile.json")
    assert ended.returncode == 0, ended.stderr[-3000:]
    return folder


def test_no_shell_obeys_it(folder: Path) -> None:
    assert not list(folder.rglob("pwned"))
    assert (folder / FOLDER).is_dir()


def test_the_report_prints_it_and_does_not_obey_it(folder: Path) -> None:
    html = (folder / "results/hostile/partial/report.html").read_text()
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "{{ 7*7 }}" in html
    assert "{% include" in html


def test_a_hostile_host_name_is_printed_and_not_obeyed(folder: Path) -> None:
    html = (folder / "results/hostile/partial/report.html").read_text()
    assert "<script>alert(2)" not in html
    assert "&lt;script&gt;alert(2)" in html
