"""A study of one's own, made from the one in examples/study, which works as it is."""

import keyword
import re
from pathlib import Path

from dpscale.config import ConfigError
from dpscale.records.columns import FILE
from dpscale.reporting.parts import PARTS
from dpscale.studies import ORDER, config_model, question_ids, studies

EXAMPLE, ID = "inference", "S9"


def add_study(root: Path, name: str, question: str) -> list[Path]:
    """Copy the example under another name and id into a checkout, and list it; returns the files.

    Its section is null by default, so that no configuration plans it that does not ask.
    Raises ConfigError where a name or an id is taken, or none.
    """
    letters = "".join(part.letter for part in PARTS if part.letter != "T")
    taken = name in ORDER or name in config_model().model_fields
    if taken or not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        reason = "taken" if taken else "no name"
        raise ConfigError(f"study: {name!r} is {reason}; give lower-case letters, digits and _")
    if not re.fullmatch(rf"[{letters}]\d+", question) or question in question_ids():
        raise ConfigError(
            f"question: {question!r} is {'taken' if question in question_ids() else 'no id'}; give "
            f"one of {', '.join(letters)}, the part of the report, and a number"
        )
    folder = root / "workflow/scripts/dpscale/studies" / name
    elsewhere = {
        f"{ID}.j2": root / "report" / f"{question}.j2",
        f"test_{ID.lower()}.py": root / test_of(question),
    }
    sources = sorted((root / "examples/study").glob("*.*"))
    targets = [elsewhere.get(source.name, folder / source.name) for source in sources]
    if there := next((path for path in targets if path.exists()), None):
        raise ConfigError(f"{there.relative_to(root)}: is there already; move it away")
    for source, target in zip(sources, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_renamed(source.read_text("utf-8"), name, question), "utf-8")
    return [*targets, _listed(root, name, question), _declared(root, name)]


def test_of(question: str) -> Path:
    """Return where the cases of a question stand, by the root of a checkout."""
    return Path("tests/answers", f"test_{question.lower()}.py")


def _renamed(text: str, name: str, question: str) -> str:
    camel = "".join(word.capitalize() for word in name.split("_"))
    pairs = {EXAMPLE: name, EXAMPLE.capitalize(): camel, ID: question, ID.lower(): question.lower()}
    return re.sub("|".join(pairs), lambda found: pairs[found[0]], text)


def _listed(root: Path, name: str, question: str) -> Path:
    """Write the study into ORDER, behind those of the same part of the report."""
    letters = [part.letter for part in PARTS]
    earlier = letters[: letters.index(question[0]) + 1]
    before = [one.name for one in studies() if {id[0] for id in one.questions} & {*earlier}]
    order = root / "workflow/scripts/dpscale/studies/__init__.py"
    line = f'    "{before[-1] if before else ORDER[-1]}",\n'
    order.write_text(order.read_text("utf-8").replace(line, f'{line}    "{name}",\n', 1), "utf-8")
    return order


def _declared(root: Path, name: str) -> Path:
    """Write what a row of the study's tidy table is where all tables and columns are declared."""
    declared = root / FILE.relative_to(FILE.parents[4])
    head, line = "[tables]\n", f'{name}_passes = "A forward pass of a run."\n'
    declared.write_text(declared.read_text("utf-8").replace(head, head + line, 1), "utf-8")
    return declared
