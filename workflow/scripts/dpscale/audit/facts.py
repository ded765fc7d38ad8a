"""What a table's numbers rest on: model and dataset, given, in its comments, or the lab's."""

import re
from dataclasses import dataclass

_COUNT = r"(?<![\d.,])(\d{1,3}(?:[ ,.'_\u00a0\u202f]\d{3})+|\d+)(?![\d.])"
_WORDS = r"(?:\s+(?!thousand|million|billion)[A-Za-z][\w-]*){0,3}?"
STATED = {
    "parameters": (
        rf"{_COUNT}{_WORDS}\s+param(?:eter)?s\b",
        rf"\bparam(?:eter)?s\s*[:=]\s*{_COUNT}",
    ),
    "samples": (
        rf"{_COUNT}\s+(?:train(?:ing)?\s+)?(?:images|samples|examples)\b",
        rf"\bsamples\s*[:=]\s*{_COUNT}",
    ),
    "epochs": (rf"{_COUNT}\s+epochs\b", rf"\bepochs\s*[:=]\s*{_COUNT}"),
}
LAB = {"parameters": 11_173_962, "samples": 50_000, "itemsize": 4, "epochs": 1}
FEWEST = {"parameters": 100, "samples": 1000}  # fewer are a batch, or something else
MOST_COMMENTS, MOST_CHARACTERS = 1000, 1000
WORDS = {
    "parameters": "trainable parameters (X)",
    "samples": "training samples (D)",
    "itemsize": "bytes a parameter",
    "epochs": "epochs a run (for steps)",
}


@dataclass(frozen=True)
class Given:
    """What the user says; None: the table's comments, or else the lab, decide."""

    parameters: int | None = None
    samples: int | None = None
    itemsize: int | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class Facts:
    """X parameters of itemsize bytes, D training samples; the steps are those of some epochs."""

    parameters: int
    samples: int
    itemsize: int
    epochs: int


def settled(given: Given, comments: list[str], *, needs_epochs: bool) -> tuple[Facts, list[str]]:
    """Return the facts, and a line for each that says where it comes from.

    needs_epochs: the table counts the steps of a run.
    """
    values, lines = {}, []
    for name, usual in LAB.items():
        stated = _stated(name, comments)
        if (option := getattr(given, name)) is not None:
            values[name], source = option, "as given"
        elif len(stated) == 1:
            values[name], source = stated.pop(), "as a comment of the table says"
        else:
            usually = "assumed" if name == "epochs" else "as in the lab"
            several = "; the comments name several" if stated else ""
            values[name], source = usual, usually + several
        if name != "epochs" or needs_epochs:
            lines.append(f"{values[name]:,} {WORDS[name]}: {source}")
    return Facts(**values), lines


def _stated(name: str, comments: list[str]) -> set[int]:
    text = "\n".join(line[:MOST_CHARACTERS] for line in comments[:MOST_COMMENTS])
    found = [match for pattern in STATED.get(name, ()) for match in re.findall(pattern, text, re.I)]
    counts = {int(re.sub(r"\D", "", count)) for count in found}
    return {count for count in counts if FEWEST.get(name, 1) <= count < 10**15}
