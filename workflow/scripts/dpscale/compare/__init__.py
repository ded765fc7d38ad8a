"""Two results side by side: what differs between them, and which of their cells are told apart.

The one place where results of different machines meet; nothing here combines them.
"""

from dpscale.compare.judge import compare
from dpscale.compare.page import html_page, terminal_text
from dpscale.compare.results import read_results

__all__ = ["compare", "html_page", "read_results", "terminal_text"]
