"""S9: the rates, and whether the largest batch takes longer than the smallest."""

from dpscale.reporting.answer import nothing
from dpscale.reporting.inputs import Inputs, lacking
from dpscale.reporting.question import Facts, Question


def facts_s9(inputs: Inputs) -> Facts:
    """Return the rows of the table, the fastest of them, and the verdict on the last."""
    rows = inputs.rows("inference")
    missing = lacking(rows, {"per_worker_batch": "b"}, "inference")
    missing += [] if rows else ["inference: not run yet"]
    values = {f"forward_s_b{row['per_worker_batch']}": row.forward_s for row in rows}
    said = {"rows": rows}
    if not missing:
        fastest = max(rows, key=lambda row: row["samples_per_s"])
        said |= {"fastest": fastest, "verdict": rows[-1]["verdict"]}
    return Facts(missing, values or {"forward_s": nothing("s")}, said)


QUESTIONS = [Question("S9", facts_s9, formula=[r"\text{rate} = \frac{b}{t}"])]
