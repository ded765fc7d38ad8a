"""Words that an answer may need at the end are looked for before anything is measured."""

from checkouts import copied, snakemake


def test_a_verdict_without_words_is_refused_before_anything_is_measured(tmp_path) -> None:
    folder = copied(tmp_path)
    path = folder / "report/E2.j2"
    text = path.read_text(encoding="utf-8")
    assert '"below": "sooner", ' in text
    path.write_text(text.replace('"below": "sooner", ', ""), encoding="utf-8")
    ended = snakemake(folder)
    assert ended.returncode != 0
    assert "TOLD has no words for to_fastest = 'below'" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(folder.glob("results/*/*"))
