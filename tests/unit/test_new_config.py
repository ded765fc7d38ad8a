"""new_config.py: the file that it writes is valid, and its time is told from what was measured."""

import importlib
import json
import os
import pty
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from dpscale.config.draft import LEVELS, Wishes, draft
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs, read_config
from dpscale.watch.cost import cost, medians

SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/new_config.py"
CTRL_C = "^C"  # as a terminal shows it
Write = Callable[..., str]
LEFT_OUT = ("sweep", "large_batch", "communication", "data_parallel", "scaling")


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> Write:
    """Run the script's main in an empty folder, and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["new_config.py", *arguments])
        importlib.import_module("new_config").main()
        return str(capsys.readouterr().out)

    return run


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "wishes", [Wishes("a"), Wishes("a", device="cuda", devices=1), Wishes("a", devices=8, nodes=2)]
)
def test_each_draft_is_a_valid_configuration(tmp_path, wishes, level) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(draft(wishes, level), encoding="utf-8")
    assert planned_runs(read_config(path))


def test_fewer_minutes_make_a_shorter_file(tmp_path) -> None:
    counts = []
    for level in LEVELS:
        path = tmp_path / f"{level}.yaml"
        path.write_text(draft(Wishes("a"), level), encoding="utf-8")
        counts.append(len(planned_runs(read_config(path))))
    assert counts == sorted(counts, reverse=True)
    assert read_config(tmp_path / "short.yaml").launches == 3


def test_what_was_never_measured_here_has_no_time(write) -> None:
    said = write("my.yaml", "--device", "cuda", "--devices", "2")
    assert "none like them was measured here: the call says how long it takes" in said
    assert "snakemake --configfile my.yaml" in said
    config = read_config(Path("my.yaml"))
    assert (config.name, config.hardware.device, config.hardware.devices) == ("my", "cuda", 2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["mine.yaml"], "mine.yaml: is there already"),
        (["my"], "my: name a file that ends with .yaml or .yml or .json"),
        (["my.yaml", "--own", "no.py"], "argument --own: no.py: there is no such file in "),
        (["my.yaml", "--own", "mine.yaml"], "argument --own: mine.yaml: name a Python file"),
        (["my.yaml", "--device", "gpu"], "argument --device: gpu: give cpu or cuda"),
        (["my.yaml", "--nodes", "0"], "argument --nodes: 0: give a whole number of 1 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(write, tmp_path, capsys, words, line) -> None:
    (tmp_path / "mine.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit):
        write(*words)
    assert line in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == "mine"


def typed(folder: Path, *keys: str) -> tuple[int, str]:
    """Call the script on a terminal, press keys at a question each; its status and the screen."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, str(SCRIPT), "my.yaml"])
    left, screen, asked = list(keys), "", 0
    with suppress(OSError):  # Linux's end of a terminal whose process ended
        while True:
            if screen.endswith(CTRL_C) and not select.select([terminal], [], [], 1)[0]:
                os.write(terminal, b"\x03")  # the first came before the question was read
            if not (seen := os.read(terminal, 4096).decode()):
                break
            screen += seen
            if screen.count("]: ") > asked and left:
                asked += 1
                os.write(terminal, left.pop(0).encode())
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), screen.replace("\r", "")


def test_a_terminal_is_asked_until_each_answer_can_be(tmp_path) -> None:
    answers = ["no.py\n", "\n", "gpu\n", "cuda\n", "two\n", "2\n", "\n", "-5\n", "5\n"]
    status, screen = typed(tmp_path, *answers)
    assert status == 0, screen
    for word in ("no.py: there is no such file", "gpu: give cpu", "two: give a", "-5: give a"):
        assert screen.count(word) == 1
    assert "so that this is the shortest file" in screen
    assert screen.endswith("Next: snakemake --configfile my.yaml\n")
    config = read_config(tmp_path / "my.yaml")
    assert (config.name, config.hardware.device, config.hardware.devices) == ("my", "cuda", 2)


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_a_key_that_ends_the_questions_ends_them_in_a_line(tmp_path, key) -> None:
    status, screen = typed(tmp_path, "\n", key)
    assert status == 1
    assert screen.splitlines()[-1] == "new_config.py: stopped; nothing is written"
    assert "Traceback" not in screen
    assert not list(tmp_path.iterdir())


def planned(**sections: object) -> list[Spec]:
    raw = {"name": "x", **dict.fromkeys(LEFT_OUT), "replicas": None, "ledger": None} | sections
    return list(planned_runs(load_config(raw)).values())


def measured(results: Path, spec: Spec, seconds: int) -> None:
    """Leave a run that took so many seconds."""
    folder, attempts = results / "lab/runs" / spec.run, results / "lab/attempts" / spec.run
    folder.mkdir(parents=True)
    attempts.mkdir(parents=True)
    (folder / "spec.json").write_text(spec.model_dump_json(), encoding="utf-8")
    (folder / "record.json").write_text("{}", encoding="utf-8")
    began, ended = (f"2026-01-01T00:00:{second:02d}+00:00" for second in (0, seconds))
    process = {"host": "h", "process": 1, "born": None}
    attempt = process | {"number": 1, "began_at": began, "ended_at": ended}
    (attempts / "attempt-1.json").write_text(json.dumps(attempt), encoding="utf-8")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Note what runs took on another machine."""

    def note(step_s: float, took: Mapping[str, tuple[Spec, float]]) -> None:
        path = tmp_path / "durations.json"
        facts = {
            "machine": "another",
            "step_s": step_s,
            "took": list(medians(took.values()).items()),
        }
        path.write_text(json.dumps(facts), encoding="utf-8")
        monkeypatch.setattr("dpscale.watch.cost.ELSEWHERE", path)

    return note


def test_a_plan_costs_what_like_runs_took(tmp_path) -> None:
    two, four = planned(ledger={"workers": [2, 4]})
    trainings = planned(replicas={"workers": 2})
    measured(tmp_path, two, 10)
    found = cost([two, four, *trainings], tmp_path, cores=4)
    assert found is not None
    # The other ledger is like the first but for its workers; nothing is like a training.
    assert (found.seconds, found.unknown, found.basis) == (20.0, 3, (("lab", 1),))
    measured(tmp_path, trainings[0], 8)
    found = cost(trainings, tmp_path, cores=4)
    assert found is not None
    assert found.seconds == 3 * 8 * 2 / 4  # two workers each, side by side on four cores


def test_nothing_known_is_no_cost(tmp_path) -> None:
    assert cost(planned(ledger={"workers": [2]}), tmp_path) is None


def test_where_nothing_ran_other_machines_tell_at_the_pace_of_a_step_here(
    tmp_path, elsewhere
) -> None:
    (ledger,) = planned(ledger={"workers": [2]})
    elsewhere(step_s=0.010, took={"ledger": (ledger, 6)})
    found = cost([ledger], tmp_path, step_s=0.030)
    assert found is not None
    assert (found.seconds, found.unknown, found.basis, found.elsewhere) == (18.0, 0, (), 1)
    assert cost([ledger], tmp_path) is None  # the pace here is not known


def test_a_training_takes_as_long_as_the_nearest_by_its_samples(tmp_path, elsewhere) -> None:
    short, long, asked = (
        planned(replicas={"workers": 2, "epochs": epochs, "seeds": [0]})[0]
        for epochs in (2, 10, 20)
    )
    measured(tmp_path, short, 9)
    elsewhere(step_s=0.010, took={"long": (long, 40)})
    found = cost([asked], tmp_path, step_s=0.010, cores=2)
    assert found is not None
    assert (found.seconds, found.elsewhere) == (2 * 40.0, 1)  # not 10 times 9
    found = cost([short], tmp_path, step_s=0.010, cores=2)
    assert found is not None
    assert (found.seconds, found.elsewhere) == (9.0, 0)


def test_every_run_of_the_embedded_default_is_known_from_elsewhere(tmp_path) -> None:
    plan = planned_runs(read_config(SCRIPT.parents[2] / "config/config.yaml"))
    found = cost(plan.values(), tmp_path, step_s=0.01)
    assert found is not None
    assert (found.unknown, found.elsewhere) == (0, len(plan))


def test_another_network_measured_here_tells_nothing(tmp_path) -> None:
    (small,) = planned(ledger={"workers": [2]})
    (large,) = planned(ledger={"workers": [2]}, model={"name": "resnet20"})
    measured(tmp_path, small, 5)
    assert cost([large], tmp_path) is None


def test_a_first_file_has_its_time_before_anything_ran(write) -> None:
    told = write("my.yaml")
    runs, rest = told.removeprefix("my.yaml: ").split(" runs, about ")
    assert rest.split(" on one machine: ")[1].startswith(f"{runs} as like ones took on ")
    assert "at the pace of a step here" in rest
