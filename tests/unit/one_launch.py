"""Checkouts whose workflow launches each timed run once: what three add is an interval."""

from pathlib import Path

BOUND = "launches: Launches"


def allow_one_launch(folder: Path) -> None:
    """Let the configurations of a checkout ask for one launch, which the lab's own may not."""
    model = folder / "workflow/scripts/dpscale/config/root.py"
    text = model.read_text(encoding="utf-8")
    assert BOUND in text
    model.write_text(text.replace(BOUND, "launches: int"), encoding="utf-8")
