"""Small results folders for the comparison: two arms of a few cells in several launches."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from builders import empty_lab, one_worker_epoch_s, run_row, step_rows, table, training_rows

Rows = list[dict[str, Any]]
CELLS = [(workers, batch) for workers in (1, 2, 4) for batch in (32, 128)]
ARMS = ("with_loading", "without_loading")


def timed(
    *,
    seed: int = 0,
    launches: int = 5,
    noise: float = 0.02,
    slower: Mapping[str, float] | None = None,
    **of_every_run: Any,
) -> dict[str, Rows]:
    """Return rows of `runs` and `steps`: each launch of a cell scatters by the noise, each arm by
    itself. slower: factors by arm."""
    rng = np.random.default_rng(seed)
    rows: dict[str, Rows] = {"runs": [], "steps": []}
    for workers, batch in CELLS:
        for launch in range(1, launches + 1):
            name = f"scaling-n{workers}-b{batch}" + (f"-launch{launch}" if launch > 1 else "")
            run = run_row(name, workers=workers, per_worker_batch=batch, **of_every_run)
            rows["runs"].append(run)
            for arm in ARMS:
                seconds = one_worker_epoch_s(batch) * np.exp(noise * rng.standard_normal())
                times = [seconds * (slower or {}).get(arm, 1.0)] * 2
                rows["steps"] += step_rows(run, epoch_s=times, arm=arm, steps=1)
    return rows


def trained(accuracies: list[float], name: str = "large_batch-small") -> dict[str, Rows]:
    """Return rows of a training whose seeds end with these accuracies, after a worse epoch."""
    run = run_row(
        name, kind="training", study="large_batch", arm="small", epochs=2, seeds=len(accuracies)
    )
    epochs = [
        {"run": name, "seed": seed, "epoch": epoch, "test_accuracy_frac": accuracy, "steps_s": 4.0}
        for seed, end in enumerate(accuracies)
        for epoch, accuracy in ((1, 0.1), (2, end))
    ]
    return {"runs": [run], **training_rows(epochs)}


def results(
    folder: Path, *parts: Mapping[str, Rows], spec: Mapping[str, Any] | None = None
) -> Path:
    """Write the rows as a results folder and return it.

    spec: fields of every run's spec beside those of its row; without it there are no specs.
    """
    rows: dict[str, Rows] = {}
    for part in parts:
        for name, own in part.items():
            rows.setdefault(name, []).extend(own)
    (folder / "tables").mkdir(parents=True)
    for name, frame in (
        empty_lab() | {name: table(name, own) for name, own in rows.items()}
    ).items():
        frame.to_parquet(folder / "tables" / f"{name}.parquet")
    for run in rows["runs"] if spec is not None else []:
        place = folder / "runs" / run["run"]
        place.mkdir(parents=True)
        own = {key: run[key] for key in ("run", "kind", "study", "arm", "workers", "nodes")}
        (place / "spec.json").write_text(json.dumps({**own, **(spec or {})}))
    return folder
