"""Answers to the lab's questions: each module reads the tables and returns one `Answer`."""

from dpscale.reporting.answers.registry import QUESTIONS, answer_all, answer_one
from dpscale.reporting.answers.summary import chosen, findings

__all__ = ["QUESTIONS", "answer_all", "answer_one", "chosen", "findings"]
