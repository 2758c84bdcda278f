"""The embedded server against the real one: the same histories must give the same transcripts, word for word."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.contract.histories import HISTORIES, History, sharding
from tests.contract.transcripts import Document, stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.plane import ControlPlane
    from tests.embedded import EmbeddedServer


async def transcript_of(history: History, kubeconfig: Path) -> list[Document]:
    async with stage(kubeconfig, f"history-{secrets.token_hex(4)}") as made:
        await history(made)
        return made.transcript


@pytest.fixture
def embedded_unsharded(embedded: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """The embedded server with its feature gate off, for the length of a test."""
    embedded.server.settings.sharded_list_and_watch = False
    yield embedded
    embedded.server.settings.sharded_list_and_watch = True


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: str(history.__name__))
async def test_both_servers_answer_a_history_alike(
    history: History, embedded: EmbeddedServer, real_cluster: ControlPlane
) -> None:
    assert await transcript_of(history, embedded.kubeconfig) == await transcript_of(history, real_cluster.kubeconfig)


async def test_both_servers_filter_by_shard_alike(embedded: EmbeddedServer, real_cluster: ControlPlane) -> None:
    found = await transcript_of(sharding, embedded.kubeconfig)
    assert found == await transcript_of(sharding, real_cluster.kubeconfig)
    assert {"note": "only that range", "value": True} in found
    assert {"note": "only that range", "value": False} not in found


async def test_both_servers_ignore_shard_selectors_alike_when_the_gate_is_off(
    embedded_unsharded: EmbeddedServer, real_cluster_unsharded: ControlPlane
) -> None:
    found = await transcript_of(sharding, embedded_unsharded.kubeconfig)
    assert found == await transcript_of(sharding, real_cluster_unsharded.kubeconfig)
    assert {"note": "everything", "value": False} not in found


async def test_two_histories_on_one_server_give_equal_transcripts(embedded: EmbeddedServer) -> None:
    first = await transcript_of(HISTORIES[0], embedded.kubeconfig)
    assert first == await transcript_of(HISTORIES[0], embedded.kubeconfig)
    assert first != await transcript_of(HISTORIES[1], embedded.kubeconfig)
