"""Reads a dataset once, splits it, keeps it ready for the runs, and describes it in a JSON file."""

import argparse
import json
import sys
from pathlib import Path

from dpscale.config.sections import DataConfig
from dpscale.errors import one_line
from dpscale.records import write_text
from dpscale.records.storage import about
from dpscale.train.data import DatasetError, load_dataset


@one_line("prepare_dataset.py")
def main() -> None:
    """Read the command line, load the dataset, and write its facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the data section of the configuration, as JSON")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    given = parser.parse_args()
    with about("DATA"):
        data = DataConfig.model_validate_json(given.data)
    try:
        dataset = load_dataset(data)
    except DatasetError as error:
        sys.exit(f"prepare_dataset.py: {error}")
    facts = {
        "dataset": dataset.name,
        "train_samples": len(dataset.train),
        "validation_samples": len(dataset.validation),
        "test_samples": len(dataset.test),
        "classes": dataset.classes,
        "image_shape": dataset.image_shape,
        "mean": dataset.mean,
        "std": dataset.std,
    }
    write_text(given.output, json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
