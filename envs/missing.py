"""Says what of a file of requirements the environment of this Python lacks; installs nothing.

Ends with 1 where something is missing. Other versions than the pinned ones are named and may work.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def pinned(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and version of each line `name==version`, those of `-r` files first."""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["-r"]:
            yield from pinned(path.parent / words[1])
        elif words and not words[0].startswith("-"):
            name, _, wanted = words[0].partition("==")
            yield name, wanted


def main() -> int:
    """Look, and say what is missing; return the exit status."""
    path = Path(sys.argv[1])
    missing, others = [], []
    for name, wanted in pinned(path):
        try:
            there = version(name)
        except PackageNotFoundError:
            missing.append(f"{name}=={wanted}")
            continue
        if there.partition("+")[0] != wanted:
            others.append(f"{name} {there} ({wanted} is pinned)")
    if others:
        print(f"{sys.prefix} has other versions: {', '.join(others)}", file=sys.stderr)
    if missing:
        print(
            f"{sys.prefix} exists, so nothing is installed there; it lacks {', '.join(missing)}.\n"
            f"To install them: {sys.executable} -m pip install -r {path} -c envs/constraints.txt",
            file=sys.stderr,
        )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
