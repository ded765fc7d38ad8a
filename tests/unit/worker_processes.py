"""Workers of a run on this machine, found as a user finds them: by what `ps` shows."""

from pathlib import Path


def workers_of(words: str) -> dict[int, int]:
    """Process by rank of the workers with these words in their command line or their log's name."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            log = str((process / "fd/2").readlink())  # a fork's command line is its parent's
            name, _, rank = (process / "comm").read_text().strip().partition(" ")
        except OSError:  # it has just ended
            continue
        if name == "rank" and words in f"{command} {log}":
            found[int(rank)] = int(process.name)
    return found
