"""Never act on a stale view, on a real kube-apiserver: deletes, successors of the same name, lost answers, the breaker.

What happened is judged from what the proxy in front of the server recorded and from what the server has, not from what
the fleet says of itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleet.devcluster.faults.words import LostAck, Refuse
from fleet.devcluster.recording.journal import LOST, REFUSED
from shards import Context, Controller, Request
from shards.clock import boot_seconds
from shards.limits.breaker import Breaker
from shards.objects import Object
from shards.ownership.live import Guards
from shards.runtime import WorkerRuntime
from shards.settings import BreakerSettings
from tests.integration.real_stage import PAGES, SITES, Stage, seen, staged

KEPT, EXPIRED = "kept", "expired"

UNDER_WAY_SECONDS = 0.5
"""What was sent before the breaker opened is answered by then."""


@dataclass
class Author:
    """One page for each site. A site whose order is `clean` loses its page once that has expired; one whose order is
    `mark` has it marked then. Decides by its view alone.

    decided: what the page said at each decision, by site. hasty: deletes without the fleet's client, as a script would.
    """

    decided: dict[str, list[str]] = field(default_factory=dict)
    generated: bool = False
    hasty: Stage | None = None

    def controller(self) -> Controller:
        sites = Controller("sites", primary=str(SITES)).owns(str(PAGES))
        sites.reconcile(self._reconcile)
        return sites

    async def _reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        order = (site["spec"]["template"]["metadata"].get("annotations") or {}).get("act", "")
        # Before what it may not be allowed to do: status goes on while destructive acts are paused.
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})
        owned = ctx.store.owned(PAGES)
        if not owned:
            if order != "clean":
                await self._create(ctx, request)
            return
        [page] = owned
        text = page["data"]["text"]
        self.decided.setdefault(request.name, []).append(text)
        if text == EXPIRED and order == "mark":
            await ctx.client.patch(PAGES, page["metadata"]["name"], {"data": {"mark": "seen"}})
        elif text == EXPIRED and order == "clean":
            await self._clean(ctx, page)

    async def _create(self, ctx: Context, request: Request) -> None:
        metadata = {"generateName": f"{request.name}-"} if self.generated else {"name": request.name}
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": KEPT}}
        await ctx.client.create(PAGES, body, allow_generate_name=self.generated)

    async def _clean(self, ctx: Context, page: Object) -> None:
        name = page["metadata"]["name"]
        if self.hasty is None:
            await ctx.client.delete(PAGES, name)
        else:
            await self.hasty.hand.delete(PAGES, self.hasty.namespace, name)


async def put_up(stage: Stage, author: Author, *names: str, text: str) -> None:
    """Sites with their pages, which say that, as the view has it."""
    for name in names:
        await stage.put_up(name)
    for name in names:
        await seen(lambda name=name: author.decided.get(name), f"{name} has a page")  # type: ignore[misc]
        if text != KEPT:
            await stage.write_page(name, text)
            await seen(lambda name=name: author.decided[name][-1] == text, f"the page of {name} says {text}")  # type: ignore[misc]


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


# -- the breaker -----------------------------------------------------------------------------------------------------


def guarded(settings: BreakerSettings, runtime: WorkerRuntime) -> None:
    """A breaker whose times a test can wait for."""
    guards = Guards.of(runtime.settings.gate, runtime.clock())
    runtime.guards["sites"] = Guards(guards.budget, Breaker(settings))


def observed(stage: Stage, name: str) -> int:
    """How often the site's status was written, as far as the server carried it out."""
    written = stage.sent("patch", resource=SITES, reason="status", key=name)
    return sum(each.succeeded for each in written)


async def test_while_live_reads_fail_nothing_is_deleted_and_status_goes_on(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author, settings = Author(), BreakerSettings(failures_to_open=3, open_seconds=2.0)
    names = ("one", "two", "three", "four")
    async with staged(
        author.controller(), real_kubeconfig, tmp_path, prepare=lambda runtime: guarded(settings, runtime)
    ) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        broken = stage.proxy.faults.inject(Refuse(match=stage.match("get"), status=503))
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent(REFUSED)) >= settings.failures_to_open, "three live reads have failed")
        opened_at = stage.sent(REFUSED)[settings.failures_to_open - 1].time
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        await seen(lambda: probes(stage, opened_at), "one key asks whether it goes again")
        assert stage.sent("delete") == []
        assert len(await stage.pages()) == len(names) + 1
        broken.release()
        healed_at = boot_seconds()
        await seen(lambda: len(stage.sent("delete")) == len(names), "deletes go on by themselves")
        assert all(each.time > healed_at for each in stage.sent("delete"))
        assert [page["metadata"]["name"] for page in await stage.pages()] == ["bystander"]
        # Open means that nobody even asks; what was under way is answered.
        assert probes(stage, opened_at)[0] - opened_at >= settings.open_seconds * 0.9


def probes(stage: Stage, opened_at: float) -> list[float]:
    """When live reads failed after those that were under way as the breaker opened."""
    return [each.time for each in stage.sent(REFUSED) if each.time - opened_at > UNDER_WAY_SECONDS]


async def test_too_many_deletes_at_once_are_stretched_and_status_goes_on(real_kubeconfig: Path, tmp_path: Path) -> None:
    author, settings = Author(), BreakerSettings(destructive_limit=3, window_seconds=4.0, open_seconds=1.0)
    names = [f"site-{number}" for number in range(5)]
    async with staged(
        author.controller(), real_kubeconfig, tmp_path, prepare=lambda runtime: guarded(settings, runtime)
    ) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent("delete")) == settings.destructive_limit, "as many as the window takes")
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        assert len(stage.sent("delete")) == settings.destructive_limit
        assert len(await stage.pages()) == len(names) + 1 - settings.destructive_limit
        await seen(lambda: len(stage.sent("delete")) == len(names), "the others follow", within_seconds=30.0)
        times = [each.time for each in stage.sent("delete")]
        first, fourth = times[0], times[settings.destructive_limit]
        assert fourth - first >= settings.window_seconds * 0.9
        assert Counter(each.status for each in stage.sent("delete")) == {200: len(names)}
