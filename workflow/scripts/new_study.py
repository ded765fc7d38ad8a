"""Makes a study of your own: folder, template, test and its place in the report.

What it makes works as it is, null by default in every configuration: a run times forward passes.
Change what it asks; docs/adding-a-study.md says what each file is.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from dpscale.config import ConfigError
from dpscale.studies.new import add_study, test_of

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Read the command line, and write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="of the study: a folder, and a section of configurations")
    parser.add_argument(
        "question", help="its id: Q, H, S or E, the part of the report, and a number"
    )
    given = parser.parse_args()
    try:
        made = add_study(ROOT, given.name, given.question)
    except ConfigError as error:
        sys.exit(f"new_study.py: {error}")
    subprocess.run([sys.executable, Path(__file__).with_name("write_schema.py")], check=True)
    print("\n".join(os.path.relpath(path) for path in made))
    print(
        f"It is asked by a configuration with `{given.name}: {{}}`; its test: "
        f"pytest {test_of(given.question)}"
    )


if __name__ == "__main__":
    main()
