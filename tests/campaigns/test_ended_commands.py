"""Commands that start servers leave none of them behind, however they are ended."""

import signal

import psutil
import pytest

from devkit.processes import is_tools_server, left_behind
from devkit.shared_data import ROOT

pytestmark = pytest.mark.campaign


def test_the_servers_of_a_campaign_end_with_it() -> None:
    tools = set[psutil.Process]()

    def are_killed(servers: set[psutil.Process]) -> bool:
        tools.update(each for each in servers - tools if is_tools_server(each))
        # The third one is in the place of one that was killed.
        return len(tools) == 3

    command = ["-m", "resilience.kill_tools", "--count", "1000"]
    assert left_behind(command, signal.SIGTERM, are_killed) == []


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGINT])
def test_the_servers_of_a_comparison_end_with_it(ended: signal.Signals) -> None:
    def are_two(servers: set[psutil.Process]) -> bool:
        return sum(map(is_tools_server, servers)) >= 2

    assert left_behind(["-m", "bench.paired", str(ROOT), "--only", "chat"], ended, are_two) == []
