"""The Files API of the OpenAI double: upload, look up, list, delete, and files that expire."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from devkit.doubles.openai_talk import Json

PURPOSES = {"user_data", "assistants"}


@dataclass
class StoredFile:
    """One file as it was sent."""

    file_id: str
    name: str
    purpose: str
    content: bytes
    created_at: int
    expires_at: int | None

    def as_json(self) -> Json:
        return {
            "id": self.file_id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


@dataclass
class Shelf:
    """The files, and what was asked of them. `refuse` answers every request with a status.

    `log` names every request that was understood: `upload`, `retrieve`, `list`, `delete`.
    """

    files: dict[str, StoredFile] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    refuse: int | None = None
    knows_expiry: bool = True
    clock: Callable[[], float] = time.time
    made: int = 0

    def routes(self, prefix: str) -> list[Route]:
        """What the Files API answers under this prefix."""
        return [
            Route(f"{prefix}/files", self._upload, methods=["POST"]),
            Route(f"{prefix}/files", self._list),
            Route(f"{prefix}/files/{{file_id}}", self._retrieve),
            Route(f"{prefix}/files/{{file_id}}", self._delete, methods=["DELETE"]),
        ]

    @property
    def uploads(self) -> int:
        """How often a file was sent."""
        return self.log.count("upload")

    def live(self, file_id: str) -> StoredFile | None:
        """The file, unless it was deleted or has expired."""
        file = self.files.get(file_id)
        has_expired = file and file.expires_at is not None and file.expires_at <= self.clock()
        return None if has_expired else file

    async def _upload(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        async with request.form() as form:
            sent, purpose = form["file"], str(form["purpose"])
            seconds = form.get("expires_after[seconds]")
            assert isinstance(sent, UploadFile)
            name, content = sent.filename or "", await sent.read()
        if purpose not in PURPOSES or (seconds and not self.knows_expiry):
            return _error(400, "invalid_request_error", "Scripted refusal.")
        self.log.append("upload")
        self.made += 1
        now = int(self.clock())
        file = StoredFile(
            file_id=f"file-{self.made:04}",
            name=name,
            purpose=purpose,
            content=content,
            created_at=now,
            expires_at=now + int(str(seconds)) if seconds else None,
        )
        self.files[file.file_id] = file
        return JSONResponse(file.as_json())

    async def _retrieve(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        self.log.append("retrieve")
        file = self.live(request.path_params["file_id"])
        return JSONResponse(file.as_json()) if file else no_such_file(request.path_params["file_id"])

    async def _list(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        self.log.append("list")
        query = request.query_params
        files = [file for file in self.files.values() if file.purpose == query.get("purpose", file.purpose)]
        files.sort(key=lambda file: file.created_at, reverse=query.get("order") != "asc")
        ids = [file.file_id for file in files]
        start = ids.index(query["after"]) + 1 if "after" in query else 0
        end = start + int(query.get("limit", 10_000))
        page = [file.as_json() for file in files[start:end]]
        return JSONResponse({"object": "list", "data": page, "has_more": end < len(files)})

    async def _delete(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        self.log.append("delete")
        file = self.files.pop(request.path_params["file_id"], None)
        if file is None:
            return no_such_file(request.path_params["file_id"])
        return JSONResponse({"id": file.file_id, "object": "file", "deleted": True})

    def _refusal(self) -> Response | None:
        return _error(self.refuse, "scripted", "Scripted refusal.") if self.refuse else None


def no_such_file(file_id: str, status: int = 404) -> Response:
    """What every API says to an id that is not, or no longer, there."""
    return _error(status, "invalid_request_error", f"No such File object: {file_id}")


def file_type_refused() -> Response:
    """What Azure's chat completions, and models that cannot read files, say to a file."""
    message = "Invalid Value: 'file'. This model does not support file content types."
    return _error(400, "invalid_request_error", message, "invalid_value", "messages[1].content[1].type")


def _error(
    status: int, kind: str, message: str, code: str | None = None, param: str | None = None
) -> Response:
    error = {"message": message, "type": kind, "code": code, "param": param}
    return JSONResponse({"error": error}, status)
