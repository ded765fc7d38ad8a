"""S3: What do several learners on a device gain, averaged synchronously?"""

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers.inputs import Inputs

QUESTION = "What do several learners on a device gain, averaged synchronously?"


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S3."""
    return Answer(id="S3", question=QUESTION, sentence="", missing=["model_averaging: not run yet"])
