"""Q5 and Q7: the wrappers and their sampler, and what only gradients leave out."""

from dpscale.reporting.question import Question
from dpscale.reporting.references import IOFFE, LI, PASZKE
from dpscale.studies.replicas.answers import orders, replicas

QUESTIONS = [
    Question(
        "Q5",
        orders.facts,
        formula=[r"\text{order of epoch } e = \text{permutation}(\text{seed} + e)"],
        references=[LI, PASZKE],
    ),
    Question(
        "Q7",
        replicas.facts,
        formula=[
            r"\text{drift of worker } r = \frac{\lVert s_r - s_0 \rVert}{\lVert s_0 \rVert}, "
            r"\qquad s = \text{running statistics}"
        ],
        references=[IOFFE, LI],
    ),
]
