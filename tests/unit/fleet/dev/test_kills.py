from __future__ import annotations

import pytest

from fleet.dev.kills import Kill, parse_kill, victim
from fleet.status.statusview import FleetStatus, MemberRow, MemberState
from shards.errors import ConfigError

CHILDREN = ("agent", "worker-0", "worker-1")


def status(*shards: int, coordinator: str = "pod.1.agent/1") -> FleetStatus:
    members = tuple(
        MemberRow(
            name=f"dev-{slot}",
            state=MemberState.ALIVE,
            epoch=1,
            shards=count,
            targets=count,
            objects=0,
            queue_depth=0,
            parked=0,
            failing=0,
            waiting=0,
            reconciles_per_second=0.0,
            revision="",
            pod="dev",
            pid=0,
            follows_map=1,
            renewed_seconds_ago=0.0,
        )
        for slot, count in enumerate(shards)
    )
    return FleetStatus(
        fleet="dev",
        namespace="default",
        map_version=1,
        partition_by="uid",
        coordinator=coordinator,
        coordinator_pod="dev",
        coordinator_epoch=1,
        members=members,
        shards=(),
        unowned=(),
    )


@pytest.mark.parametrize(
    ("text", "kill"),
    [
        ("worker@5s", Kill("worker", 5.0)),
        ("worker-1@0.5s", Kill("worker-1", 0.5)),
        ("coordinator@8", Kill("coordinator", 8.0)),
    ],
)
def test_a_kill_is_who_and_when(text: str, kill: Kill) -> None:
    assert parse_kill(text, workers=2) == kill


@pytest.mark.parametrize("text", ["worker", "worker@", "worker@soon", "agent@5s", "worker-@5s", "@5s", "worker@-1s"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_kill(text, workers=2)
    assert str(caught.value) == f"--kill: {text!r} is no kill; write worker@5s, worker-1@5s or coordinator@8s"


def test_a_worker_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no worker-2; the workers are worker-0 to worker-1"):
        parse_kill("worker-2@5s", workers=2)


def test_any_worker_is_the_one_that_owns_most() -> None:
    assert victim("worker", status(3, 5), CHILDREN) == "worker-1"
    assert victim("worker", status(4, 4), CHILDREN) == "worker-0"
    assert victim("worker", status(0, 0), CHILDREN) is None


def test_a_named_worker_is_killed_when_it_is_there() -> None:
    assert victim("worker-1", status(3, 0), CHILDREN) == "worker-1"
    assert victim("worker-1", status(3, 0), ("agent", "worker-0")) is None


def test_the_coordinator_is_the_agent_once_it_is_in_office() -> None:
    assert victim("coordinator", status(1, 1), CHILDREN) == "agent"
    assert victim("coordinator", status(1, 1, coordinator=""), CHILDREN) is None
    assert victim("coordinator", status(1, 1), ("worker-0",)) is None
