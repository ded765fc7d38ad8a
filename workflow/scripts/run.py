"""Does one run from its spec: `python run.py SPEC` or, for N > 1, `torchrun ... run.py SPEC`.

The record and the steps are written beside the spec, whole or not at all.
"""

import argparse
import os
import sys
from pathlib import Path

from torch.distributed.elastic.multiprocessing.errors import record

from dpscale.plan import Spec
from dpscale.train.run import run


@record  # torchrun ends its log with the error of the rank that failed first
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path, help="spec.json of the run")
    parser.add_argument("--output", type=Path, help="folder of the record; default: the spec's")
    arguments = parser.parse_args()
    folder = arguments.output or arguments.spec.parent
    spec = Spec.model_validate_json(arguments.spec.read_text(encoding="utf-8"))
    run(spec, record=folder / "record.json", steps=folder / "steps.parquet")


if __name__ == "__main__":
    try:
        main()
        status = 0
    except Exception as error:
        rank = os.environ.get("RANK", "0")
        print(f"run.py: rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # The backend's threads sometimes abort or hang at exit; everything is written by now.
    os._exit(status)
