"""Text from files for a terminal: what it says, and nothing that the terminal would obey."""

MOST_CHARACTERS = 300


def clean(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text as one line of at most `most` printable characters.

    Control characters, escapes and invisible ones become spaces.
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * most])
    line = " ".join(shown.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def nodes_text(nodes: tuple[str, ...], host: str) -> str:
    """Return where an attempt runs: up to three nodes by name, of more the first and the count."""
    if len(nodes) > 3:
        return clean(f"{nodes[0]} and {len(nodes) - 1} more")
    return clean(", ".join(nodes) or host)
