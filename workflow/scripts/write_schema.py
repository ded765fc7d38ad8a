"""Writes what the library declares for people: config/schema.json, the JSON schema of the
configuration, its fields in docs/configuration.md, and all columns in docs/tables.md."""

import argparse
import json
from pathlib import Path

from dpscale.config.document import with_fields
from dpscale.derive.document import with_tables
from dpscale.studies import config_model, schemas, tables

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "config/schema.json")
    parser.add_argument("--document", type=Path, default=ROOT / "docs/configuration.md")
    parser.add_argument("--tables", type=Path, default=ROOT / "docs/tables.md")
    given, schema = parser.parse_args(), config_model().model_json_schema()
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    given.output.write_text(text + "\n", encoding="utf-8")
    fields = with_fields(given.document.read_text(encoding="utf-8"), schema)
    given.document.write_text(fields, encoding="utf-8")
    columns = with_tables(given.tables.read_text(encoding="utf-8"), schemas(), tables())
    given.tables.write_text(columns, encoding="utf-8")
