"""Reads a dataset once, splits it, keeps it ready for the runs, and describes it in a JSON file.

A user's own file is tried on a few samples instead.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dpscale.config.sections import DataConfig
from dpscale.errors import one_line
from dpscale.plan.spec import OwnFile
from dpscale.records import write_text
from dpscale.records.storage import about
from dpscale.train.data import Dataset, DatasetError, Task, load_dataset
from dpscale.train.data.own import OwnTask
from dpscale.train.tries import TRIES


@one_line("prepare_dataset.py")
def main() -> None:
    """Read the command line, load the dataset, and write its facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the data section of the configuration, as JSON")
    parser.add_argument("--own", help="a user's own file with its digest, as JSON")
    parser.add_argument(
        "--try",
        nargs="*",
        default=[],
        choices=list(TRIES),
        dest="tries",
        help="what studies do with networks of the file: shard one, train several as one",
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    given = parser.parse_args()
    with about("DATA"):
        data = DataConfig.model_validate_json(given.data)
    with about("OWN"):
        own = OwnFile.model_validate_json(given.own) if given.own else None
    try:
        task = _tried(own, given.tries) if own else load_dataset(data)
    except DatasetError as error:
        sys.exit(f"prepare_dataset.py: {error}")
    facts: dict[str, Any] = {
        "dataset": task.name,
        "train_samples": len(task.train),
        "validation_samples": len(task.validation),
        "test_samples": len(task.test),
    }
    if isinstance(task, Dataset):
        facts |= {
            "classes": task.classes,
            "image_shape": task.image_shape,
            "mean": task.mean,
            "std": task.std,
        }
    write_text(given.output, json.dumps(facts, indent=1))


def _tried(own: OwnFile, tries: list[str]) -> Task:
    """The file's training, after a look that all can be done with it that will be."""
    task = OwnTask(own).checked()
    for name in tries:
        TRIES[name](task)
    return task


if __name__ == "__main__":
    main()
