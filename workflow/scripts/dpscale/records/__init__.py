"""Raw records of runs, and the tidy tables made of them."""

from dpscale.records.record import MEASURED, Record
from dpscale.records.storage import read_record, write_record, write_steps, write_text

__all__ = ["MEASURED", "Record", "read_record", "write_record", "write_steps", "write_text"]
