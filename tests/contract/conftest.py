"""What the contract suites of several stores share."""

import pytest

from devkit.azure.targets import Target


@pytest.fixture
def target(request: pytest.FixtureRequest, adapter: str) -> Target | None:
    """The Azure storage of the adapter of a suite; None if it is an embedded one."""
    found: Target | None = request.getfixturevalue("storage_target") if adapter == "azurite" else None
    return found
