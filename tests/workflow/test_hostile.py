"""Text of a configuration that looks like code reaches neither a shell nor the report as code."""

import json
import shutil
from pathlib import Path

import pytest
from checkouts import COPIED, ROOT, WITHOUT_SLURM, copied, snakemake

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


def test_no_shell_obeys_it(folder) -> None:
    assert not list(folder.rglob("pwned"))
    assert (folder / FOLDER).is_dir()


def test_the_report_prints_it_and_does_not_obey_it(folder) -> None:
    html = (folder / "results/hostile/partial/report.html").read_text()
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "{{ 7*7 }}" in html
    assert "{% include" in html


def test_a_hostile_host_name_is_printed_and_not_obeyed(folder) -> None:
    html = (folder / "results/hostile/partial/report.html").read_text()
    assert "<script>alert(2)" not in html
    assert "&lt;script&gt;alert(2)" in html


BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9 or ['x'])}]\n" for n in range(1, 20))
VALID = "name: mine\nreplicas: {workers: 2, seeds: [0]}\n" + "".join(
    f"{study}: null\n" for study in STUDIES
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (VALID + "name: other\n", "the key name stands there a second time; join the two"),
        ("a0: &a0 [x]\n" + BOMB, "has more than 100,000 values, aliases written out"),
        ("name: x\nreport: " + "[" * 3000, "has brackets within brackets without end"),
        (VALID.encode("utf-16"), "is no UTF-8 text from byte 0 on"),
        ("__use_yte__: true\nname: ?open('pwned', 'w').name", "a configuration runs nothing"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_snakemake_would_trip_over_is_refused_in_a_line(checkout, text, words) -> None:
    path = checkout / "mine.yaml"
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = snakemake(checkout, "-n", config="mine.yaml")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("mine.yaml: ")
    assert words in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert not (checkout / "pwned").exists()


def test_the_snakefile_refuses_a_double_key_where_the_default_profile_is_left_out(checkout) -> None:
    (checkout / "twice.yaml").write_text(VALID + "data: {}\nmodel: {}\ndata: {}\n")
    ended = snakemake(checkout, "-n", "-c1", "--workflow-profile", "none", config="twice.yaml")
    assert ended.returncode == 1
    assert "twice.yaml: line 11: the key data stands there a second time" in ended.stderr


def test_values_of_the_command_line_come_after_those_of_the_files(checkout) -> None:
    (checkout / "good.yaml").write_text(VALID)
    values = ["--config", "launches=2", "replicas={epochs: 1}", "training={lr: 1e-3}"]
    ended = snakemake(checkout, "-n", *values, config="good.yaml")
    assert ended.stderr.splitlines()[-2:] == [
        "config: launches = 2: must be 3 or more",
        "config: replicas.epochs = 1: must be 2 or more",
    ]
    ended = snakemake(
        checkout, "-n", "--config", "name=other", "sweep={factor: 2}", config="good.yaml"
    )
    assert ended.returncode == 0, ended.stderr
    assert "timed_run" in ended.stdout
    assert "results/other/report.html" in ended.stdout


@pytest.mark.parametrize(
    "arguments", [["-s", "{}/Snakefile"], ["-s", "{}/Snakefile", "-d", "{}/a"]]
)
def test_a_call_from_another_folder_plans_there(checkout, tmp_path, arguments) -> None:
    words = [word.format(checkout) for word in arguments]
    ended = snakemake(tmp_path, "-n", *words, config=str(checkout / "config/smoke.yaml"))
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert "results/smoke/runs/ledger-n2/record.json" in ended.stdout


def test_a_cache_that_may_not_be_written_is_named_before_snakemake_trips_over_it(
    checkout, monkeypatch
) -> None:
    monkeypatch.setitem(WITHOUT_SLURM, "XDG_CACHE_HOME", "/dev/null/cache")
    ended = snakemake(checkout, "-n")
    assert ended.stderr.splitlines()[-1] == (
        "dpscale: /dev/null/cache/snakemake, where snakemake keeps what it reads, may not be "
        "written (Not a directory); set XDG_CACHE_HOME to a folder that may"
    )
