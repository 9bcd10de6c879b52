"""Failures of Azure's services, in our words. Importing this imports azure-core."""

import asyncio
from collections.abc import Callable
from functools import partial

import aiohttp
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)

from core.errors import DependencyDown, OrcError

PASSES = frozenset({408, 410, 429, 449, 500, 502, 503, 504})
"""Statuses after which the same request may work."""


class DependencyMisconfigured(DependencyDown):
    """The service will refuse every request until a setting, a role or a firewall rule is changed."""

    code = "dependency_misconfigured"
    retryable = False


def translator(dependency: str, name: str) -> Callable[[Exception], OrcError | None]:
    """A `translate` for this dependency; `name` is how people call the service."""
    return partial(_translate, dependency, name)


def _translate(dependency: str, name: str, exc: Exception) -> OrcError | None:
    status = getattr(exc, "status_code", None)
    if isinstance(exc, ClientAuthenticationError) and (status is None or status in PASSES):
        # Whoever issues tokens was not reached or is busy.
        message = f"No identity could be had for {name}. Try again shortly."
        return DependencyDown(message, dependency=dependency)
    if isinstance(exc, ClientAuthenticationError) or status in {401, 403}:
        return DependencyMisconfigured(
            f"{name} refused our identity: check its role assignments, its firewall and the key.",
            dependency=dependency,
        )
    if isinstance(exc, HttpResponseError) and status not in PASSES and status is not None:
        message = f"{name} refused a request with status {status}."
        return DependencyMisconfigured(message, dependency=dependency, code="dependency_refused")
    if isinstance(exc, ServiceRequestError | ServiceResponseError | AzureError | aiohttp.ClientError):
        return DependencyDown(f"{name} does not answer. Try again shortly.", dependency=dependency)
    if isinstance(exc, TimeoutError | asyncio.TimeoutError | ConnectionError):
        return DependencyDown(f"{name} did not answer in time. Try again shortly.", dependency=dependency)
    return None
