"""Completes the spec of a run at the largest batch that fits, from the measured boundary."""

import argparse
import json
from pathlib import Path

from dpscale.plan import Spec, resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", help="the planned spec, as JSON")
    parser.add_argument("--boundary", type=Path, help="boundary.json of the sweep")
    parser.add_argument("--dataset", type=Path, required=True, help="dataset.json")
    given = parser.parse_args()
    spec = Spec.model_validate_json(given.spec)
    largest = None
    if given.boundary:
        largest = json.loads(given.boundary.read_text(encoding="utf-8"))["largest_fit_batch"]
    samples = json.loads(given.dataset.read_text(encoding="utf-8"))["train_samples"]
    print(resolve(spec, largest_fit_batch=largest, train_samples=samples).model_dump_json())


if __name__ == "__main__":
    main()
