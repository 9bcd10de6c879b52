"""What may become of a turn and its head: the rules that every adapter of the turn log applies."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from orc.conversations.models import (
    EarlierAnswer,
    Failure,
    Feedback,
    Head,
    Message,
    NewTurn,
    TitleBy,
    Turn,
    TurnOutcome,
    TurnStatus,
)
from orc.conversations.search import searchable
from orc.conversations.session_contexts import with_shown, with_used
from orc_core.errors import Conflict, KeyReused, NotFound, TurnInFlight
from orc_core.names import Owner
from orc_core.text.provenance import opening_words

TITLE_CHARACTERS = 80
LONGEST_LEASE = timedelta(hours=1)
"""The setting `turn_lease_seconds` cannot be more."""
INTERRUPTED = Failure(
    code="interrupted", message="The answer was interrupted before it was finished. You can ask again."
)


def first_head(owner: Owner, now: datetime, file: str = "") -> Head:
    """The head of a conversation without turns, titled by its first file, if that is known."""
    titled = {"title": file[:TITLE_CHARACTERS], "title_by": TitleBy.FILE, "title_words": searchable(file)}
    return Head(**asdict(owner), created_at=now, updated_at=now, **(titled if file else {}))


def begin_turn(
    head: Head,
    stored: Turn | None,
    new: NewTurn,
    lease_seconds: float,
    now: datetime,
    replaced: Turn | None = None,
) -> tuple[Head, Turn]:
    """The turn that is pending under the attempt of `new`: a new one, or the stored one with this key.

    `replaced` is the last version of the turn that a new one replaces.
    """
    if stored is not None:
        turn = reopen_turn(stored, new, lease_seconds, now)
        if turn.attempt == new.attempt != stored.attempt:
            others = [seq for seq in head.retried if seq != turn.seq]
            head = _next_version(head, now, retried=[*others, turn.seq])
        return head, turn
    if new.retry is not None:
        raise missing_turn()
    return open_turn(head, new, lease_seconds, now, replaced)


def open_turn(
    head: Head,
    new: NewTurn,
    lease_seconds: float,
    now: datetime,
    replaced: Turn | None = None,
) -> tuple[Head, Turn]:
    """The next turn of a conversation, and the head that has counted it; both are written or neither."""
    seq = head.turn_count + 1
    turn = Turn(
        turn_id=new.key,
        conversation_id=head.conversation_id,
        seq=seq,
        attempt=new.attempt,
        request_hash=new.request_hash,
        question=new.question,
        blob_names=new.blob_names,
        contexts=new.contexts,
        choices=new.choices,
        recalls=new.recalls,
        sent_history=new.sent_history,
        replaces=replaced and replaced.turn_id,
        place=replaced and (replaced.place or replaced.seq),
        created_at=now,
        lease_until=now + timedelta(seconds=lease_seconds),
    )
    found = {"words": searchable(new.question, head.words)}
    counted = {"turn_count": seq, "replaced": [*head.replaced, *([replaced.seq] if replaced else [])]}
    changes: dict[str, object] = {**counted, **found, **_title_from(new.question, head, replaced)}
    if new.used:
        changes["contexts"] = with_used(head.contexts, new.used, seq)
    if new.home and not head.turn_count:
        changes["home"] = new.home
    return _next_version(head, now, **changes), turn


def replaced_turn(replaced: Turn, turn: Turn) -> Turn:
    """The earlier version of a turn, with its next one."""
    return replaced.model_copy(update={"replaced_by": turn.turn_id})


def use_head(head: Head, now: datetime) -> Head:
    """The head of a conversation that was used without a turn, as by an upload."""
    return _next_version(head, now)


def pin_head(head: Head, is_pinned: bool) -> Head:
    """The head that lists begin with, or no longer."""
    return _next_version(head, head.updated_at, is_pinned=is_pinned)


def retitle_head(head: Head, title: str, by: TitleBy) -> Head:
    """The head with the title; it was not used by that. The same head if a model's title comes too late."""
    if by is TitleBy.MODEL and head.title_by in (TitleBy.MODEL, TitleBy.USER):
        return head
    return _next_version(head, head.updated_at, title=title, title_by=by, title_words=searchable(title))


def reopen_turn(turn: Turn, new: NewTurn, lease_seconds: float, now: datetime) -> Turn:
    """The stored turn, pending again under this attempt; unchanged if it has a result or is this attempt's.

    Raises KeyReused for another request, TurnInFlight while the present attempt holds its lease.
    """
    if new.retry is None and turn.request_hash != new.request_hash:
        raise KeyReused("This idempotency key was already used for another request.", field="Idempotency-Key")
    turn = as_read(turn, now)
    # Whether the request is the one that led to the turn's present result.
    is_repeated = new.retry is None or (new.retry.key is not None and new.retry.key == turn.retry_key)
    if turn.attempt == new.attempt or (turn.status.has_result and is_repeated):
        return turn
    if _is_held(turn, now):
        raise TurnInFlight("This question is still being answered.")
    if new.retry is not None:
        _check_retry(turn)
    return turn.model_copy(
        update={
            "status": TurnStatus.PENDING,
            "attempt": new.attempt,
            "attempt_number": turn.attempt_number + 1,
            "earlier": _answer_of(turn),
            "assistant": None,
            "result": None,
            "failure": None,
            "feedback": None,
            "retry_key": new.retry.key if new.retry else turn.retry_key,
            "stop_asked": False,
            "finished_at": None,
            "lease_until": now + timedelta(seconds=lease_seconds),
        }
    )


def _answer_of(turn: Turn) -> EarlierAnswer | None:
    """What there is of a stopped answer."""
    if turn.assistant is None or turn.result is None or not turn.assistant.content.strip():
        return None
    return EarlierAnswer(
        assistant=turn.assistant,
        result=turn.result,
        feedback=turn.feedback,
        retry_key=turn.retry_key,
        finished_at=turn.finished_at,
    )


def _with_earlier(turn: Turn, earlier: EarlierAnswer, **changes: object) -> Turn:
    """The turn with its earlier answer, after an attempt that has stored none."""
    fields = {name: getattr(earlier, name) for name in EarlierAnswer.model_fields}
    return _ended(turn, TurnStatus.STOPPED, earlier.finished_at, **{**fields, **changes})


def _check_retry(turn: Turn) -> None:
    if turn.status is TurnStatus.COMMITTED:
        raise Conflict(
            "This turn is answered; only one that failed or was stopped is answered again.",
            code="turn_not_failed",
        )
    if turn.replaced_by is not None:
        raise Conflict("This turn has a newer version.", code="turn_replaced")


def renew_turn(turn: Turn | None, attempt: str, lease_seconds: float, now: datetime) -> Turn:
    """The turn with a lease from now on, even if the lease ran out and no process took the turn over."""
    turn = _fenced(turn, attempt)
    if turn.status is not TurnStatus.PENDING:
        raise _attempt_over()
    return turn.model_copy(update={"lease_until": now + timedelta(seconds=lease_seconds)})


def commit_turn(
    head: Head | None, turn: Turn | None, attempt: str, outcome: TurnOutcome, now: datetime
) -> tuple[Head, Turn]:
    """The answered turn and the head that follows from it; both as they are if this attempt has committed."""
    if head is None:
        raise missing_conversation()
    turn = _fenced(turn, attempt)
    if turn.status is TurnStatus.FAILED or turn.failure is not None:
        raise _attempt_over()
    if turn.status.has_result:
        return head, turn
    carried = {
        "uploaded_file_refs": outcome.uploaded_file_refs,
        "last_mcp_tool_used": outcome.last_mcp_tool_used,
    }
    kept: dict[str, object] = {name: value for name, value in carried.items() if value is not None}
    if outcome.shown:
        kept["contexts"] = with_shown(head.contexts, outcome.shown, turn.seq)
    # A conversation that an earlier version began has no title before its first answer.
    head = _next_version(head, now, **_title_from(turn.question, head), **kept)
    if outcome.stopped and turn.earlier is not None and not outcome.answer.strip():
        return head, _with_earlier(turn, turn.earlier, retry_key=turn.retry_key)
    assistant = Message(
        role="assistant",
        content=outcome.answer,
        created_at=now,
        uploaded_file_refs=head.uploaded_file_refs,
        last_mcp_tool_used=head.last_mcp_tool_used,
        citations=outcome.citations,
        contexts=turn.contexts,
    )
    status = TurnStatus.STOPPED if outcome.stopped else TurnStatus.COMMITTED
    sent = turn.sent_history if outcome.stopped else None
    changes = {"assistant": assistant, "result": outcome.result, "sent_history": sent}
    return head, _ended(turn, status, now, **changes)


def fail_turn(turn: Turn | None, attempt: str, failure: Failure, now: datetime) -> Turn:
    """The turn with its failure; a turn that has already ended stays as it ended."""
    turn = _fenced(turn, attempt)
    return turn if turn.status is not TurnStatus.PENDING else _failed(turn, failure, now)


def ask_to_stop(turn: Turn | None, now: datetime) -> Turn:
    """The turn whose process is to stop; one that has ended, or whose process is gone, stays as it is."""
    if turn is None:
        raise missing_turn()
    return turn.model_copy(update={"stop_asked": True}) if _is_held(turn, now) else turn


def rate_turn(turn: Turn | None, feedback: Feedback | None, now: datetime) -> Turn:
    """The turn with the user's feedback on its answer, or without any."""
    if turn is None:
        raise missing_turn()
    read = as_read(turn, now)
    if feedback is not None and not read.status.has_result:
        raise Conflict("This turn has no answer yet.", code="turn_not_answered")
    if read.feedback == feedback:
        return turn
    if read is turn or turn.earlier is None:
        return turn.model_copy(update={"feedback": feedback})
    # The attempt whose lease ran out may still store its answer.
    earlier = turn.earlier.model_copy(update={"feedback": feedback})
    return turn.model_copy(update={"earlier": earlier})


def as_read(turn: Turn, now: datetime) -> Turn:
    """The turn as readers see it: a pending one whose lease ran out has failed, written so or not."""
    if turn.status is not TurnStatus.PENDING or _is_held(turn, now):
        return turn
    return _failed(turn, INTERRUPTED, turn.lease_until)


def history_of(found: Sequence[Turn], now: datetime) -> list[Turn]:
    """The turns with a result, oldest first, of those that are listed as committed, newest first."""
    return [turn for each in reversed(found) if (turn := as_read(each, now)).status.has_result]


def _is_held(turn: Turn, now: datetime) -> bool:
    """Whether an attempt at the turn holds its lease, so that no other may take it over."""
    if turn.status is not TurnStatus.PENDING or turn.lease_until is None:
        return False
    # A later one is of a clock that was ahead, and its process renews it unless it has ended.
    return now < turn.lease_until <= now + LONGEST_LEASE


def _failed(turn: Turn, failure: Failure, at: datetime | None) -> Turn:
    if turn.earlier is not None:
        return _with_earlier(turn, turn.earlier, failure=failure)
    return _ended(turn, TurnStatus.FAILED, at, failure=failure)


def _ended(turn: Turn, status: TurnStatus, at: datetime | None, **changes: object) -> Turn:
    ended = {"status": status, "finished_at": at, "lease_until": None, "earlier": None}
    return turn.model_copy(update={**changes, **ended})


def missing_conversation() -> NotFound:
    """The one answer for a conversation that is absent and for one of another caller."""
    return NotFound("There is no such conversation.")


def missing_turn() -> NotFound:
    """The answer for a turn that is absent from the conversation."""
    return NotFound("There is no such turn in this conversation.")


def _fenced(turn: Turn | None, attempt: str) -> Turn:
    if turn is None:
        raise missing_turn()
    if turn.attempt != attempt:
        raise _attempt_over()
    return turn


def _attempt_over() -> TurnInFlight:
    return TurnInFlight("This attempt at the answer is over; ask for the turn again.", code="attempt_over")


def _title_from(question: str, head: Head, replaced: Turn | None = None) -> dict[str, object]:
    """The change that gives the head a title, if it has none, or that of a file or of what is replaced."""
    title = _title_of(question)
    is_titled = head.title and head.title_by is not TitleBy.FILE and not _has_title_of(head, replaced, title)
    return {} if is_titled or not title else {"title": title, "title_by": TitleBy.WORDS}


def _title_of(question: str) -> str:
    """Its opening words in one line; a longer one ends after a word, and says that it goes on."""
    line = " ".join(opening_words(question).split())
    whole, _, _ = line[:TITLE_CHARACTERS].rpartition(" ")
    return line if len(line) <= TITLE_CHARACTERS else f"{whole or line[: TITLE_CHARACTERS - 1]}…"


def _has_title_of(head: Head, replaced: Turn | None, title: str) -> bool:
    """Whether the title was made of the replaced question, and this other one takes its place."""
    if replaced is None or (earlier := _title_of(replaced.question)) == title:
        return False
    if head.title_by is TitleBy.MODEL:
        # A model writes it of the first question: this is the one if no other turn is shown.
        return head.turn_count == len({*head.replaced, replaced.seq})
    return head.title_by is TitleBy.WORDS and head.title == earlier


def _next_version(head: Head, now: datetime, **changes: object) -> Head:
    return head.model_copy(update={**changes, "version": head.version + 1, "updated_at": now})
