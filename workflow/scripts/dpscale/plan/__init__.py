"""Specs: what one run needs, as a value. `dpscale.studies` plans the runs of a configuration.

A spec holds just the sections that concern its run, so that an edit of the configuration makes
exactly the runs stale whose spec it changes.
"""

from dpscale.plan.check import check_spec, exchange_of, needs_check
from dpscale.plan.spec import Spec

__all__ = ["Spec", "check_spec", "exchange_of", "needs_check"]
