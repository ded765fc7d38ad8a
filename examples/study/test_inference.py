"""S9: a row of the derived table in, a sentence out."""

import pandas as pd
import pytest

from dpscale.derive.columns import as_table
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one
from dpscale.studies.inference.derive import COLUMNS, TABLES


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0.02, "takes longer than"), (0.001, "shows no measurable difference")]
)
def test_the_fastest_batch_is_named_and_the_largest_beside_the_smallest(seconds, verdict):
    ends = {1: 0.001, 64: seconds}
    rows = [
        {"per_worker_batch": batch, "status": "complete", "samples_per_s": batch / forward_s}
        | {"forward_s": forward_s, "forward_s_low": forward_s, "forward_s_high": forward_s}
        | {"repeats": 5, "runs": f"inference-b{batch}"}
        for batch, forward_s in ends.items()
    ]
    table = TABLES["inference"].judged(as_table(rows, COLUMNS))
    runs = pd.DataFrame({"study": ["inference"], "sample": ["image"]})
    tidy = {"runs": runs, "curves": pd.DataFrame({"train_loss": []})}
    answer = answer_one("S9", Inputs({"inference": table}, tidy))
    assert "are answered at b = 64" in answer.sentence
    assert verdict in answer.paragraphs[0]
