"""Pages gathered so that one call to a model reads several of them."""

from collections.abc import Iterator, Sequence

from core.documents.models import Page

CALL_TOKENS = 6000
"""Of page text in one call: enough to save calls, little enough that every page gets its due."""
CALL_PAGES = 8
_CHARACTERS_PER_TOKEN = 3


def batches(pages: Sequence[Page]) -> Iterator[list[Page]]:
    """The pages that have text, in order, in lists that fit one call; a longer page goes alone."""
    batch: list[Page] = []
    spent = 0
    for page in pages:
        if not page.text.strip():
            continue
        cost = page.tokens or len(page.text) // _CHARACTERS_PER_TOKEN
        if batch and (spent + cost > CALL_TOKENS or len(batch) == CALL_PAGES):
            yield batch
            batch, spent = [], 0
        batch.append(page)
        spent += cost
    if batch:
        yield batch


def halves(batch: Sequence[Page]) -> list[list[Page]]:
    """A batch of two pages or more in two."""
    middle = len(batch) // 2
    return [list(batch[:middle]), list(batch[middle:])]
