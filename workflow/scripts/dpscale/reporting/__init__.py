"""Answers, and the report made of them."""
