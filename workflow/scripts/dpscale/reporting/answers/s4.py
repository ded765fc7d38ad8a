"""S4: Does local SGD generalise better than large mini-batches?"""

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers.inputs import Inputs

QUESTION = "Does local SGD generalise better than large mini-batches?"


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S4."""
    return Answer(id="S4", question=QUESTION, sentence="", missing=["local_sgd: not run yet"])
