"""Reads a dataset once, splits it, keeps it ready for the runs, and describes it in a JSON file.

A user's own file is tried on two samples instead: by the rule, and with --look before the plan.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dpscale.config.sections import DataConfig
from dpscale.errors import one_line
from dpscale.launch.own import keep
from dpscale.plan.spec import OwnFile
from dpscale.records import write_text
from dpscale.records.storage import about
from dpscale.train.data import Dataset, DatasetError, load_dataset
from dpscale.train.tries import look


@one_line("prepare_dataset.py")
def main() -> None:
    """Read the command line, load the dataset, and write its facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the data section of the configuration, as JSON")
    parser.add_argument("--own", help="a user's own file with its digest, as JSON")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--output", type=Path, help="JSON file to write")
    wanted.add_argument("--look", action="store_true", help="print what is found in OWN, as JSON")
    given = parser.parse_args()
    with about("DATA"):
        data = DataConfig.model_validate_json(given.data)
    with about("OWN"):
        own = OwnFile.model_validate_json(given.own) if given.own else None
    try:
        facts = _described(data, own, given.look)
    except DatasetError as error:
        sys.exit(f"prepare_dataset.py: {error}")
    if given.look:
        print(json.dumps(facts))
    else:
        write_text(given.output, json.dumps(facts, indent=1))


def _described(data: DataConfig, own: OwnFile | None, look_alone: bool) -> dict[str, Any]:
    """The facts of a dataset; raises DatasetError where there are others than were planned with."""
    if own is None:
        return _of_images(load_dataset(data))
    found = look(own)
    if look_alone:
        return found.model_dump()
    keep(own, found)
    if data.samples not in (None, found.train_samples):
        raise DatasetError(
            f"{Path(own.file).name}: dataset: 'train' has {found.train_samples:,} samples, and had "
            f"{data.samples:,} when the runs were planned; start again"
        )
    return {"dataset": Path(own.file).name} | found.model_dump(exclude={"refused"})


def _of_images(dataset: Dataset) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "train_samples": len(dataset.train),
        "validation_samples": len(dataset.validation),
        "test_samples": len(dataset.test),
        "classes": dataset.classes,
        "image_shape": dataset.image_shape,
        "mean": dataset.mean,
        "std": dataset.std,
    }


if __name__ == "__main__":
    main()
