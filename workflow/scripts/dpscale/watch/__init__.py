"""One view over a whole workflow, read from what it leaves in its folders; it writes nothing."""

from dpscale.watch.follow import follow, is_live, open_console, show
from dpscale.watch.observer import Observer
from dpscale.watch.time_left import TimeLeft

__all__ = ["Observer", "TimeLeft", "follow", "is_live", "open_console", "show"]
