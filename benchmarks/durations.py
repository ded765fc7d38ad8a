"""Notes what the runs of a result took here, for new_config.py where nothing ran yet.

    python benchmarks/durations.py results/laptop

On the machine that measured them. A step of their network is that of Q2's runs of one worker.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import pandas as pd  # noqa: E402
from ratios import machine  # noqa: E402

from dpscale.plan import Spec  # noqa: E402
from dpscale.watch.cost import ELSEWHERE, STEP_SAMPLES, durations, medians  # noqa: E402


def main() -> None:
    """Read the command line, and write ELSEWHERE."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder of a result, complete")
    results = parser.parse_args().results
    done = durations(results)
    facts = {"machine": machine(), "step_s": step_s(results, [spec for spec, _ in done])}
    took = [json.dumps([like, took]) for like, took in medians(done).items()]
    lines = ",\n".join(sorted(took))
    ELSEWHERE.write_text(json.dumps(facts)[:-1] + f', "took": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{ELSEWHERE}: {len(done)} runs of {facts['machine']}")


def step_s(results: Path, specs: Iterable[Spec]) -> float:
    """Median seconds of a step of STEP_SAMPLES samples on one worker."""
    files = [
        results / "runs" / spec.run / "steps.parquet"
        for spec in specs
        if (spec.study, spec.workers, spec.per_worker_batch) == ("scaling", 1, STEP_SAMPLES)
    ]
    steps = pd.concat([pd.read_parquet(path) for path in files])
    return float(steps.loc[steps.arm == "without_loading", "step_s"].median())


if __name__ == "__main__":
    main()
