"""What was published on steps to a goal against the batch size, beside what was measured.

Shallue, Lee, Antognini, Sohl-Dickstein, Frostig and Dahl, Measuring the Effects of Data
Parallelism on Neural Network Training, JMLR 20(112), 2019, arXiv:1811.03600; McCandlish, Kaplan,
Amodei et al., An Empirical Model of Large-Batch Training, 2018, arXiv:1812.06162. The sizes depend
on network, data and goal, and are not compared; the claims are.
"""

from typing import Literal, NamedTuple

import pandas as pd

from dpscale.derive.columns import as_table
from dpscale.derive.contrasts import beside_chance
from dpscale.derive.published import CLAIM_COLUMNS, UNDECIDED, Agreement, Rule, claim_row
from dpscale.derive.statistics import estimate_of
from dpscale.records.columns import Columns, columns
from dpscale.studies.steps_to_goal import NO_BEND, TOO_FEW
from dpscale.studies.steps_to_goal.config import SearchOptimizer
from dpscale.units import status_text
from dpscale.vocabulary import words

KEYS = ("model", "optimizer", "other_model", "other_optimizer")


# The verdict, or `short` for a slope that falls all the way: not near the published one, which may
# be at larger batches than were measured.
Found = Agreement | Literal["short"]


class Claim(NamedTuple):
    """A published claim: of each fit, or of each contrast of a kind; of which column, and what.

    margin_column: of the contrasts, where the configuration gives the margin.
    """

    of: Literal["fit", "optimizer", "model"]
    column: str
    rule: Rule
    published: float
    margin: float | None
    source: str
    margin_column: str | None = None


CLAIMS = {
    "small": Claim("fit", "small_slope", "near", -1.0, 0.2, "Shallue et al. 2019, section 4.1"),
    "large": Claim("fit", "large_slope", "up to", 0.0, 0.2, "Shallue et al. 2019, section 4.1"),
    "extends": Claim(
        "optimizer", "b_crit_ratio", "above", 1.0, None, "Shallue et al. 2019, section 4.4"
    ),
    "matches": Claim(
        "optimizer",
        "small_steps_ratio",
        "magnitude",
        1.0,
        None,
        "Shallue et al. 2019, section 4.4",
        "equivalent_factor",
    ),
    "networks": Claim(
        "model",
        "b_crit_ratio",
        "apart",
        1.0,
        None,
        "Shallue et al. 2019, section 4.3",
        "equivalent_factor",
    ),
    "noise": Claim(
        "fit", "noise_over_b_crit", "magnitude", 1.0, 10.0, "McCandlish et al. 2018, section 3"
    ),
}


COLUMNS: Columns = (
    columns(" ".join(KEYS))
    | CLAIM_COLUMNS
    | words("optimizer other_optimizer", SearchOptimizer)
    | words("claim", CLAIMS)
    | words("rule", {claim.rule for claim in CLAIMS.values()})
    | words("verdict", Agreement)
    | words("found", Found)
    | columns("family chance_decides")
)


def published_steps_to_goal(goal_fit: pd.DataFrame, goal_contrasts: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (claim, search or pair of searches): measured, published, verdict.

    reason: why there is no fit or no run, where that leaves no interval; a slope needs no fit.
    found: the verdict, or `short` for a slope that falls all the way: it is not near the published
    one, and may be at larger batches than were measured.
    """
    fits = goal_fit.assign(contrast="fit").to_dict("records")
    rows = []
    for name, claim in CLAIMS.items():
        for row in [*fits, *goal_contrasts.to_dict("records")]:
            if row["contrast"] != claim.of:
                continue
            measured = estimate_of(row, claim.column)
            without_fit = row["status"] in (NO_BEND, TOO_FEW) and "b_crit" not in claim.column
            unknown = row["status"] != "complete" and None in measured and not without_fit
            found = claim_row(
                name,
                claim.rule,
                published=claim.published,
                margin=row[claim.margin_column] if claim.margin_column else claim.margin,
                source=claim.source,
                measured=measured,
                runs=row["runs"],
                **{key: row[key] for key in KEYS if key in row},
            )
            undecided = claim.rule == "up to" and found["verdict"] == UNDECIDED
            least = claim.published - (claim.margin or 0.0)
            short = undecided and measured.high is not None and measured.high < least
            rows.append(
                found
                | {
                    "reason": status_text(row["status"]) if unknown else None,
                    "found": "short" if short else found["verdict"],
                }
            )
    beside_chance(rows, "measured")
    return as_table(rows, COLUMNS)
