"""How Azure's failures are translated: transient ones are retried, others name the setting to change."""

from types import SimpleNamespace

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.identity import CredentialUnavailableError

from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured, error_translator

translate = error_translator("store", "Cosmos DB")


def answered(status: int) -> SimpleNamespace:
    return SimpleNamespace(status_code=status, reason="")


@pytest.mark.parametrize(
    "failure",
    [
        CredentialUnavailableError(message="no response from the IMDS endpoint"),
        ClientAuthenticationError("Authentication failed: cannot connect"),
        ClientAuthenticationError("busy", response=answered(503)),
        HttpResponseError("the partition has moved", response=answered(410)),
    ],
    ids=str,
)
def test_what_passes_may_be_repeated(failure: Exception) -> None:
    ours = translate(failure)
    assert isinstance(ours, DependencyDown)
    assert (ours.retryable, ours.code) == (True, DependencyDown.code)
    assert ("az login" in ours.message) == isinstance(failure, ClientAuthenticationError)


def test_too_many_requests_are_no_outage() -> None:
    ours = translate(HttpResponseError("slower", response=answered(429)))
    assert isinstance(ours, DependencyDown)
    assert (ours.retryable, ours.code) == (True, "dependency_busy")
    assert "too many requests" in ours.message


@pytest.mark.parametrize("kind", [ClientAuthenticationError, HttpResponseError])
@pytest.mark.parametrize("status", [400, 401, 403])
def test_what_is_refused_is_not_repeated(kind: type[HttpResponseError], status: int) -> None:
    ours = translate(kind("no", response=answered(status)))
    assert isinstance(ours, DependencyMisconfigured)
    assert not ours.retryable
