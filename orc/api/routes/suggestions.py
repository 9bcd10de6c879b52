"""Questions to ask next, made by code: no model is called."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orc.api.dependencies import AppDep, OwnerDep
from orc.api.responses import responses

router = APIRouter(prefix="/conversations/{conversation_id}", tags=["conversations"])


class SuggestionsResponse(BaseModel):
    """At most three questions about the documents of the session; a search finds the page of each."""

    suggestions: list[str] = Field(examples=[["What does the document say about “Annual leave”?"]])
    by: Literal["code"] = "code"


@router.get("/suggestions", response_model=SuggestionsResponse, responses=responses(404))
async def session_suggestions(owner: OwnerDep, app: AppDep) -> SuggestionsResponse:
    """Questions to begin with, or to go on with after the latest answer."""
    return SuggestionsResponse(suggestions=await app.suggestions.for_session(owner))


@router.get("/turns/{turn_id}/suggestions", response_model=SuggestionsResponse, responses=responses(404))
async def turn_suggestions(turn_id: str, owner: OwnerDep, app: AppDep) -> SuggestionsResponse:
    """Questions to go on with after this answer, about what it has not cited."""
    return SuggestionsResponse(suggestions=await app.suggestions.for_turn(owner, turn_id))
