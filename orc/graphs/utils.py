"""Small functions that several nodes share."""

from orc.graphs.models import ConversationState, Run
from orc.tools.ports import ToolSchema
from orc_core.llm.chat_model import ChatModel


def writer_of(state: ConversationState, run: Run) -> tuple[ChatModel, int | None]:
    """The model that writes the answer of this turn, and the cap on its tokens."""
    if state.route is None:
        return run.resources.models.writer, None
    return run.resources.models.named(state.route.model), state.route.max_output_tokens


def takes_tools(model: ChatModel, run: Run) -> bool:
    """Whether a model of this turn can be offered tools: it takes them, and its window has space for them."""
    return model.abilities.takes_tools and run.context.settings.max_tool_rounds > 0


async def available_tools(run: Run) -> list[ToolSchema]:
    """The tools of the server that this turn may call; DependencyDown if it does not answer.

    Tools that change something are left out unless `run.context.update_tools` has them.
    """
    return [
        tool
        for tool in await run.resources.tools.list_tools(run.context.scope_token)
        if tool.name not in run.context.tools_off
        and (tool.only_reads or tool.name in run.context.update_tools)
    ]
