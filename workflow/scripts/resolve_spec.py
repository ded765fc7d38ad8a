"""Completes the spec of a run that was planned without a batch, from what was measured.

At the largest batch that fits by the boundary; or, of a run that others advise, by their records.
"""

import argparse
from pathlib import Path
from pkgutil import resolve_name

from dpscale.errors import one_line
from dpscale.plan import Spec, resolve
from dpscale.records.facts import Boundary, DatasetFacts
from dpscale.records.runs import SPEC
from dpscale.records.storage import about, read_model
from dpscale.studies import kinds, measure_of


def advised(spec: Spec, folders: list[Path]) -> Spec:
    """Return the spec as the runs in these folders advise; imports what makes tables of them.

    Raises ValueError for a damaged run: the advice of the others would be another.
    """
    from dpscale.records.tidy import missing, tidy_tables
    from dpscale.studies import derived_of, schemas

    planned = {folder.name: read_model(folder / SPEC, Spec) for folder in folders}
    specs = {run: one.model_dump(mode="json") for run, one in planned.items()}
    configured = (spec.protocol or {}).get("configured")
    tidy = tidy_tables(specs, folders[0].parent, schemas(), configured)
    if len(damaged := missing(tidy["runs"])["message"].dropna()):
        raise ValueError(damaged.iloc[0])
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
    boundary = read_model(given.boundary, Boundary) if given.boundary else None
    resolved = resolve(
        spec, largest_fit_batch=boundary.largest_fit_batch if boundary else None,
        train_samples=read_model(given.dataset, DatasetFacts).train_samples,
    )  # fmt: skip
    print(resolved.model_dump_json())


if __name__ == "__main__":
    main()
