"""Which passages of a part bear on a question, with a model and without one."""

from core.grounding.sources import Source
from core.llm.chat_model import Meter
from mcp_server.tools.part_readers import BEST_OF_PART, BestMatches


def sources(*texts: str) -> list[Source]:
    return [
        Source(number=number, document_id="d", blob_name="a.pdf", page=1, start=0, text=text, page_text=text)
        for number, text in enumerate(texts, 7)
    ]


async def relevant(question: str, *texts: str) -> set[int]:
    return await BestMatches().relevant(question, sources(*texts), Meter(0))


async def test_without_a_model_the_passages_that_share_words_are_taken() -> None:
    texts = ("Gulls are loud.", "The quay opens at seven.", "Fees are due in May.")
    assert await relevant("When does the quay open?", *texts) == {8}


async def test_no_more_passages_are_taken_than_a_part_may_give() -> None:
    texts = [f"The quay was mended in {year}." for year in range(1900, 1920)]
    assert len(await relevant("When was the quay mended?", *texts)) == BEST_OF_PART


async def test_a_part_that_shares_no_word_gives_its_beginning() -> None:
    assert await relevant("Who invented the telescope?", "Gulls are loud.", "The quay opens at seven.") == {7}
