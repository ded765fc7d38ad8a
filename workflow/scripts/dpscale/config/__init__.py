"""The typed configuration: `sections` holds the fields, `checks` what must fit together."""

from dpscale.config.load import ConfigError
from dpscale.config.root import Config

__all__ = ["Config", "ConfigError"]
