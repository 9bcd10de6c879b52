"""The inverted index of a document survives its way between processes."""

import pickle

from orc_core.models import Passage
from orc_core.search.postings import index_passages


def passage(page: int, text: str, heading: str = "") -> Passage:
    return Passage(document_id="d", page=page, start=0, end=len(text), text=text, heading=heading)


def test_a_pickled_index_is_the_same() -> None:
    passages = [
        passage(1, "The annual report of 2023 names 4 piers.", "Piers"),
        passage(2, "A pier that closed on 5 April 2023 has no berths."),
        passage(3, ""),
    ]
    index = index_passages("report.pdf", passages)
    assert pickle.loads(pickle.dumps(index)) == index
    assert dict(index.find(["pier"]))["pier"].headings.tolist() == [0]


def test_a_pickled_index_without_passages_is_the_same() -> None:
    index = index_passages("empty.pdf", [passage(1, "")])
    assert pickle.loads(pickle.dumps(index)) == index


def test_a_pickled_index_has_few_objects() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    index = index_passages("report.pdf", [passage(1, words, words)])
    assert len(pickle.dumps(index)) < len(pickle.dumps(dict(index.postings))) / 2
