"""Completes the spec of a run that was planned without a batch, from what was measured.

At the largest batch that fits by the boundary; or, of a run that others advise, by their records.
"""

import argparse
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from dpscale.errors import one_line
from dpscale.plan import Spec, resolve
from dpscale.records.storage import about, read_json
from dpscale.studies import kinds, measure_of


def count(path: Path, key: str, *, may_be_null: bool = False) -> Any:
    """Return a whole number from a JSON file."""
    value = read_json(path, key)
    if type(value) is int or (value is None and may_be_null):
        return value
    raise ValueError(f"{path}: {key} is {value!r} and no whole number; make the file again")


def advised(spec: Spec, folders: list[Path]) -> Spec:
    """Return the spec as the runs in these folders advise; imports what makes tables of them."""
    from dpscale.records.tidy import tidy_tables
    from dpscale.studies import derived_of, schemas

    specs = {folder.name: read_json(folder / "spec.json") for folder in folders}
    configured = (spec.protocol or {}).get("configured")
    tidy = tidy_tables(specs, folders[0].parent, schemas(), configured)
    return resolve_name(kinds()[spec.kind].advice or "")(spec, derived_of(tidy))


@one_line("resolve_spec.py")
def main() -> None:
    """Read the command line, and print the resolved spec."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", help="the planned spec, as JSON")
    parser.add_argument("--boundary", type=Path, help="boundary.json of the sweep")
    parser.add_argument("--dataset", type=Path, required=True, help="dataset.json")
    parser.add_argument(
        "--advised-by", type=Path, nargs="+", help="folders of the runs that decide its batch"
    )
    given = parser.parse_args()
    with about("SPEC"):
        spec = Spec.model_validate_json(given.spec)
        measure_of(spec)
    if given.advised_by:
        print(advised(spec, given.advised_by).model_dump_json())
        return
    largest = None
    if given.boundary:
        largest = count(given.boundary, "largest_fit_batch", may_be_null=True)
    samples = count(given.dataset, "train_samples")
    print(resolve(spec, largest_fit_batch=largest, train_samples=samples).model_dump_json())


if __name__ == "__main__":
    main()
