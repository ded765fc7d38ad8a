"""Derived tables: pure functions from tidy tables to tables of results, no I/O and no torch."""
