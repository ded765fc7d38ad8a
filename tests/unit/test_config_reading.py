"""The file of a configuration is read strictly: what is odd about it is one line, at once."""

import os
from pathlib import Path

import pytest

from dpscale.config import ConfigError
from dpscale.config.reading import read_argument, read_mapping
from dpscale.studies import read_config


def written(folder: Path, text: str | bytes, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "name: x\ntraining: {lr: 0.1}\ndata: {}\ntraining: {}",
            "line 4: the key training stands there a second time",
        ),
        ("name: x\ntraining:\n  lr: 0.1\n  lr: 0.2", "line 4: the key lr stands there a second"),
        ("name: x\na: &a [*a]", "line 2: an alias stands within what it stands for"),
        (BOMB, "has more than 100,000 values, aliases written out"),
        ("name: x\nreport: " + "[" * 3000 + "]" * 3000, "brackets within brackets without end"),
        ("name: x\nown: {arguments: " + "{a: " * 30 + "1" + "}" * 30 + "}", "more than 20 levels"),
        ("name: Zürich".encode("latin-1"), "is no UTF-8 text from byte 7 on"),
        ('name: x\ndata: {root: "a\\0b"}', "characters that are no text: 'a\\x00b'"),
        ('name: x\nreport: {title: "\\ud800"}', "characters that are no text"),
        ("name: x\n5: 3", "line 2: the key is no text"),
        ("name: x\n? [a]\n: 3", "line 2: the key is no text"),
        ("name: x\nyes: 3", "line 2: the key is no text"),
        ("name: !!python/object:os.system x", "could not determine a constructor"),
        ("name: x\na: !!binary aaaa", "could not determine a constructor"),
        ("__use_yte__: true\nname: ?open('pwned', 'w')", "a configuration runs nothing"),
        ("name: [", "line 1: "),
        ("name: x\n---\nname: y", "line 2: "),
        ("- x", "holds no keys"),
        ("", "holds no keys"),
        ("a: " + "9" * 5000, "4300 digits"),
        ("#" * 2**20 + "\nname: x", "more than a mebibyte"),
    ],
)
def test_a_file_that_no_configuration_is_written_as_is_refused_in_a_line(
    tmp_path, text, words
) -> None:
    message = refusal(written(tmp_path, text))
    assert message.startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "x", "data": {"root": "a", "root": "b"}}', "the key root stands there a second"),
        ('{"name": }', "Expecting value: line 1"),
        ("[" * 100_000, "brackets within brackets without end"),
    ],
)
def test_so_is_a_json_file(tmp_path, text, words) -> None:
    assert words in refusal(written(tmp_path, text, "mine.json"))


def test_what_is_no_regular_file_is_refused_before_it_is_read(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # reading it would wait for ever
    for path in (Path("/dev/zero"), tmp_path, pipe):
        assert refusal(path) == f"{path}: is no regular file; name the file of a configuration"
    assert "No such file" in refusal(tmp_path / "none.yaml")
    assert "embedded null byte" in refusal(tmp_path / "a\0b")
    assert "File name too long" in refusal(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0e9", 1e9),
        ("1.0e+9", 1e9),
        ("1e-3", 1e-3),
        ("-.5E3", -500.0),
        ("1.", 1.0),
        ("010", 10),
        ("+3", 3),
        ("50_000", 50_000),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("yes", True),
        ("False", False),
        ("'3'", "3"),
        ('"\\ud83d\\ude00"', "😀"),
        ("1e", "1e"),
        ("-", None),
        ("[1e3, 2]", [1e3, 2]),
    ],
)
def test_a_number_is_read_as_the_number_that_it_is(tmp_path, text, value) -> None:
    if text == "-":  # of a list
        text, value = "\n  - 1", [1]
    found = read_mapping(written(tmp_path, f"a: {text}"))["a"]
    assert (found, type(found)) == (value, type(value))


def test_aliases_and_merged_keys_stay_what_they_are_in_yaml(tmp_path) -> None:
    text = "a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, x: 3}"
    found = read_mapping(written(tmp_path, text))
    assert found == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 3, "y": 2}}


def test_a_rate_in_yaml_1_2_reaches_the_configuration(tmp_path) -> None:
    text = "name: x\ncommunication: {link_bytes_per_s: 1.0e9}"
    assert read_config(written(tmp_path, text)).section("communication").link_bytes_per_s == 1e9


def test_a_value_of_the_command_line_is_read_as_in_a_file() -> None:
    assert read_argument("launches=3") == {"launches": 3}
    assert read_argument("scaling={workers: [1, 2]}") == {"scaling": {"workers": [1, 2]}}
    assert read_argument("sweep=null") == read_argument("sweep=") == {"sweep": None}
    with pytest.raises(ConfigError, match=r"--config 'a=\[': line 1"):
        read_argument("a=[")


@pytest.mark.parametrize("key", ["own.file", "data.root"])
def test_a_home_that_nobody_has_is_refused_by_its_key(tmp_path, key) -> None:
    section, field = key.split(".")
    message = refusal(written(tmp_path, f"name: x\n{section}: {{{field}: ~nobody-here/a.py}}"))
    assert message.startswith(f'config: {key} = "~nobody-here/a.py": ')
    assert message.endswith("there is no home of nobody-here; write the whole path")
