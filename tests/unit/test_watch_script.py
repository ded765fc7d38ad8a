"""watch_runs.py: which workflow it looks at, and what it says of a bad configuration."""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/watch_runs.py"
Watch = Callable[..., int]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Watch:
    """Run the script's main in a folder with two configurations, and return its status."""
    shutil.copytree(SCRIPT.parents[2] / "config/tables", tmp_path / "config/tables")
    default = (SCRIPT.parents[2] / "config/config.yaml").read_text()
    (tmp_path / "config/config.yaml").write_text(default)
    (tmp_path / "results/own").mkdir(parents=True)
    own = default.replace("name: laptop", "name: own")
    (tmp_path / "results/own/config.yaml").write_text(own)
    (tmp_path / "config/schema.json").write_text('{"title": "no configuration"}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["watch_runs.py", *arguments])
        status: int = importlib.import_module("watch_runs").main()
        return status

    return run


def test_the_default_configuration_is_watched(watch, capsys) -> None:
    assert watch() == 0
    assert capsys.readouterr().out.startswith("laptop: 0 of ")


def test_results_know_their_configuration(watch, capsys) -> None:
    assert watch("results/own/", "--once") == 0
    assert capsys.readouterr().out.startswith("own: 0 of ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--configfile", "config/no.yaml"], "config/no.yaml: cannot be read"),
        (["--configfile", "config/schema.json"], "config: title: unknown key"),
        (["results/other"], "results/other/config.yaml: is not there yet; name a configuration"),
    ],
)
def test_a_bad_configuration_is_one_line_and_status_2(watch, capsys, arguments, words) -> None:
    assert watch(*arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"watch_runs.py: {words}")


def test_neither_torch_nor_snakemake_is_loaded_to_look() -> None:
    code = "import sys, watch_runs; sys.exit(any(m in sys.modules for m in ('torch', 'snakemake')))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=SCRIPT.parent, check=False)
    assert ended.returncode == 0
