"""The embedded server against the real one: the same histories must give the same transcripts, word for word."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.contract.differences import difference
from tests.contract.histories import History, every_history
from tests.contract.histories.sharding import sharding
from tests.contract.transcripts import Document, Stage, stage

if TYPE_CHECKING:
    from pathlib import Path

    from shards.testing.server import EmbeddedServer
    from tests.cluster.plane import ControlPlane

HISTORIES = every_history()
LEAST_STEPS = 400


def name_of(history: History) -> str:
    return f"{history.__module__.rpartition('.')[2]}-{history.__name__}"


async def played(history: History, kubeconfig: Path) -> Stage:
    async with stage(kubeconfig, secrets.token_hex(4)) as made:
        await history(made)
        return made


async def transcript_of(history: History, kubeconfig: Path) -> list[Document]:
    return (await played(history, kubeconfig)).transcript


@pytest.fixture
def embedded_unsharded(embedded: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """The embedded server with its feature gate off, for the length of a test."""
    embedded.server.settings.sharded_list_and_watch = False
    yield embedded
    embedded.server.settings.sharded_list_and_watch = True


@pytest.mark.parametrize("history", HISTORIES, ids=name_of)
async def test_both_servers_answer_a_history_alike(
    history: History, embedded: EmbeddedServer, real_kubeconfig: Path, steps: dict[str, int]
) -> None:
    ours, theirs = await asyncio.gather(
        played(history, embedded.kubeconfig), played(history, real_kubeconfig), return_exceptions=True
    )
    if isinstance(theirs, BaseException):
        raise theirs
    if isinstance(ours, BaseException):
        raise ours
    if told := difference(ours.transcript, theirs.transcript):
        pytest.fail(told, pytrace=False)
    steps[name_of(history)] = theirs.steps


def test_the_histories_are_long_enough(steps: dict[str, int]) -> None:
    if len(steps) < len(HISTORIES):
        pytest.skip("not all histories ran, or not all were equal")
    assert sum(steps.values()) >= LEAST_STEPS


async def test_both_servers_filter_by_shard_alike(embedded: EmbeddedServer, real_kubeconfig: Path) -> None:
    found = await transcript_of(sharding, embedded.kubeconfig)
    assert difference(found, await transcript_of(sharding, real_kubeconfig)) == ""
    assert {"note": "only that range", "value": True} in found
    assert {"note": "only that range", "value": False} not in found


async def test_both_servers_ignore_shard_selectors_alike_when_the_gate_is_off(
    embedded_unsharded: EmbeddedServer, real_cluster_unsharded: ControlPlane
) -> None:
    found = await transcript_of(sharding, embedded_unsharded.kubeconfig)
    assert difference(found, await transcript_of(sharding, real_cluster_unsharded.kubeconfig)) == ""
    assert {"note": "everything", "value": False} not in found


async def test_two_histories_on_one_server_give_equal_transcripts(embedded: EmbeddedServer) -> None:
    first = await transcript_of(HISTORIES[0], embedded.kubeconfig)
    assert difference(first, await transcript_of(HISTORIES[0], embedded.kubeconfig)) == ""
    assert first != await transcript_of(HISTORIES[1], embedded.kubeconfig)
