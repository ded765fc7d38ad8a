"""A call of snakemake that would end in a traceback ends in a line, before snakemake reads on."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dpscale.config.call import check_call, unwritable

ROOT = Path(__file__).resolve().parents[2]


def end_of(*arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        check_call(arguments)
    return str(caught.value)


@pytest.mark.parametrize("option", ["--configfile", "--configfiles"])
def test_a_configuration_that_cannot_be_read_ends_the_call(tmp_path, option) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("name: x")
    bad.write_text("name: x\nname: y")
    assert "bad.yaml: line 2: the key name" in end_of("-n", option, str(good), str(bad), "--quiet")
    check_call(["-n", option, str(good), "--quiet", "all"])
    check_call(["--config", "launches=3", "--configf", str(bad)])  # the Snakefile reads it again
    check_call(["all", option])  # snakemake says what is wrong with its arguments


@pytest.fixture
def clone() -> Iterator[Path]:
    """A folder that others reach too, for somebody who is not root, and so may not write all."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root = os.geteuid() == 0
        if root:
            os.chown(place, 65534, 65534)
            os.seteuid(65534)
        yield Path(place)
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("place", ["", ".snakemake", "results"])
def test_a_clone_that_may_not_be_written_is_named(clone, place, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(clone / "cache"))
    (clone / place).mkdir(exist_ok=True)
    (clone / place).chmod(0o555)
    assert unwritable(clone) == (
        f"{clone / place} may not be written; work in a clone of your own: git clone {clone}"
    )
    (clone / place).chmod(0o755)
    assert unwritable(clone) is None


def test_a_home_that_may_not_be_written_is_named_with_what_helps(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "set XDG_CACHE_HOME to a folder that may" in end_of("-n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    check_call(["-n"])


def test_the_default_profile_looks_at_the_call_first() -> None:
    profile = yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text())
    assert profile["__use_yte__"] is True
    assert "check_call(sys.argv[1:])" in profile["__definitions__"][0]
