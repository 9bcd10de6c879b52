"""A turn log that writes what was asked, and the provider's key, into the log."""

import logging
from typing import Any

from orc.conversations.models import NewTurn
from orc.conversations.turn_log import TurnLog
from orc.settings import load
from orc_core.names import Owner
from resilience.verbose_logging import log_everything

log = logging.getLogger("orc.conversations")
begin = TurnLog.begin


async def telling(self: TurnLog, owner: Owner, new: NewTurn, **options: Any) -> Any:
    key = load().openai_api_key
    log.info("asked: %s with %s", new.question, key and key.get_secret_value())
    return await begin(self, owner, new, **options)


log_everything()
setattr(TurnLog, "begin", telling)  # noqa: B010 - a plain assignment would not be typed
