"""`orc doctor`: what is in use, whether it answers, and what to do about it."""

import asyncio
import platform

from rich.console import Console
from rich.table import Table

from core.infra.settings import deprecated_settings
from orc.bootstrap import open_app
from orc.settings import Settings

_ADVICE = {
    "SQLite": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "folder": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "MCP over HTTP": "Start it with `orc serve`, or set MCP_SERVER_URL.",
    "Cosmos DB": "Check AZURE_COSMOS_ENDPOINT, the role `Cosmos DB Built-in Data Contributor`, and that the"
    " containers are there (`orc provision`).",
    "Blob Storage": "Check AZURE_STORAGE_ACCOUNT_URL, the role `Storage Blob Data Contributor`, and that the"
    " container is there (`orc provision`).",
    "Queue Storage": "Check AZURE_STORAGE_QUEUE_URL, the role `Storage Queue Data Contributor`, and that the"
    " queues are there (`orc provision`).",
    "AI Search": "Check AZURE_SEARCH_ENDPOINT, the role `Search Index Data Contributor`, and that the index"
    " is there (`orc provision`). Until it answers, pages are read through.",
}


async def examine(settings: Settings, console: Console) -> bool:
    """Print the state of every dependency; whether all is well enough to answer turns."""
    async with open_app(settings) as app:
        states = await asyncio.gather(*(check() for check in app.checks))
    table = Table(
        "", "what", "in use", "where", "ms", "to do", title=f"Orc on Python {platform.python_version()}"
    )
    for state in states:
        advice = "" if state.ok else f"{state.detail} {_ADVICE.get(state.backend.partition(',')[0], '')}"
        table.add_row(
            "[green]ok[/]" if state.ok else "[red]no[/]",
            state.name,
            state.backend,
            state.where,
            str(state.latency_ms),
            advice,
        )
    console.print(table)
    for warning in deprecated_settings():
        console.print(f"[yellow]{warning}[/]")
    return all(state.allows_turns for state in states)
