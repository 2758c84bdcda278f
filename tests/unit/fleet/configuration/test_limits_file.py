"""Limits of requests follow the config file; nothing that is wrong with it changes them."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from fleet.configuration.config import ClientConfig
from fleet.configuration.config_file import load_config
from fleet.configuration.limits_file import LOOK_SECONDS, LimitsFile, follow_limits

HEAD = "fleet: web\ncontroller: websites:websites\n"


class File:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "fleet.yaml"
        self.count = 0
        self.write("client: {requestsPerSecond: 10}")
        self.limits = LimitsFile(self.path, load_config(self.path))

    def write(self, text: str, head: str = HEAD) -> None:
        """Puts another file in its place, as a kubelet does."""
        self.count += 1
        new = self.path.with_suffix(f".{self.count}")
        new.write_text(f"{head}{text}\n")
        new.rename(self.path)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def test_a_file_that_says_the_same_changes_nothing(file: File) -> None:
    assert file.limits.look() is None
    file.write("client: {requestsPerSecond: 10.0}")
    assert file.limits.look() is None


def test_new_limits_are_told_once(file: File) -> None:
    file.write("client: {requestsPerSecond: 5, burst: 7, fleetRequestsPerSecond: 100}")
    assert file.limits.look() == ClientConfig(requests_per_second=5, burst=7, fleet_requests_per_second=100)
    assert file.limits.look() is None
    file.write("")
    assert file.limits.look() == ClientConfig()


@pytest.mark.parametrize("text", ["client: {requestsPerSecond: -1}", "client: [", "cleint: {}", "client: {burst: 3}"])
def test_a_file_that_is_refused_leaves_the_limits_and_is_told_once(
    file: File, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    for _ in range(3):
        file.write(text)
        assert file.limits.look() is None
    assert len(caplog.messages) == 1
    assert "the limits of requests stay" in caplog.text
    file.write("client: {requestsPerSecond: 3}")
    assert file.limits.look() == ClientConfig(requests_per_second=3)


def test_a_file_that_is_gone_leaves_the_limits(file: File, caplog: pytest.LogCaptureFixture) -> None:
    file.path.unlink()
    assert file.limits.look() is None
    assert file.limits.look() is None
    assert len(caplog.messages) == 1
    file.write("client: {requestsPerSecond: 3}")
    assert file.limits.look() == ClientConfig(requests_per_second=3)


def test_other_changes_are_told_to_need_a_restart_and_the_limits_count_all_the_same(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    file.write("client: {requestsPerSecond: 3}\nshards: {count: 99}")
    assert file.limits.look() == ClientConfig(requests_per_second=3)
    assert "needs a restart" in caplog.text


@pytest.mark.looptime
async def test_a_running_worker_is_told(file: File, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told: list[ClientConfig] = []
    following = asyncio.create_task(follow_limits(file.limits, told.append))
    await asyncio.sleep(LOOK_SECONDS + 0.1)
    file.write("client: {fleetRequestsPerSecond: 50}")
    await asyncio.sleep(LOOK_SECONDS)
    assert told == [ClientConfig(fleet_requests_per_second=50)]
    assert "limits of requests" in caplog.text
    following.cancel()
