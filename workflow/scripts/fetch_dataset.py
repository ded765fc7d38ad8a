"""Downloads and verifies a dataset, then writes its marker file.

python workflow/scripts/fetch_dataset.py --dataset cifar10 --root data
"""

import argparse
import sys
from pathlib import Path

from dpscale.train.data import DatasetError, fetch_dataset


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when the dataset is there and verified, 1 with a line on stderr when not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, help="cifar10, cifar100, mnist ...")
    parser.add_argument("--root", type=Path, default=Path("data"), help="folder of the datasets")
    parser.add_argument("--marker", type=Path, help="default: ROOT/DATASET.json")
    options = parser.parse_args(arguments)
    marker = options.marker or options.root / f"{options.dataset}.json"
    try:
        fetch_dataset(options.dataset, options.root, marker)
    except DatasetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
