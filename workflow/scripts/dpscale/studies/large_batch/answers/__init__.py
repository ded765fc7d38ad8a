"""The questions that the study answers."""

from dpscale.studies.large_batch.answers import q4_1, q4_2

QUESTIONS = [q4_1.QUESTION, q4_2.QUESTION]
