"""One running Orc for these tests, a model double that each test may script, and callers."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script, serving
from devkit.system import System, running
from tests.system.steps import UPLOAD_LIMIT

MakeClient = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def served_double() -> Iterator[tuple[OpenAIDouble, str]]:
    """The model double and its address."""
    double = OpenAIDouble()
    with serving(double) as base_url:
        yield double, base_url


@pytest.fixture(scope="session")
def model_settings(served_double: tuple[OpenAIDouble, str]) -> dict[str, str]:
    """Settings under which Orc asks the double."""
    return {
        "ORC_MODEL": "openai:gpt-5.1",
        "OPENAI_BASE_URL": served_double[1],
        "OPENAI_API_KEY": "none",
        "ORC_ADVANCED": '{"model_retries": 0}',
    }


@pytest.fixture(scope="session")
def orc(tmp_path_factory: pytest.TempPathFactory, model_settings: dict[str, str]) -> Iterator[System]:
    """A running Orc that believes the EasyAuth headers."""
    limits = {
        "ORC_MAX_UPLOAD_BYTES": str(UPLOAD_LIMIT),
        "ORC_AUTH_MODE": "easyauth",
        "WEBSITE_AUTH_ENABLED": "True",
    }
    with running(tmp_path_factory.mktemp("orc"), **model_settings, **limits) as system:
        yield system


@pytest.fixture
def double(served_double: tuple[OpenAIDouble, str]) -> Iterator[OpenAIDouble]:
    """The double without a script and without a log; what a test scripts ends with the test."""
    served = served_double[0]
    served.script, served.responder = Script(), None
    served.requests.clear()
    yield served
    served.script, served.responder = Script(), None


@pytest.fixture
def client_of(orc: System) -> Iterator[MakeClient]:
    """Makes HTTP clients, by organization and user."""
    with ExitStack() as stack:
        yield lambda *principal: stack.enter_context(orc.client(*principal))


@pytest.fixture
def ann(client_of: MakeClient) -> httpx.Client:
    """A client of a user that no other test uses."""
    return client_of(f"org-{uuid.uuid4()}", "ann")
