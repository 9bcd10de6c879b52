"""The HTTP API has the same interface as in `openapi.json`, except for prose.

`python -m scripts.api_snapshot` writes the snapshot. An interface that changes on purpose needs a line in
CHANGELOG.md and a new snapshot in the same commit.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scripts.api_snapshot import current_document, differences, snapshot, without_prose

pytestmark = pytest.mark.slow

Json = Any
ASK = "/api/orc"


def test_interface_is_the_same_as_in_the_snapshot() -> None:
    assert list(differences(snapshot(), current_document())) == []


def test_snapshot_covers_the_routes() -> None:
    assert len(snapshot()["paths"]) >= 15
    assert len(snapshot()["components"]["schemas"]) >= 40


def remove_path(api: Json) -> None:
    del api["paths"][ASK]


def add_operation(api: Json) -> None:
    api["paths"][ASK]["get"] = {"responses": {}}


def remove_status(api: Json) -> None:
    del api["paths"][ASK]["post"]["responses"]["409"]


def remove_media_type(api: Json) -> None:
    del api["paths"][ASK]["post"]["responses"]["200"]["content"]["text/event-stream"]


def remove_parameter(api: Json) -> None:
    api["paths"][ASK]["post"]["parameters"].pop()


def require_parameter(api: Json) -> None:
    api["paths"][ASK]["post"]["parameters"][0]["required"] = True


def rename_operation(api: Json) -> None:
    api["paths"][ASK]["post"]["operationId"] = "put_question"


def remove_field(api: Json) -> None:
    del api["components"]["schemas"]["Citation"]["properties"]["quote"]


def remove_field_called_title(api: Json) -> None:
    del api["components"]["schemas"]["ConversationView"]["properties"]["title"]


def add_field(api: Json) -> None:
    api["components"]["schemas"]["Citation"]["properties"]["line"] = {"type": "integer"}


def require_field(api: Json) -> None:
    api["components"]["schemas"]["AskRequest"]["required"].append("model")


def lower_limit(api: Json) -> None:
    api["components"]["schemas"]["AskRequest"]["properties"]["question"]["maxLength"] = 9_999


def change_type(api: Json) -> None:
    api["components"]["schemas"]["Citation"]["properties"]["page"]["type"] = "string"


def change_enum(api: Json) -> None:
    api["components"]["schemas"]["TurnStatus"]["enum"].remove("failed")


def rename_schema(api: Json) -> None:
    api["components"]["schemas"]["PresignedUpload"] = api["components"]["schemas"].pop("UploadTicketView")


def accept_unknown_fields(api: Json) -> None:
    del api["components"]["schemas"]["AskRequest"]["additionalProperties"]


API_CHANGES = [
    remove_path, add_operation, remove_status, remove_media_type, remove_parameter, require_parameter,
    rename_operation, remove_field, remove_field_called_title, add_field, require_field, lower_limit,
    change_type, change_enum, rename_schema, accept_unknown_fields,
]  # fmt: skip


@pytest.mark.parametrize("change", API_CHANGES, ids=lambda change: change.__name__)
def test_changed_interface_is_reported(change: Callable[[Json], None]) -> None:
    changed = copy.deepcopy(snapshot())
    change(changed)
    assert list(differences(snapshot(), without_prose(changed)))


def test_difference_names_the_place() -> None:
    before = {"paths": {ASK: {"post": {"responses": {"409": {}}, "operationId": "ask"}}}}
    now = {"paths": {ASK: {"post": {"responses": {"410": {}}, "operationId": "put"}}}}
    assert list(differences(before, now)) == [
        f'paths > {ASK} > post > operationId: "ask" is now "put"',
        f"paths > {ASK} > post > responses > 409: is no longer there",
        f"paths > {ASK} > post > responses > 410: is new",
    ]


def test_prose_and_order_do_not_count() -> None:
    before = {
        "description": "Asks.",
        "summary": "Ask",
        "properties": {
            "title": {"title": "Title", "type": "string", "examples": ["a"]},
            "b": {"enum": [1, 2]},
        },
        "required": ["title", "b"],
        "default": {"title": "kept"},
    }
    after = {
        "required": ["b", "title"],
        "properties": {"b": {"enum": [2, 1]}, "title": {"type": "string", "description": "A title."}},
        "default": {"title": "kept"},
    }
    assert list(differences(without_prose(before), without_prose(after))) == []
    assert without_prose(before)["default"] == {"title": "kept"}
