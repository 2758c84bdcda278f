"""Never act on a stale view, on a real kube-apiserver: deletes, successors of the same name, lost answers.

What happened is judged from what the proxy in front of the server recorded and from what the server has, not from what
the fleet says of itself.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fleet.devcluster.faults.words import LostAck
from fleet.devcluster.recording.journal import LOST
from shards.api.useragent import UserAgent
from shards.clock import boot_seconds
from shards.objects import Object
from tests.integration.real_pages import EXPIRED, KEPT, Author, put_up
from tests.integration.real_stage import PAGES, SITES, Stage, seen, staged

# -- decisions on an old view ----------------------------------------------------------------------------------------


async def test_a_delete_that_was_decided_on_an_old_snapshot_is_decided_again(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author = Author()
    async with staged(author.controller(), real_kubeconfig, tmp_path) as stage:
        await put_up(stage, author, "shop", text=EXPIRED)
        hold = stage.hold_back()
        moved_on = await stage.write_page("shop", KEPT)
        await stage.order("shop", "clean")
        await seen(
            lambda: author.decided["shop"][-2:] == [EXPIRED, KEPT], "the decision is made again on the live page"
        )
        assert stage.sent("get", reason="delete"), "it was looked at before it was to be deleted"
        hold.release()
        await seen(lambda: not stage.shard.unsettled(), "nothing is left to do")
        assert stage.sent("delete") == []
        assert await stage.page("shop") == moved_on
        # What is still so when it is looked at is deleted, and nothing else: exactly what was read.
        expired = await stage.write_page("shop", EXPIRED)
        await seen(lambda: stage.sent("delete"), "the page is deleted")
        [deletion] = stage.sent("delete")
        assert deletion.sent is not None
        assert deletion.sent.uid == expired["metadata"]["uid"]
        assert deletion.sent.version == expired["metadata"]["resourceVersion"]
        assert await stage.page("shop") is None


async def _successor(stage: Stage, name: str) -> Object:
    """Somebody deletes the page and makes another one of its name, which the worker's view does not show."""
    old = await stage.page(name)
    assert old is not None
    await stage.hand.delete(PAGES, stage.namespace, name)
    metadata = {each: old["metadata"][each] for each in ("name", "labels", "ownerReferences")}
    return await stage.hand.create(
        PAGES, stage.namespace, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": KEPT}}
    )


@pytest.mark.parametrize("act", ["clean", "mark"])
async def test_an_old_decision_leaves_a_successor_of_the_same_name_alone(
    act: str, real_kubeconfig: Path, tmp_path: Path
) -> None:
    author = Author()
    async with staged(author.controller(), real_kubeconfig, tmp_path) as stage:
        await put_up(stage, author, "shop", text=EXPIRED)
        hold = stage.hold_back()
        successor = await _successor(stage, "shop")
        await stage.order("shop", act)
        await seen(
            lambda: author.decided["shop"][-2:] == [EXPIRED, KEPT], "the decision is made again on the successor"
        )
        hold.release()
        await seen(lambda: not stage.shard.unsettled(), "nothing is left to do")
        assert await stage.page("shop") == successor
        assert not [each for each in stage.sent("delete", "patch", "update") if each.succeeded]


async def test_the_same_decisions_without_the_fleets_client_hit_what_has_moved_on(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author = Author()
    async with staged(author.controller(), real_kubeconfig, tmp_path) as stage:
        author.hasty = stage
        await put_up(stage, author, "shop", text=EXPIRED)
        stage.hold_back()
        await _successor(stage, "shop")
        await stage.order("shop", "clean")
        await seen(lambda: author.decided["shop"][-1] == EXPIRED, "it decides on the old view")
        deadline = boot_seconds() + 10.0
        while await stage.page("shop") is not None:
            assert boot_seconds() < deadline, "the successor is deleted"
            await asyncio.sleep(0.05)


async def test_a_reconcile_of_a_primary_that_is_recreated_meanwhile_leaves_its_successor_alone(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author = Author()
    async with staged(author.controller(), real_kubeconfig, tmp_path) as stage:
        await put_up(stage, author, "shop", text=KEPT)
        await seen(lambda: not stage.shard.unsettled(), "nothing is left to do")
        author.going_on.clear()
        begun = author.begun
        await stage.order("shop", "mark")
        await seen(lambda: author.begun > begun, "a reconcile is in its middle")
        hold = stage.hold_back(SITES)
        await stage.hand.delete(SITES, stage.namespace, "shop")
        successor = (await stage.put_up("shop"))["metadata"]["uid"]
        author.going_on.set()
        await seen(lambda: stage.sent("patch", resource=SITES)[-1].status == 409, "its status is refused")
        hold.release()
        await seen(lambda: stage.sent("patch", resource=SITES)[-1].uid == successor, "the successor gets its own")
        for entry in stage.sent("patch", resource=SITES):
            agent = UserAgent.parse(entry.user_agent)
            assert agent is not None
            assert not entry.succeeded or agent.uid == entry.uid


# -- answers that get lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generated", [False, True], ids=["named", "generated"])
async def test_a_create_whose_answer_was_lost_is_made_once_and_its_key_goes_on_by_itself(
    generated: bool, real_kubeconfig: Path, tmp_path: Path
) -> None:
    author = Author(generated=generated)
    async with staged(author.controller(), real_kubeconfig, tmp_path) as stage:
        # The view shows nothing of it, so that only a live read can end the doubt.
        hold = stage.hold_back()
        stage.proxy.faults.inject(LostAck(match=stage.match("create"), times=1))
        await stage.put_up("shop")
        await seen(lambda: author.decided.get("shop"), "the key runs on the page that was made")
        read = "list 200" if generated else "get 200"
        assert stage.story()[:3] == ["create 201", LOST, read]
        hold.release()
        await seen(lambda: not stage.shard.unsettled(), "nothing is left to do")
        [page] = await stage.pages()
        assert page["metadata"]["ownerReferences"][0]["name"] == "shop"
        assert len(stage.sent("create")) == 1
