"""The report of thousands of pages: always the same, and each page has its fact."""

from pathlib import Path

from devkit.long_report import fact, long_report
from orc_core.extraction import pdf


def test_the_report_is_the_same_each_time() -> None:
    assert long_report(3) == long_report(3)


def test_each_page_has_its_fact_and_its_words(tmp_path: Path) -> None:
    source = tmp_path / "report.pdf"
    source.write_bytes(long_report(3, words=200))
    texts = [unit.text for unit in pdf.read(source).units]
    assert [fact(number) in text for number, text in enumerate(texts, 1)] == [True, True, True]
    assert all(190 <= len(text.split()) <= 210 for text in texts)
