"""Answers to the lab's questions: each module reads the tables and returns one `Answer`."""

from dpscale.reporting.answers.registry import QUESTIONS, answer_all
from dpscale.reporting.answers.summary import chosen, findings

__all__ = ["QUESTIONS", "answer_all", "chosen", "findings"]
