"""The steps that explain how a turn looked things up."""

from typing import Literal

from orc_core.models import Record

ReasonCode = Literal[
    "document_chat",
    "found",
    "nothing_found",
    "below_threshold",
    "failed",
    "unavailable",
    "switched_off",
    "server_down",
    "more_requested",
    "read_in_full",
    "summaries_only",
    "model_called",
    "model_call_failed",
    "not_looked_up",
    "left_out",
    "images_sent",
    "images_failed",
    "images_left_out",
    "no_images",
]


class LookupStep(Record):
    """One step of looking things up: which tool, how it ended, and why the turn went on as it did.

    `hits` counts results, pages or omitted items, by the reason code. `detail` is an error message or the
    reason that document_chat gave.
    """

    tool: str
    status: Literal["ok", "failed", "skipped"] = "ok"
    reason_code: ReasonCode
    hits: int = 0
    tokens: int = 0
    detail: str = ""
