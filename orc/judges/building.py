"""Builds the judge that the settings name."""

import logging
from contextlib import AsyncExitStack
from pathlib import Path

from orc.judges.measuring import read_measured, why_not
from orc.judges.model import ModelJudge
from orc.judges.ports import SupportJudge
from orc.settings import Settings
from orc_core.errors import InvalidInput
from orc_core.infra.azure import Credentials
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import build_chat_model
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TiktokenCounter

log = logging.getLogger(__name__)

_PROMPT = Path(__file__).parent.parent / "prompts" / "critic.md"


def build_judge(
    settings: Settings, model: ChatModel | None, credentials: Credentials, stack: AsyncExitStack
) -> SupportJudge | None:
    """The judge of the settings, measured or not; None if there is none. `model` is None without a provider.

    Raises InvalidInput for a service without an address. Connects to nothing; `stack` closes it.
    """
    if settings.judge == "model" and model is not None:
        return ModelJudge(model, _PROMPT.read_text())
    if settings.judge != "azure":
        return None
    if not settings.azure_content_safety_endpoint:
        raise InvalidInput("ORC_JUDGE=azure needs AZURE_CONTENT_SAFETY_ENDPOINT.")
    # Not at the top: few installations need it.
    import httpx2

    from orc.judges.azure import SECONDS, GroundednessDetection

    http = httpx2.AsyncClient(timeout=SECONDS)
    stack.push_async_callback(http.aclose)
    key = settings.azure_content_safety_key
    identity = key.get_secret_value() if key else credentials
    return GroundednessDetection(http, settings.azure_content_safety_endpoint, identity)


def open_judge(settings: Settings, stack: AsyncExitStack, *, model: str | None = None) -> SupportJudge:
    """The judge of the settings by itself, to measure it; `model` replaces the critic model.

    Raises InvalidInput if there is none. `stack` closes it.
    """
    credentials, critic = Credentials(), None
    stack.push_async_callback(credentials.close)
    if (provider := open_provider(settings, credentials)) is not None:
        stack.push_async_callback(provider.aclose)
        critic = build_chat_model(settings, "critic", TiktokenCounter(), provider, name=model)
    if (judge := build_judge(settings, critic, credentials, stack)) is None:
        raise InvalidInput("There is no judge: configure a model, or Azure AI Content Safety.")
    return judge


def trusted(judge: SupportJudge | None, settings: Settings, catalogue: ModelCatalogue) -> SupportJudge | None:
    """The judge if its verdicts count, else None: it is not asked for what would not be shown."""
    if judge is None:
        return None
    if why := why_not(judge, read_measured(settings.data_dir), catalogue):
        log.info("%s reads no answers a second time: %s", judge.name, why)
        return None
    return judge
