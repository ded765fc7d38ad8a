"""S4: how the learning rates were chosen."""

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs
from dpscale.reporting.answers.s4_rows import regime


def choice(inputs: Inputs) -> str:
    """Return how the rates were chosen, and whether any lies at the border of those tried."""
    rows = inputs.rows("local_sgd")
    searched = [row for row in rows if row.get("rates_tried")]
    if not searched:
        return (
            "The rate is scaled linearly with the global batch and was searched for no arm; "
            "post-local SGD takes that of the large mini-batch."
        )
    trials = inputs.tidy_rows("trials", role="tuning")
    seeds = {row["seed"] for row in trials if row.get("rate_factor") is not None}
    counts = sorted({int(row["rates_tried"]) for row in searched})
    took = " to ".join(str(count) for count in counts[:1] + counts[1:][-1:])
    border = [
        f"{row['title']} {regime(row)} ({row['rate_place']} of {row['rates_tried']:g})"
        for row in searched
        if row["rate_place"] != "inside"
    ]
    ends = (
        f"At the border lie those of {', '.join(border)}: a better one may lie beyond."
        if border
        else "None of the chosen ones lies at the border."
    )
    return (
        "The rate is that with the best accuracy on validation data among shares of the linearly "
        f"scaled one, chosen anew for each batch and regime with "
        f"{prose.counted(len(seeds), 'seed')} of its own; the shares go on beyond an end as long "
        f"as the best one lies there, which took "
        f"{took} of them. {ends} Post-local SGD takes the rate of the large mini-batch, from "
        "which it differs in nothing but the averages."
    )
