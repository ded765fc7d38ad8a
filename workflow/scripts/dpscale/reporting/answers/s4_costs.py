"""S4: what the arms communicate, and what that costs on a link."""

from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.s4_rows import arm_row
from dpscale.units import format_value


def saving(inputs: Inputs, compared: list[Row]) -> str:
    """Return how many times fewer rounds post-local SGD made than the large mini-batch."""
    row = compared[0]
    pair = [arm_row(inputs, row, row[side]) for side in ("minuend", "subtrahend")]
    rounds = [one["rounds"] if one else None for one in pair]
    if not all(rounds):
        return "its rounds of communication are not known"
    post, large = (int(count) for count in rounds if count)
    return (
        f"it makes {post:,} rounds of communication instead of {large:,}, {large / post:.2f}× fewer"
    )


def communication(inputs: Inputs) -> str:
    """Return rounds and bytes of each arm against the large mini-batch, in the first regime."""
    rows = [row for row in inputs.rows("local_sgd") if row.get("rounds")]
    if not rows:
        return ""
    first = min(row["label_noise_frac"] for row in rows)
    rows = [row for row in rows if row["label_noise_frac"] == first]
    parts = [
        f"{row['title']} {int(row['rounds']):,} rounds of {row['workers']} learners, "
        f"{format_value(row['sent_bytes'], 'bytes')}"
        for row in rows
    ]
    return (
        f"Rounds as the training counted them, and what a worker sends in them over a ring: "
        f"{'; '.join(parts)}. Small and large mini-batches see the same images: the large one "
        "communicates less because its steps are fewer, local SGD because it averages not in "
        "every step."
    )


def links(inputs: Inputs) -> str:
    """Return what local steps are predicted to save on each link; empty where refused."""
    rows = [row for row in inputs.rows("local_sgd_times") if row.get("speedup_ratio")]
    if not rows:
        return ""
    most = max(row["local_steps"] for row in rows)
    batch = min(row["per_worker_batch"] for row in rows)
    parts = [
        f"on {row['link']} {format_value(row['synchronous_epoch_s'], 's')} with H = 1 and "
        f"{format_value(row['epoch_s'], 's')} with H = {most:g}"
        for row in rows
        if row["local_steps"] == most and row["per_worker_batch"] == batch
    ]
    return (
        f"What that saves in time depends on the link. The ring model of Q3 predicts an epoch of "
        f"{rows[0]['workers']} workers with b = {batch} to take {'; '.join(parts)}. H = 1 hides "
        "part of its transfer behind the backward pass, an average of parameters hides nothing."
    )
