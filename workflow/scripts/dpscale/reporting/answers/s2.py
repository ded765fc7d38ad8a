"""S2: Which learning rate and which warm-up does a large batch need?"""

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers.inputs import Inputs

QUESTION = "Which learning rate and which warm-up does a large batch need?"


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S2."""
    return Answer(id="S2", question=QUESTION, sentence="", missing=["lr_scaling: not run yet"])
