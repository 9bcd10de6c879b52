"""The pages that a turn reads, each read once: what finds them and what quotes them ask for the same ones."""

from orc.graphs.sources import PageText


class PageTexts:
    """A PageText that keeps what `read` gave; what it could not give is asked for again."""

    def __init__(self, read: PageText) -> None:
        self._read = read
        self._texts: dict[tuple[str, int], str] = {}

    async def __call__(self, document_id: str, number: int) -> str:
        page = (document_id, number)
        if page not in self._texts:
            self._texts[page] = await self._read(document_id, number)
        return self._texts[page]
