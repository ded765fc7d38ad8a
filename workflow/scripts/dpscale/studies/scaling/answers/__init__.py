"""Q2: speed-up; Q3: computation, communication and bandwidth."""

from dpscale.studies.scaling.answers import bandwidth, computation, speedup

QUESTIONS = [speedup.QUESTION, computation.QUESTION, bandwidth.QUESTION]
