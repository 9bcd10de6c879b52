"""The vectors of a document are copied page by page."""

from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.vectors import VECTORS_PER_PAGE, AzureVectorIndex


async def test_a_copy_has_the_vectors_of_every_page_and_none_without_a_direction(search: Search) -> None:
    index, size = AzureVectorIndex(search, "topics"), 2 * VECTORS_PER_PAGE + 1
    vectors = [[1.0, number / size, 0.0] for number in range(size)]
    vectors[VECTORS_PER_PAGE] = [0.0, 0.0, 0.0]
    await index.save("source", vectors)
    assert await index.copy("source", "target")
    found = await index.nearest([1.0, 0.0, 0.0], ["target"], 2 * size)
    assert [each.ordinal for each in found] == [*range(VECTORS_PER_PAGE), *range(VECTORS_PER_PAGE + 1, size)]
