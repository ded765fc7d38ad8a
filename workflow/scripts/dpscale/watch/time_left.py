"""The time left in Snakemake's own log, told within the call, once it is known."""

import logging

from dpscale.watch.estimate import rest_s
from dpscale.watch.headline import line
from dpscale.watch.observer import Observer


class TimeLeft(logging.Handler):
    """Tells where a call stands after each tenth of its jobs, if the time left is known by then.

    Snakemake logs that a job has ended before it starts the next one, and goes on after this: so
    nothing looks at files while a run is timed.
    """

    def __init__(self, observer: Observer, logger: logging.Logger) -> None:
        super().__init__()
        self._observer, self._logger, self._tenths = observer, logger, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Look around after a record of Snakemake's progress; leave all others alone."""
        if getattr(record, "event", None) != "progress":
            return
        tenths = 10 * record.done // record.total  # type: ignore[attr-defined]
        if tenths == self._tenths:
            return
        self._tenths = tenths
        try:
            overview = self._observer.look()
            if rest_s(overview) is not None:
                self._logger.info(line(overview))
        except Exception:  # no reason to end the call
            self.handleError(record)
