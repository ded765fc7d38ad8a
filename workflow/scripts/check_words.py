"""Ends with a line for each table of words in the questions' templates that lacks some value.

Such as a verdict without words: the answer that meets it would fail, after hours of measuring.
"""

import argparse
import sys

from dpscale.errors import one_line
from dpscale.reporting.coverage import problems
from dpscale.studies import closing_id, question_ids, vocabulary


@one_line("check_words.py")
def main() -> None:
    """Read the command line, and look."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    if lines := problems(
        {f"{name}.j2": vocabulary(name) for name in (*question_ids(), closing_id())}
    ):
        sys.exit(
            "\n".join(["check_words.py: a template has no words for all that it meets", *lines])
        )


if __name__ == "__main__":
    main()
