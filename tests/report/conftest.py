"""A results folder with hand-made answers, and the report made of it."""

import json
from pathlib import Path

import pandas as pd
import pytest
from made_lab import AUDIT, FIGURES, HEAD, SVG, Maker, lab_answers, runs_table

from dpscale.config.sections import ReportConfig
from dpscale.reporting.answer import Answer, dump_answers
from dpscale.reporting.report import BRIEF, Report, read_report
from dpscale.studies import question_ids


@pytest.fixture
def make_report(tmp_path: Path) -> Maker:
    """Return a function that makes a report of answers, runs, a title block and audits."""

    def make(
        *,
        answers: list[Answer] | None = None,
        runs: pd.DataFrame | None = None,
        head: dict | None = None,
        audits: list[dict] | None = None,
    ) -> Report:
        dumped = dump_answers(lab_answers() if answers is None else answers)
        (tmp_path / "answers.json").write_text(json.dumps(dumped), encoding="utf-8")
        (runs_table() if runs is None else runs).to_parquet(tmp_path / "runs.parquet")
        for names in [*FIGURES.values(), BRIEF.values()]:
            for name in names:
                (tmp_path / f"{name}.svg").write_text(SVG.format(name=name), encoding="utf-8")
        tables = [tmp_path / f"audit-{n}.json" for n, _ in enumerate(audits or [AUDIT])]
        for path, content in zip(tables, audits or [AUDIT], strict=True):
            path.write_text(json.dumps(content), encoding="utf-8")
        return read_report(
            answers=tmp_path / "answers.json",
            tables=tmp_path,
            figures=tmp_path,
            head=ReportConfig.model_validate_json(json.dumps(HEAD | (head or {}))),
            audits=[] if audits == [] else tables,
            questions=question_ids(),
        )

    return make
