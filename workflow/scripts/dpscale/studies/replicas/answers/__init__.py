"""Q5 and Q7: the wrappers and their sampler, and what only gradients leave out."""

from dpscale.reporting.question import Question
from dpscale.reporting.references import IOFFE, LI, PASZKE
from dpscale.studies.replicas.answers import orders, replicas
from dpscale.vocabulary import words

QUESTIONS = [
    Question(
        "Q5",
        orders.facts_q5,
        formula=[r"\text{order of epoch } e = \text{permutation}(\text{seed} + e)"],
        references=[LI, PASZKE],
        vocabulary={
            "verdict": "set_epoch.train_loss_side",
            "of_test": "set_epoch.test_accuracy_side",
        }
        | words("arm", orders.ARMS),
    ),
    Question(
        "Q7",
        replicas.facts_q7,
        formula=[
            r"\text{drift of worker } r = \frac{\lVert s_r - s_0 \rVert}{\lVert s_0 \rVert}, "
            r"\qquad s = \text{running statistics}"
        ],
        references=[IOFFE, LI],
        # A side of two ranges over the seeds, of the arms or of the epochs.
        vocabulary=dict.fromkeys(("drifts", "side"), "replicas.to_broadcast")
        | words("arm", replicas.ARMS)
        | words("identical", (True, False))
        | {"broadcast_side": "communication.broadcast_side"},
    ),
]
