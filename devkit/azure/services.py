"""Azure's services on this machine, with everything in them that Orc needs, as settings that name them."""

import asyncio
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from devkit.doubles import azurite, cosmos_emulator, search_double
from orc_core.infra.settings import CoreSettings
from orc_core.storage.factory import provision

Environment = dict[str, str]


@contextmanager
def azure_services(
    *, cosmos: bool = True, storage: bool = True, search: bool = True
) -> Iterator[Environment]:
    """The environment of a process that uses these services; they run for as long as the context is open."""
    with ExitStack() as stack:
        environment: Environment = {}
        if cosmos:
            target = stack.enter_context(cosmos_emulator.running())
            environment |= {"AZURE_COSMOS_ENDPOINT": target.url, "AZURE_COSMOS_KEY": target.key or ""}
        if storage:
            target = stack.enter_context(azurite.running())
            environment |= {"AZURE_STORAGE_ACCOUNT_URL": target.url, "AZURE_STORAGE_KEY": target.key or ""}
            environment |= {"AZURE_STORAGE_QUEUE_URL": target.queue_url or ""}
        if search:
            target = stack.enter_context(search_double.running())
            environment |= {"AZURE_SEARCH_ENDPOINT": target.url, "AZURE_SEARCH_KEY": target.key or ""}
        _provision(environment)
        yield environment


def fresh(environment: Environment) -> Environment:
    """The same services, with new and separate databases, containers and indexes."""
    own = uuid.uuid4().hex[:12]
    changed = {
        **environment,
        "AZURE_COSMOS_DATABASE": f"orc-{own}",
        "AZURE_STORAGE_CONTAINER": f"documents-{own}",
        "AZURE_SEARCH_INDEX": f"orc-{own}",
    }
    _provision(changed)
    return changed


def _provision(environment: Environment) -> None:
    """In a thread, because the caller may have a running event loop."""
    settings = CoreSettings.model_validate(environment)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(provision(settings, lambda _: None))).result()
