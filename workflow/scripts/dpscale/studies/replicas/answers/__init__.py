"""Q5 and Q7: the wrappers and their sampler, and what only gradients leave out."""

from dpscale.reporting.question import Question
from dpscale.reporting.references import IOFFE, LI, PASZKE
from dpscale.studies.replicas.answers import orders, replicas
from dpscale.vocabulary import words

QUESTIONS = [
    Question(
        "Q5",
        orders.facts,
        formula=[r"\text{order of epoch } e = \text{permutation}(\text{seed} + e)"],
        references=[LI, PASZKE],
        vocabulary=words("verdict of_test")
        | words("arm", orders.ARMS)
        | words("repeats", orders.Repeats),
    ),
    Question(
        "Q7",
        replicas.facts,
        formula=[
            r"\text{drift of worker } r = \frac{\lVert s_r - s_0 \rVert}{\lVert s_0 \rVert}, "
            r"\qquad s = \text{running statistics}"
        ],
        references=[IOFFE, LI],
        vocabulary=words("verdict drifts")
        | words("arm", replicas.ARMS)
        | words("evaluation", replicas.Evaluation)
        | words("identical", (True, False)),
    ),
]
