"""S1: How many steps does training take to a goal error, against the batch size?"""

from dpscale.reporting.answer import Answer
from dpscale.reporting.answers.inputs import Inputs

QUESTION = "How many steps does training take to a goal error, against the batch size?"


def answer(inputs: Inputs) -> Answer:
    """Return the answer to S1."""
    return Answer(id="S1", question=QUESTION, sentence="", missing=["steps_to_goal: not run yet"])
