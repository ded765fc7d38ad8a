"""Writes config/schema.json, the JSON schema of the configuration, from the typed sections."""

import argparse
import json
from pathlib import Path

from dpscale.studies import config_model

DEFAULT = Path(__file__).resolve().parents[2] / "config/schema.json"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=DEFAULT)
    schema = json.dumps(config_model().model_json_schema(), indent=2, ensure_ascii=False)
    parser.parse_args().output.write_text(schema + "\n", encoding="utf-8")
