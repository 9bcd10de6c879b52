"""Pages of documents over HTTP: pictures, text and cards, below conversations and contexts."""

import io

import httpx
from PIL import Image

from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers, upload
from tests.system.conftest import MakeClient
from tests.system.steps import Json, new_id, wait_until

TEXT = "The quay opens at seven.\f\nThe quay closes at nine."


def uploaded(client: httpx.Client, conversation_id: str, name: str, content: bytes) -> Json:
    response = upload(client, conversation_id, (name, content))
    assert response.status_code == 201, response.text
    document: Json = response.json()["documents"][0]
    return document


def test_a_picture_is_kept_by_its_version(ann: httpx.Client) -> None:
    conversation_id = new_id()
    document = uploaded(ann, conversation_id, "handbook.pdf", HANDBOOK.read_bytes())
    page = f"/conversations/{conversation_id}/documents/{document['document_id']}/pages/9"
    for width in (160, 1200):
        got = ann.get(f"{page}/image", params={"width": width, "v": document["version"]})
        assert (got.status_code, got.headers["content-type"]) == (200, "image/webp"), got.text
        assert Image.open(io.BytesIO(got.content)).width == width
    assert got.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert got.content == ann.get(f"{page}/image").content
    same = ann.get(f"{page}/image", headers={"if-none-match": got.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["cache-control"] == "private, no-cache"
    read = ann.get(page, params={"boxes": True}).json()
    assert (read["width"], read["height"]) == Image.open(io.BytesIO(got.content)).size
    assert len(read["boxes"]) == len(read["text"].split())
    assert read["version"] == document["version"]

    absent = f"{page.removesuffix('/9')}/900"
    assert [ann.get(absent).status_code, ann.get(f"{absent}/image").status_code] == [404, 404]

    uploaded(ann, conversation_id, "handbook.pdf", HANDBOOK.read_bytes() + b"\n% another version")
    for path, params in ((f"{page}/image", {}), (page, {}), (page.rpartition("/")[0], {"numbers": "9"})):
        refused = ann.get(path, params={**params, "v": document["version"]})
        assert (refused.status_code, refused.json()["code"]) == (409, "other_version")
    # The worker may have the new version read again, after what it had begun with the old one.
    drawn: list[httpx.Response] = []

    def is_drawn() -> bool:
        drawn.append(ann.get(f"{page}/image"))
        return drawn[-1].status_code != 503

    wait_until(is_drawn, "the new version is read")
    other = drawn[-1]
    assert other.status_code == 200, other.text
    assert other.headers["etag"] != got.headers["etag"]
    ann.delete(page.rpartition("/pages")[0])
    assert ann.get(f"{page}/image").status_code == 404


def test_text_has_no_picture_and_cards_are_of_the_pages_that_exist(ann: httpx.Client) -> None:
    conversation_id = new_id()
    document = uploaded(ann, conversation_id, "quay.txt", TEXT.encode())
    pages = f"/conversations/{conversation_id}/documents/{document['document_id']}/pages"
    refused = ann.get(f"{pages}/1/image")
    assert (refused.status_code, refused.json()["code"]) == (415, "no_picture")
    read = ann.get(f"{pages}/2").json()
    assert (read["text"], read["width"], read["boxes"]) == ("The quay closes at nine.", None, None)

    cards = ann.get(pages, params={"numbers": "2,1,7"}).json()["pages"]
    assert [(card["page"], card["has_image"]) for card in cards] == [(1, False), (2, False)]
    assert ann.get(pages).json()["pages"] == cards
    for numbers in ("", "1,,2", "one", "1" + ",1" * 100):
        assert ann.get(pages, params={"numbers": numbers}).status_code == 422


def test_members_of_a_context_see_its_pages_and_others_do_not(client_of: MakeClient) -> None:
    organization = f"org-{new_id()}"
    ann, bob = client_of(organization, "ann"), client_of(organization, "bob")
    admin = principal_headers(organization, "ann", "orc.admin")
    made = ann.post("/contexts", json={"type": "organization", "name": "Port"}, headers=admin)
    context_id = made.json()["context_id"]
    files = [("file", ("handbook.pdf", HANDBOOK.read_bytes()))]
    stored = ann.post(f"/contexts/{context_id}/documents", files=files).json()["documents"][0]
    pages = f"/contexts/{context_id}/documents/{stored['document_id']}/pages"
    for path in (f"{pages}/1/image", f"{pages}/1", f"{pages}?numbers=1"):
        assert ann.get(path).status_code == 200, path
        assert bob.get(path).status_code == 404, path
    attached = ann.get(f"{pages.removesuffix('/pages')}/content", params={"download": True})
    assert attached.headers["content-disposition"].startswith("attachment")
    part = ann.get(f"{pages.removesuffix('/pages')}/content", headers={"range": "bytes=1-3"})
    assert (part.status_code, part.content) == (206, b"PDF")
