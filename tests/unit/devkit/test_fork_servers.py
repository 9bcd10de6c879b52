"""Fork servers that were forked do what started ones do."""

from pathlib import Path

import psutil
import pytest

from devkit.fork_servers import Forked, ForkServers
from orc_core.extraction.extractor import Extractor
from orc_core.infra.forks import ForkServer
from orc_core.infra.sandbox import Sandbox

pytestmark = pytest.mark.skipif(not ForkServer.is_possible(), reason="needs Linux")


async def test_each_reads_files_and_ends_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork_servers: ForkServers
) -> None:
    started: list[Forked] = []
    start = fork_servers.start

    def noted(stdin: int) -> Forked:
        started.append(start(stdin))
        return started[-1]

    monkeypatch.setattr(fork_servers, "start", noted)
    (tmp_path / "a").write_text("The fee is 410 euros.")
    for _ in range(2):
        box = Sandbox()
        extractor = Extractor(box)
        for name in ("a.txt", "a.md"):
            assert "410" in (await extractor.extract(tmp_path / "a", name)).pages[0].text
        assert psutil.pid_exists(started[-1].pid)
        await box.close()
    assert len(started) == 2
    assert not any(
        psutil.pid_exists(each.pid) and psutil.Process(each.pid).status() != psutil.STATUS_ZOMBIE
        for each in started
    )
