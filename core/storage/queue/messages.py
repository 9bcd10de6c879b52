"""A Storage Queue that carries notices of jobs."""

import logging
import math
from typing import NamedTuple

from azure.core.exceptions import HttpResponseError
from azure.storage.queue.aio import QueueClient
from pydantic import ValidationError

from core.documents.jobs import Notice
from core.errors import UnsafeName
from core.infra.resilience import CircuitBreaker

GONE = {"MessageNotFound", "PopReceiptMismatch"}

log = logging.getLogger(__name__)


class Received(NamedTuple):
    """A notice that nobody else gets to see for a while."""

    notice: Notice
    message_id: str
    pop_receipt: str


class Notices:
    """Messages are JSON as it is, not in base64: host.json says the same to the host of the functions."""

    def __init__(self, queue: QueueClient, breaker: CircuitBreaker) -> None:
        self._queue = queue
        self._breaker = breaker

    async def send(self, notice: Notice, delay_seconds: float) -> None:
        """Have it come up after the delay; twice perhaps, where the first answer was lost."""
        text, hidden = notice.model_dump_json(), _whole(delay_seconds)
        await self._breaker.call(lambda: self._queue.send_message(text, visibility_timeout=hidden))

    async def receive(self, seconds: float) -> Received | None:
        """The next notice; it comes up again after that time unless it is dropped."""
        hidden = max(1, _whole(seconds))
        while True:
            message = await self._breaker.call(lambda: self._queue.receive_message(visibility_timeout=hidden))
            if message is None:
                return None
            message_id, pop_receipt = str(message.id), str(message.pop_receipt)
            try:
                notice = Notice.model_validate_json(message.content)
            except (ValidationError, UnsafeName):
                log.warning("a message that is no notice was removed id=%s", message_id)
                await self._delete(message_id, pop_receipt)
            else:
                return Received(notice, message_id, pop_receipt)

    async def drop(self, received: Received) -> None:
        """Remove the notice, unless it has come up again meanwhile."""
        await self._delete(received.message_id, received.pop_receipt)

    async def _delete(self, message_id: str, pop_receipt: str) -> None:
        async def work() -> None:
            try:
                await self._queue.delete_message(message_id, pop_receipt)
            except HttpResponseError as exc:
                if getattr(exc, "error_code", None) not in GONE:
                    raise

        await self._breaker.call(work)


def _whole(seconds: float) -> int:
    return max(0, math.ceil(seconds))
