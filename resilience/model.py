"""`python -m resilience.model PORT`: the model double, whose every answer says which question it is to."""

import argparse
import re

import uvicorn

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply, Script, ToolCall, default_reply

TOKEN = re.compile(r"\bT-[0-9a-f]{12}\b")
"""Marks a question, and every answer to it."""


SEARCH = "semantic_search"
LOOK_IT_UP = "Look it up"
"""A question that begins so has the model call a tool first, if it may."""


def attributed(asked: ChatRequest) -> Reply | None:
    """The double's own answer with the question's token at its end; a form is filled as it is."""
    tokens = TOKEN.findall(asked.question)
    offered = [tool["function"]["name"] for tool in asked.body.get("tools") or []]
    if asked.question.startswith(LOOK_IT_UP) and SEARCH in offered and not asked.sources:
        return Reply(tool_calls=[ToolCall(name=SEARCH, arguments={"query": asked.question})])
    reply = default_reply(asked)
    if not tokens or reply.tool_calls or asked.schema_asked:
        return reply
    return reply.model_copy(update={"text": f"{reply.text} {tokens[-1]}"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--tokens", type=int, help="cut every text into so many deltas")
    parser.add_argument("--delay-ms", type=float, default=0, help="before each delta")
    given = parser.parse_args()
    double = OpenAIDouble(attributed, Script(tokens=given.tokens, delay_ms=given.delay_ms))
    uvicorn.run(double.app, host="127.0.0.1", port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
