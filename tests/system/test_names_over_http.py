"""Document names that could leave their folder are refused, over HTTP and before anything is touched."""

import http.client
from collections.abc import Iterator

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble
from devkit.system import System
from tests.system.conftest import MakeClient
from tests.system.steps import (
    answered,
    ask,
    conversation_with,
    leaves_files_alone,
    new_id,
)

MADE_HARMLESS = {
    "%2e%2e.txt": "_2e_2e.txt",
    "a\u202etxt.exe.txt": "atxt.exe.txt",
    "a\u2066.txt": "a.txt",
    "a\u200b.txt": "a.txt",
    "\ufeffa.txt": "a.txt",
    "C:\\folder\\report.txt": "report.txt",
}
UNSAFE_PARTS = {
    "dot": ".",
    "dots": "..",
    "encoded dots": "%2e%2e.txt",
    "nothing but encoded dots": "%2e%2e",
    "encoded slash": "..%2Fsecret.txt",
    "twice encoded": "%252e%252e%252fsecret.txt",
    "backslash": "..\\secret.txt",
    "drive": "C:\\folder\\report.txt",
    "NUL": "a\x00.txt",
    "newline": "a\n.txt",
    "escape": "a\x1b.txt",
    "C1 control": "a\x85.txt",
    "bidi override": "a\u202etxt.exe.txt",
    "bidi isolate": "a\u2066.txt",
    "zero width space": "a\u200b.txt",
    "byte order mark": "\ufeffa.txt",
    "private use": "a\ue000.txt",
    "leading space": " a.txt",
    "no-break space at the end": "a.txt\u00a0",
    "only a space": " ",
    "empty": "",
    "256 bytes": "a" * 252 + ".txt",
    "128 wide characters": "é" * 128,
}
UNSAFE_PATHS = {
    "up and out": "../secret.txt",
    "up inside": "a/../secret.txt",
    "absolute": "/etc/passwd",
    "two parts": "a/secret.txt",
    "empty part": "a//b/secret.txt",
    "trailing slash": "a.txt/",
    "dots in an owner": "acme/ann/../secret.txt",
    "over long": "/".join(["a" * 300] * 4),
}
REFUSED_IN_UPLOADS = [
    name for name in (*UNSAFE_PARTS.values(), *UNSAFE_PATHS.values()) if name not in MADE_HARMLESS
]
unsafe_names = pytest.mark.parametrize(
    "name", [*UNSAFE_PARTS.values(), *UNSAFE_PATHS.values()], ids=[*UNSAFE_PARTS, *UNSAFE_PATHS]
)


@pytest.fixture(scope="module")
def bob(orc: System) -> Iterator[httpx.Client]:
    """A client of a user that all tests of this module share."""
    with orc.client(f"org-{new_id()}", "bob") as client:
        yield client


@pytest.fixture(scope="module")
def bobs_conversation(bob: httpx.Client) -> str:
    """A conversation with a document."""
    return conversation_with(bob, "good.txt")


@unsafe_names
def test_an_unsafe_blob_name_is_refused_before_anything_is_touched(
    name: str, bob: httpx.Client, bobs_conversation: str, orc: System, double: OpenAIDouble
) -> None:
    def ask_for_it() -> None:
        for given in (name, {"blob_name": name}):
            refuse(ask(bob, bobs_conversation, blob_names=["good.txt", given]), "blob_names")

    assert leaves_files_alone(ask_for_it, orc.data_dir)
    assert double.requests == []


@pytest.mark.parametrize("name", REFUSED_IN_UPLOADS)
def test_an_unsafe_name_of_an_upload_is_refused_before_anything_is_touched(
    name: str, orc: System, ann: httpx.Client
) -> None:
    conversation_id = new_id()
    assert leaves_files_alone(
        lambda: refuse(upload_raw(ann, conversation_id, name), name or "file"), orc.data_dir
    )
    assert ann.get(f"/conversations/{conversation_id}").status_code == 404


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("a.txt", "a.txt", "a.txt"),
        ("100%.txt", "100_.txt", "100_.txt"),
    ],
    ids=["same", "same once repaired"],
)
def test_a_second_file_of_one_name_in_one_upload_is_refused_with_its_reason(
    first: str, second: str, kept: str, ann: httpx.Client
) -> None:
    conversation_id = new_id()
    response = upload_raw(ann, conversation_id, first, second)
    assert response.status_code == 201, response.text
    assert [each["blob_name"] for each in response.json()["documents"]] == [kept]
    [error] = response.json()["errors"]
    assert (error["field"], error["code"]) == (second, "duplicate_name")
    assert kept in error["reason"]
    stored = ann.get(f"/conversations/{conversation_id}/documents").json()["documents"]
    assert [each["blob_name"] for each in stored] == [kept]


@pytest.mark.parametrize(("name", "kept"), MADE_HARMLESS.items())
def test_an_uploaded_name_that_can_be_made_harmless_is_kept_as_what_the_response_says(
    name: str, kept: str, ann: httpx.Client, double: OpenAIDouble
) -> None:
    conversation_id = new_id()
    response = upload_raw(ann, conversation_id, name)
    assert [each["blob_name"] for each in response.json()["documents"]] == [kept]
    answered(ask(ann, conversation_id, kept))


def test_names_that_only_look_unsafe_are_taken(ann: httpx.Client) -> None:
    names = [
        "..a.txt",
        "a...txt",
        "caf\u00e9.txt",
        "報告.txt",
        "a b (1) [x] 'y'.txt",
        "a;b=c,d.txt",
        "~a.txt",
    ]
    conversation_id = new_id()
    for name in names:
        response = upload_raw(ann, conversation_id, name)
        assert response.status_code == 201, response.text
        assert [each["blob_name"] for each in response.json()["documents"]] == [name]
        assert answered(ask(ann, conversation_id, name))["uploaded_file_refs"][0]["blob_name"] == name


@pytest.mark.parametrize(
    "odd",
    [
        "..",
        "%2e%2e",
        "..%2F..%2Forc.db",
        "%5c..%5c",
        "%00",
        "%0a",
        "%ff%fe",
        "%C3%A9",
        "x" * 2000,
        "*",
        "'--",
    ],
)
def test_odd_document_and_turn_ids_in_a_path_are_not_found(
    odd: str, orc: System, bob: httpx.Client, bobs_conversation: str
) -> None:
    base = f"/api/conversations/{bobs_conversation}"

    def name_them() -> None:
        for method, path in (("DELETE", f"{base}/documents/{odd}"), ("GET", f"{base}/turns/{odd}/events")):
            assert raw_status(orc, bob, method, path) == 404

    assert leaves_files_alone(name_them, orc.data_dir)


@pytest.mark.parametrize("odd", ["..", "%2e%2e", "acme", "%00", "x" * 2000])
def test_odd_conversation_ids_in_a_path_name_nothing(odd: str, orc: System, ann: httpx.Client) -> None:
    def name_it() -> None:
        for path in ("", "/documents", f"/turns/{new_id()}/events"):
            assert raw_status(orc, ann, "GET", f"/api/conversations/{odd}{path}") in (404, 422)

    assert leaves_files_alone(name_it, orc.data_dir)


def test_a_full_path_of_the_callers_own_names_the_same_document(client_of: MakeClient) -> None:
    organization = f"org-{new_id()}"
    ann = client_of(organization, "ann")
    conversation_id = conversation_with(ann, "a.txt")
    path = f"{organization}/ann/{conversation_id}/a.txt"
    answer = answered(ask(ann, conversation_id, path, "a.txt"))
    assert [each["blob_name"] for each in answer["uploaded_file_refs"]] == ["a.txt"]


def refuse(response: httpx.Response, field: str) -> None:
    assert response.status_code == 400, response.text
    problem = response.json()
    assert problem["code"] == "unsafe_name"
    assert [error["field"] for error in problem["errors"]] == [field]


def upload_raw(client: httpx.Client, conversation_id: str, *names: str) -> httpx.Response:
    """Upload files under names that an HTTP library would not send as they are."""
    parts = b"".join(
        b'--frontier\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.replace("\\", "\\\\").encode()
        + b'"\r\nContent-Type: text/plain\r\n\r\nMy own text.\r\n'
        for name in names
    )
    headers = {"content-type": "multipart/form-data; boundary=frontier"}
    url = f"/conversations/{conversation_id}/documents"
    return client.post(url, content=parts + b"--frontier--\r\n", headers=headers)


def raw_status(orc: System, client: httpx.Client, method: str, path: str) -> int:
    """The status for a path that goes out as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", orc.api_port, timeout=30)
    try:
        headers = {"x-ms-client-principal": client.headers["x-ms-client-principal"]}
        connection.request(method, path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()
