"""Q3: computation, communication and bandwidth."""

from dpscale.studies.communication.answers import bandwidth, computation

QUESTIONS = [computation.QUESTION, bandwidth.QUESTION]
