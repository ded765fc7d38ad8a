"""What was published on steps to a goal against the batch size, and how S1 decides it.

Shallue, Lee, Antognini, Sohl-Dickstein, Frostig and Dahl, Measuring the Effects of Data
Parallelism on Neural Network Training, JMLR 20(112), 2019, arXiv:1811.03600; McCandlish, Kaplan,
Amodei et al., An Empirical Model of Large-Batch Training, 2018, arXiv:1812.06162. The sizes depend
on network, data and goal, and are not compared; the claims are.
"""

from typing import Literal, NamedTuple

Rule = Literal["near", "up to", "above", "apart", "magnitude"]


class Claim(NamedTuple):
    """A published claim: of which column of which table, what it was published to be, and how a
    measured interval decides it.

    rule `near`: within `margin` of `published`; `up to`: so too, but what is wholly below decides
    nothing, since a larger batch than was measured may get there; `above`: above it; `apart`:
    other than it (a ratio, and no nearer than a factor of `margin` if it is to disagree);
    `magnitude`: within a factor of `margin` of it.
    """

    column: str
    table: Literal["fit", "optimizer", "model"]
    published: float
    rule: Rule
    margin: float
    source: str


CLAIMS = {
    "perfect scaling at small batches": Claim(
        "small_slope", "fit", -1.0, "near", 0.2, "Shallue et al. 2019, section 4.1"
    ),
    "maximal data parallelism at large batches": Claim(
        "large_slope", "fit", 0.0, "up to", 0.2, "Shallue et al. 2019, section 4.1"
    ),
    "momentum extends perfect scaling": Claim(
        "b_crit_ratio", "optimizer", 1.0, "above", 1.0, "Shallue et al. 2019, section 4.4"
    ),
    "momentum matches plain SGD at small batches": Claim(
        "small_steps_ratio", "optimizer", 1.0, "magnitude", 1.5, "Shallue et al. 2019, section 4.4"
    ),
    "networks differ in the largest useful batch": Claim(
        "b_crit_ratio", "model", 1.0, "apart", 1.25, "Shallue et al. 2019, section 4.3"
    ),
    "the noise scale predicts the order of magnitude": Claim(
        "noise_over_b_crit", "fit", 1.0, "magnitude", 10.0, "McCandlish et al. 2018, section 3"
    ),
}
