"""What of the config file applies at once; nothing that is wrong with it later changes anything."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import load_config
from fleet.configuration.live_file import LOOK_SECONDS, LiveFile, follow
from shards.errors import ConfigError

HEAD = "fleet: web\ncontroller: websites:websites\n"


def refuse_a(config: FleetConfig) -> None:
    if "a" in config.canary.controllers:
        raise ConfigError("canary.controllers[0]", "no controller is called 'a'")


class File:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "fleet.yaml"
        self.count = 0
        self.write("client: {requestsPerSecond: 10}")
        self.live = LiveFile(self.path, load_config(self.path), refuse_a)

    def write(self, text: str, head: str = HEAD) -> None:
        """Puts another file in its place, as a kubelet does."""
        self.count += 1
        new = self.path.with_suffix(f".{self.count}")
        new.write_text(f"{head}{text}\n")
        new.rename(self.path)

    def look(self) -> FleetConfig:
        found = self.live.look()
        assert found is not None
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def test_a_file_that_says_the_same_changes_nothing(file: File) -> None:
    assert file.live.look() is None
    file.write("client: {requestsPerSecond: 10.0}")
    assert file.live.look() is None


def test_what_is_new_is_told_once(file: File, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file.write("client: {requestsPerSecond: 5, burst: 7}")
    assert file.look().client.burst == 7
    assert file.live.look() is None
    assert caplog.messages == ["the config file changed: client.requestsPerSecond is 5.0; client.burst is 7"]
    file.write("")
    assert file.look().client.requests_per_second is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("featureGates: {VersionGate: false}", lambda config: not config.feature_gates.version_gate),
        ("featureGates: {ServerSideSharding: off}", lambda config: config.feature_gates.server_side_sharding == "off"),
        ("featureGates: {SlotLabels: true}", lambda config: config.feature_gates.slot_labels == "on"),
        ("canary: {features: [VersionGate], shardFraction: 0.1}", lambda config: config.canary.shard_fraction == 0.1),
        ("gate: {liveReadAfterSeconds: 7}", lambda config: config.gate.live_read_after_seconds == 7),
        ("log: {level: debug}", lambda config: config.log.level == "debug"),
    ],
)
def test_feature_gates_canary_limits_of_the_gate_and_the_level_of_the_log_apply_at_once(
    file: File, caplog: pytest.LogCaptureFixture, text: str, meant: object
) -> None:
    file.write(f"client: {{requestsPerSecond: 10}}\n{text}")
    assert meant(file.look())  # type: ignore[operator]
    assert not caplog.messages


@pytest.mark.parametrize(
    "text",
    [
        "client: {requestsPerSecond: -1}",
        "client: [",
        "cleint: {}",
        "canary: {features: [VersionGat]}",
        "canary: {features: [VersionGate], controllers: [a]}",
    ],
)
def test_a_file_that_is_refused_changes_nothing_and_is_told_once(
    file: File, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    for _ in range(3):
        file.write(text)
        assert file.live.look() is None
    assert len(caplog.messages) == 1
    assert "everything stays as it is" in caplog.text
    file.write("client: {requestsPerSecond: 3}")
    assert file.look().client.requests_per_second == 3


def test_a_file_that_was_refused_and_says_again_what_applies_is_told_of(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    file.write("client: {requestsPerSecond: -1}")
    file.live.look()
    file.write("client: {requestsPerSecond: 10}")
    assert file.live.look() is None
    assert caplog.messages[1:] == ["the config file is accepted again; what it says applies already"]


def test_a_file_that_is_gone_changes_nothing(file: File, caplog: pytest.LogCaptureFixture) -> None:
    file.path.unlink()
    assert file.live.look() is None
    assert file.live.look() is None
    assert len(caplog.messages) == 1
    file.write("client: {requestsPerSecond: 3}")
    assert file.look().client.requests_per_second == 3


def test_other_changes_are_named_and_need_a_restart_while_the_rest_applies(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    file.write("client: {requestsPerSecond: 3}\nworkers: {perPod: 9}\nlog: {format: json}")
    found = file.look()
    assert (found.client.requests_per_second, found.workers.per_pod, found.log.format) == (3, 2, "text")
    assert caplog.messages == ["the config file differs in workers.perPod, log.format too: that needs a restart"]


def test_the_layout_needs_no_restart_since_the_fleet_follows_its_config_map(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    file.write("shards: {count: 99, partitionBy: name}")
    assert file.look().shards.count == 99
    assert "restart" not in caplog.text


@pytest.mark.looptime
async def test_a_running_process_is_told(file: File) -> None:
    told: list[FleetConfig] = []

    async def change(config: FleetConfig) -> None:
        told.append(config)

    following = asyncio.create_task(follow(file.live, change))
    await asyncio.sleep(LOOK_SECONDS + 0.1)
    file.write("featureGates: {VersionGate: false}")
    await asyncio.sleep(LOOK_SECONDS)
    assert [config.feature_gates.version_gate for config in told] == [False]
    following.cancel()
