"""A reproducible laboratory for data-parallel training."""

__version__ = "0.1.0"  # also in CITATION.cff, CHANGELOG.md and pyproject.toml, as a test says
