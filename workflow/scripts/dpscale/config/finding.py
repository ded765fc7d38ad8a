"""What a check of the configuration finds."""

Finding = tuple[str, str]
"""The dotted key of the setting, and what is wrong with it and what to do, as one clause.

Both make a line, `config: KEY: REASON`, so that the reason names the nearest valid value.
"""
