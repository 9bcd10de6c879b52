"""Pictures of pages in prompts, over HTTP: which the provider is sent, and what the answer says of them."""

import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import httpx
import pytest
from PIL import Image

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply
from devkit.doubles.openai_talk import ImagePart
from devkit.in_process import InProcess, Variant, over_model
from devkit.system import principal_headers, upload
from orc_core.grounding.sources import READ_PICTURES
from tests.system.steps import Json, answered, new_id
from tests.unit.orc_core.extraction.samples import pdf

TENANT = "acme"
RED, GREEN, BLUE, GOLD = (200, 30, 30), (30, 160, 30), (40, 60, 200), (220, 180, 40)
SAID = "The total is 4711 crowns."
FERRY = "The ferry leaves the north quay at seven."
BLIND = "o3-mini"
TOKENS = 1500
"""What a picture costs at most of the model that these tests name."""


def scan(*colours: tuple[int, int, int]) -> bytes:
    """A PDF whose pages are pictures of one colour each, without text."""
    pages = [Image.new("RGB", (620, 877), colour) for colour in colours]
    buffer = io.BytesIO()
    pages[0].save(buffer, "PDF", save_all=True, append_images=pages[1:], resolution=75)
    return buffer.getvalue()


def respond(request: ChatRequest) -> Reply | None:
    """An answer from the first picture, if there is one."""
    labelled = re.search(r'<picture [^>]*sources="S(\d+)', request.prompt)
    return Reply(text=f"{SAID} [S{labelled[1]}]") if labelled else None


class Seeing(NamedTuple):
    """What is running, and the provider that it asks."""

    here: InProcess
    double: OpenAIDouble

    def sent(self) -> list[ImagePart]:
        """The pictures of the last request."""
        return ChatRequest(body=_chat_form(self.double)).images


def _chat_form(double: OpenAIDouble) -> Json:
    from devkit.doubles.openai_wires import as_chat

    last = double.requests[-1]
    return as_chat(last.body) if last.path.endswith("/responses") else last.body


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeing]:
    double = OpenAIDouble(respond)
    on = {"page_images": True}
    variants = {
        "on": Variant(on),
        "off": Variant({}),
        "small": Variant({**on, "page_image_tokens": 2 * TOKENS - 1}),
        "responses": Variant({**on, "responses_api": True}),
    }
    chosen = {"model": "openai:gpt-4o", "models": [BLIND], "title_model": "off", "ocr": "off"}
    with over_model(double, tmp_path_factory.mktemp("seeing"), variants, **chosen) as here:
        yield Seeing(here, double)


@pytest.fixture
def client_of(seeing: Seeing) -> Iterator[dict[str, httpx.Client]]:
    """A client of each API, by its variant."""
    seeing.double.requests.clear()
    clients = {name: seeing.here.client(name, TENANT) for name in seeing.here.addresses}
    yield clients
    for client in clients.values():
        client.close()


def colours_of(images: Sequence[ImagePart]) -> list[tuple[int, int, int]]:
    """The colour in the middle of each picture, as the nearest of those that scans have."""
    found = []
    for image in images:
        opened = Image.open(io.BytesIO(image.content))
        assert (opened.format, opened.width) == ("WEBP", 1200)
        assert abs(opened.height - 1697) <= 3
        middle = opened.convert("RGB").getpixel((600, 800))
        assert isinstance(middle, tuple)
        distances = {
            each: sum(abs(a - b) for a, b in zip(each, middle, strict=True))
            for each in (RED, GREEN, BLUE, GOLD)
        }
        nearest = min(distances, key=lambda each: distances[each])
        assert distances[nearest] < 40
        found.append(nearest)
    return found


def with_scan(client: httpx.Client, *colours: tuple[int, int, int], name: str = "bill.pdf") -> str:
    conversation_id = new_id()
    assert upload(client, conversation_id, (name, scan(*colours))).status_code == 201
    return conversation_id


def ask(
    client: httpx.Client, conversation_id: str, question: str = "What is the total?", **body: object
) -> Json:
    asked = {"question": question, "conversation_id": conversation_id, **body}
    return answered(client.post("/orc", json=asked))


@pytest.mark.parametrize("named", [["bill.pdf"], []])
@pytest.mark.parametrize("variant", ["on", "responses"])
def test_a_scan_is_answered_from_its_pictures_and_labelled(
    seeing: Seeing, client_of: dict[str, httpx.Client], named: list[str], variant: str
) -> None:
    client = client_of[variant]
    conversation_id = with_scan(client, RED, GREEN)
    turn = ask(client, conversation_id, blob_names=named)
    images = seeing.sent()
    assert colours_of(images) == [RED, GREEN]
    assert [image.detail for image in images] == ["high", "high"]
    assert [re.sub(r"S\d+", "S", image.label) for image in images] == [
        f'<picture document="bill.pdf" page="{page}" sources="S"/>' for page in (1, 2)
    ]
    assert READ_PICTURES in ChatRequest(body=_chat_form(seeing.double)).prompt
    assert turn["answer"] == f'{SAID} [Page 1 of Document "bill.pdf"]'
    [citation] = turn["citations"]
    assert (citation["verified"], citation["check"], citation["page"]) == (False, "picture", 1)
    checks = turn["metadata"]["critic_summary"]
    assert (checks["grounded"], checks["verified"], checks["picture"]) == (True, 0, 1)
    assert checks["action"] == "accept"
    assert turn["metadata"]["images"] == {"sent": 2, "failed": 0, "tokens": 2 * TOKENS}
    assert turn["metadata"]["context_budget"]["images"] == 2 * TOKENS
    assert (
        f"Pages sent as pictures: 2, of at most {2 * TOKENS} tokens." in turn["metadata"]["retrieval_reason"]
    )


def test_two_budgets_send_different_numbers_of_pictures(
    seeing: Seeing, client_of: dict[str, httpx.Client]
) -> None:
    conversation_id = with_scan(client_of["on"], RED, GREEN, BLUE, GOLD)
    for variant, colours in (("on", [RED, GREEN, BLUE]), ("small", [RED])):
        for named in (["bill.pdf"], []):
            turn = ask(client_of[variant], conversation_id, blob_names=named)
            assert colours_of(seeing.sent()) == colours
            left_out = f"Pages without text that were not sent as pictures: {4 - len(colours)}."
            assert left_out in turn["metadata"]["retrieval_reason"]


def test_nothing_is_sent_unless_it_is_switched_on(seeing: Seeing, client_of: dict[str, httpx.Client]) -> None:
    off, on = client_of["off"], client_of["on"]
    conversation_id = with_scan(off, RED)
    upload(off, conversation_id, ("ferry.txt", FERRY.encode()))
    question = "When does the ferry leave the north quay?"
    ask(off, conversation_id, question)
    usual = seeing.double.requests[-1].body["messages"]
    ask(on, conversation_id, question, feature_flags={"images": False})
    declined = seeing.double.requests[-1].body["messages"]
    assert all(isinstance(message["content"], str) for message in [*usual, *declined])
    assert "picture" not in str(usual)
    assert usual[-1] == declined[-1]
    ask(off, conversation_id, question, feature_flags={"images": True})
    assert colours_of(seeing.sent()) == [RED]


def test_a_model_that_cannot_see_is_sent_none_and_the_result_says_so(
    seeing: Seeing, client_of: dict[str, httpx.Client]
) -> None:
    client = client_of["on"]
    conversation_id = with_scan(client, RED)
    why = f"No pictures of pages were sent: the model {BLIND} does not read pictures."
    turn = ask(client, conversation_id, model=BLIND)
    assert why in turn["metadata"]["retrieval_reason"]
    assert turn["metadata"]["images"]["sent"] == 0
    upload(client, conversation_id, ("ferry.txt", FERRY.encode()))
    turn = ask(client, conversation_id, model=BLIND, blob_names=["bill.pdf", "ferry.txt"])
    assert why in turn["metadata"]["retrieval_reason"]
    only = {"conversation_id": conversation_id, "blob_names": ["bill.pdf"], "model": BLIND}
    refused = client.post("/orc", json={"question": "What is the total?", **only})
    assert refused.json()["code"] == "no_readable_document"
    assert "image_url" not in str([request.body for request in seeing.double.requests])


def test_the_picture_of_a_page_with_text_is_that_of_the_page_found_and_its_text_is_checked(
    seeing: Seeing, client_of: dict[str, httpx.Client]
) -> None:
    client, conversation_id = client_of["on"], new_id()
    upload(client, conversation_id, ("ferry.pdf", pdf("The harbour has a crane.", FERRY)))
    seeing.here.index()
    seeing.double.script.replies.append(Reply(text=f"{FERRY} [S1]"))
    turn = ask(client, conversation_id, "When does the ferry leave the north quay?")
    documents = client.get(f"/conversations/{conversation_id}/documents").json()["documents"]
    address = f"/conversations/{conversation_id}/documents/{documents[0]['document_id']}/pages/2/image"
    shown = client.get(address, params={"width": "1200"}).content
    assert seeing.sent()[0].content == shown
    [citation] = turn["citations"]
    assert (citation["verified"], citation["check"], citation["page"]) == (True, "quoted", 2)
    assert turn["answer"] == f'{FERRY} [Page 2 of Document "ferry.pdf"]'


def test_a_later_turn_sends_its_own_pictures_and_none_of_the_history(
    seeing: Seeing, client_of: dict[str, httpx.Client]
) -> None:
    client = client_of["on"]
    conversation_id = with_scan(client, RED)
    ask(client, conversation_id)
    ask(client, conversation_id, "And the date?", feature_flags={"images": False})
    assert all("image_url" not in str(message) for message in seeing.double.requests[-1].body["messages"])
    upload(client, conversation_id, ("bill.pdf", scan(BLUE)))
    ask(client, conversation_id, "And the sender of bill.pdf?")
    assert colours_of(seeing.sent()) == [BLUE]
    *earlier, last = seeing.double.requests[-1].body["messages"]
    assert all(isinstance(message["content"], str) for message in earlier)
    assert isinstance(last["content"], list)


def test_pages_of_a_deleted_document_are_not_sent(seeing: Seeing, client_of: dict[str, httpx.Client]) -> None:
    client = client_of["on"]
    conversation_id = with_scan(client, RED, name="gone.pdf")
    upload(client, conversation_id, ("kept.pdf", scan(GREEN)))
    ask(client, conversation_id)
    assert sorted(colours_of(seeing.sent())) == sorted([RED, GREEN])
    documents = client.get(f"/conversations/{conversation_id}/documents").json()["documents"]
    gone = next(each["document_id"] for each in documents if each["blob_name"] == "gone.pdf")
    assert client.delete(f"/conversations/{conversation_id}/documents/{gone}").status_code == 204
    ask(client, conversation_id)
    assert colours_of(seeing.sent()) == [GREEN]


def test_pages_of_a_context_are_not_sent_after_its_reader_was_removed(
    seeing: Seeing, client_of: dict[str, httpx.Client]
) -> None:
    headers = principal_headers(TENANT, "root", "orc.admin")
    with httpx.Client(base_url=seeing.here.addresses["on"], headers=headers, timeout=60) as root:
        new = {"type": "workspace", "name": "Bills"}
        context_id = root.post("/contexts", json=new).raise_for_status().json()["context_id"]
        files = [("file", ("bill.pdf", scan(RED)))]
        root.post(f"/contexts/{context_id}/documents", files=files).raise_for_status()
        member = f"/contexts/{context_id}/members/user/ann"
        root.put(member, json={"role": "viewer"}).raise_for_status()
        client, contexts = client_of["on"], [{"type": "workspace", "id": context_id}]
        conversation_id = with_scan(client, GREEN, name="mine.pdf")
        ask(client, conversation_id, contexts=contexts)
        assert sorted(colours_of(seeing.sent())) == sorted([RED, GREEN])
        root.delete(member).raise_for_status()
        refused = {"question": "Total?", "conversation_id": conversation_id, "contexts": contexts}
        assert client.post("/orc", json=refused).json()["code"] == "no_such_context"
        ask(client, conversation_id)
        assert colours_of(seeing.sent()) == [GREEN]
