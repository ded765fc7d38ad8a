"""What each search shows as a whole: the shape of its curve, and which one an answer leads with."""

from typing import Any, Literal

import pandas as pd

from dpscale.derive.columns import as_table, known
from dpscale.derive.published import Agreement, judge
from dpscale.derive.statistics import Estimate, estimate_of
from dpscale.records.columns import Columns, columns
from dpscale.studies.steps_to_goal import NO_BEND, TOO_FEW
from dpscale.studies.steps_to_goal.config import SearchOptimizer
from dpscale.studies.steps_to_goal.derive.searches import OUTCOMES
from dpscale.studies.steps_to_goal.published import CLAIMS, Found
from dpscale.vocabulary import words

# bend: steps fall and then hardly do; proportional: they fall as 1/B at both ends of the batch
# sizes; flat: at both ends they do not fall; unclear: neither is shown; too few: batch sizes that
# reached the goal; unreached: none did.
Shape = Literal["bend", "proportional", "flat", "unclear", "too few", "unreached"]
STRAIGHT: dict[Shape, float] = {"proportional": -1.0, "flat": 0.0}  # and their slopes
COLUMNS: Columns = (
    columns("model")
    | words("optimizer", SearchOptimizer)
    | columns("status goal_error_frac")
    | words("shape", Shape)
    | columns("lead batches reached_batches")
    | words("small noise", Agreement)
    | words("large", Found)
    | columns("least_lr most_lr border_winners")
    | columns(" ".join(f"{outcome}_trials" for outcome in OUTCOMES))
    | columns("repeats_reached runs")
)


def goal_searches(
    goal_fit: pd.DataFrame, steps_to_goal: pd.DataFrame, published_steps_to_goal: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser): all batch sizes of its search together.

    lead: of the first search with a bend, plain SGD before others, else of the first. small, large
    and noise: what was found of the published claim of that name.
    """
    by_run = dict(list(steps_to_goal.dropna(subset="global_batch").groupby("runs")))
    claims = published_steps_to_goal.set_index(["claim", "runs"])["found"]
    rows = []
    for fit in goal_fit.to_dict("records"):
        own = by_run.get(fit["runs"], steps_to_goal.iloc[:0])
        found = {
            name: known(claims.get((name, fit["runs"]))) for name in ("small", "large", "noise")
        }
        rows.append(fit | _totals(own) | found | {"shape": _shape(fit)})
    first = min(
        rows, key=lambda row: (row["shape"] != "bend", row["optimizer"] != "sgd"), default=None
    )
    return as_table([row | {"lead": row is first} for row in rows], COLUMNS)


def _totals(own: pd.DataFrame) -> dict[str, Any]:
    """The winners' rates and counts of a search over its batch sizes."""
    counted = [*(f"{outcome}_trials" for outcome in OUTCOMES), "repeats_reached"]
    return {
        "goal_error_frac": own["goal_error_frac"].max(),
        "batches": len(own),
        "reached_batches": own["steps_to_goal"].notna().sum(),
        "least_lr": own["lr"].min(),
        "most_lr": own["lr"].max(),
        "border_winners": own["at_border"].fillna(False).sum(),
        **own[counted].sum(),
    }


def _shape(fit: dict[str, Any]) -> Shape | None:
    """How steps go with the batch size; null where the search has no result."""
    if fit["status"] == "complete":
        return "bend"
    if fit["status"] == TOO_FEW:
        return "too few" if fit["fitted_batches"] else "unreached"
    if fit["status"] != NO_BEND:
        return None
    slopes = [estimate_of(fit, f"{end}_slope") for end in ("small", "large")]
    for shape, aim in STRAIGHT.items():
        if all(_near(one, aim) for one in slopes):
            return shape
    return "unclear"


def _near(slope: Estimate, aim: float) -> bool:
    """Whether a slope is shown to be that of a straight curve, within the margin of the claims."""
    if slope.low is None or slope.high is None:
        return False
    margin = CLAIMS["small"].margin or 0.0
    return judge("near", slope.low, slope.high, (aim, aim), margin) == "agrees"
