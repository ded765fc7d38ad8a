"""Writes config/schema.json, the JSON schema of the configuration, and docs/configuration.md's
tables of its fields, both from the typed sections."""

import argparse
import json
from pathlib import Path

from dpscale.config.document import with_fields
from dpscale.studies import config_model

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "config/schema.json")
    parser.add_argument("--document", type=Path, default=ROOT / "docs/configuration.md")
    given, schema = parser.parse_args(), config_model().model_json_schema()
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    given.output.write_text(text + "\n", encoding="utf-8")
    fields = with_fields(given.document.read_text(encoding="utf-8"), schema)
    given.document.write_text(fields, encoding="utf-8")
