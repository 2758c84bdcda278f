"""Acts that cannot be taken back, on a real API server: what it makes of a Scale's preconditions and of a condition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fleet.devcluster.faults.words import Refuse
from shards import Context, Controller, Request, Result
from shards.clock import boot_seconds
from shards.objects import Object, Resource
from shards.ownership.degraded import CONDITION, mark_in
from shards.settings import BreakerSettings
from tests.integration.real_stage import PAGES, Stage, guarded, seen, staged

RINGS = Resource.parse("acts-test.shardfleet.dev/v1/rings")
DEPLOYMENTS = Resource.parse("apps/v1/deployments")
LEASES = Resource.parse("coordination.k8s.io/v1/leases")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "rings.acts-test.shardfleet.dev"},
    "spec": {
        "group": RINGS.group,
        "scope": "Namespaced",
        "names": {"plural": "rings", "singular": "ring", "kind": "Ring", "listKind": "RingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": FREE, "status": FREE}}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.members", "statusReplicasPath": ".status.members"},
                },
            }
        ],
    },
}
READY = {"type": "Ready", "status": "True"}


def deployment(name: str, *, replicas: int) -> Object:
    """Nobody deploys it: the server has no controller for it."""
    labels = {"site": name}
    pod = {"containers": [{"name": "web", "image": "nginx:1.29"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@dataclass
class Rings:
    """A ring has a deployment of the same name, a page, and an order: which act its author wants done.

    seen: replicas of the deployment at each decision. entered: blocks of confirmed acts. taken: when a Lease had gone.
    """

    seen: list[int] = field(default_factory=list)
    entered: int = 0
    taken: list[float] = field(default_factory=list)

    def controller(self) -> Controller:
        rings = Controller("sites", primary=str(RINGS)).owns(str(DEPLOYMENTS)).owns(str(PAGES))
        rings.reconcile(self._reconcile)
        return rings

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        ring = ctx.store.get()
        if ring is None:
            return None
        order: str = ring["spec"].get("order", "")
        held = ctx.store.get(DEPLOYMENTS, request.name)
        if held is None:
            await ctx.client.create(DEPLOYMENTS, deployment(request.name, replicas=3))
            await ctx.client.ensure(PAGES, {"kind": "ConfigMap", "metadata": {"name": request.name}})
            return None
        self.seen.append(held["spec"]["replicas"])
        if order == "shrink" and held["spec"]["replicas"] == 3:
            await ctx.client.scale(DEPLOYMENTS, held, 2)
        elif order == "fail over" and not self.entered:
            async with ctx.confirmed(ring, reason="failover", reads=[held]):
                self.entered += 1
        elif order.startswith("members "):
            await ctx.client.scale(RINGS, request.name, int(order.removeprefix("members ")))
        elif order == "clean" and ctx.store.get(PAGES, request.name) is not None:
            await ctx.client.patch_status({"conditions": [READY]})
            await ctx.client.delete(PAGES, request.name)
        elif order == "take over" and not self.taken:
            if not await ctx.confirm_lease_expired(request.namespace, "database"):
                return Result(requeue_after_seconds=0.5)
            self.taken.append(boot_seconds())
        return None


@asynccontextmanager
async def ring(rings: Rings, kubeconfig: Path, directory: Path, **options: Any) -> AsyncIterator[Stage]:
    """One ring, `one`, whose deployment its controller has made and seen."""
    async with staged(rings.controller(), kubeconfig, directory, definition=(DEFINITION, RINGS), **options) as stage:
        body = {"apiVersion": RINGS.api_version, "kind": "Ring", "metadata": {"name": "one"}, "spec": {"members": 5}}
        await stage.hand.create(RINGS, stage.namespace, body)
        await seen(lambda: rings.seen[-1:] == [3], "the ring has a deployment")
        yield stage


async def order(stage: Stage, what: str) -> None:
    await stage.hand.merge_patch(RINGS, stage.namespace, "one", {"spec": {"order": what}})


async def replicas(stage: Stage) -> int:
    found: int = (await stage.hand.get(DEPLOYMENTS, stage.namespace, "one"))["spec"]["replicas"]
    return found


async def test_a_scale_down_that_was_decided_on_an_old_view_is_decided_again(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    rings = Rings()
    async with ring(rings, real_kubeconfig, tmp_path) as stage:
        held_back = stage.hold_back(DEPLOYMENTS)
        await stage.hand.merge_patch(DEPLOYMENTS, stage.namespace, "one", {"spec": {"replicas": 9}}, "scale")
        await order(stage, "shrink")
        await seen(lambda: rings.seen[-1] == 9, "the author has decided on what is there")
        assert await replicas(stage) == 9
        held_back.release()
        await stage.hand.merge_patch(DEPLOYMENTS, stage.namespace, "one", {"spec": {"replicas": 3}}, "scale")
        await seen(lambda: rings.seen[-1] == 2, "what was decided on the live object is done")
        assert await replicas(stage) == 2


def scaled(stage: Stage, times: int) -> bool:
    return sum(each.succeeded for each in stage.sent("patch", resource=RINGS, reason="scale")) == times


async def test_members_of_a_custom_resource_go_up_and_down_by_its_scale(real_kubeconfig: Path, tmp_path: Path) -> None:
    async with ring(Rings(), real_kubeconfig, tmp_path) as stage:
        for times, wanted in enumerate((8, 4), start=1):
            await order(stage, f"members {wanted}")
            await seen(partial(scaled, stage, times), f"it is scaled to {wanted}")
            assert (await stage.hand.get(RINGS, stage.namespace, "one"))["spec"]["members"] == wanted
        assert [each.status for each in stage.sent("patch", resource=RINGS, reason="scale")] == [200, 200]


async def test_an_act_outside_the_api_is_not_done_on_an_old_view(real_kubeconfig: Path, tmp_path: Path) -> None:
    rings = Rings()
    async with ring(rings, real_kubeconfig, tmp_path) as stage:
        held_back = stage.hold_back(DEPLOYMENTS)
        await stage.hand.merge_patch(DEPLOYMENTS, stage.namespace, "one", {"metadata": {"labels": {"moved": "yes"}}})
        decisions = len(rings.seen)
        await order(stage, "fail over")
        await seen(lambda: len(rings.seen) > decisions, "the author has decided on the old view")
        assert rings.entered == 0
        held_back.release()
        await seen(lambda: rings.entered == 1, "it is done on what is there")


async def test_a_ring_says_that_its_deletion_is_paused_and_that_it_is_no_more(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    settings = BreakerSettings(failures_to_open=2, open_seconds=1.0)

    async def conditions(stage: Stage) -> list[Object]:
        found = await stage.hand.get(RINGS, stage.namespace, "one")
        listed: list[Object] = (found.get("status") or {}).get("conditions") or []
        return listed

    async with ring(Rings(), real_kubeconfig, tmp_path, settings=guarded(settings)) as stage:
        broken = stage.proxy.faults.inject(Refuse(match=stage.match("get"), status=503))
        await order(stage, "clean")
        await seen(lambda: stage.sent("patch", resource=RINGS, reason="degraded"), "the ring is marked")
        told = await conditions(stage)
        assert [each["type"] for each in told] == ["Ready", CONDITION]
        mark = mark_in(told)
        assert mark is not None
        assert (mark["status"], mark["reason"], mark["observedGeneration"]) == ("True", "DestructiveActsPaused", 2)
        broken.release()
        await seen(lambda: len(stage.sent("patch", resource=RINGS, reason="degraded")) == 2, "and cleared")
        told = await conditions(stage)
        assert [(each["type"], each["status"]) for each in told] == [("Ready", "True"), (CONDITION, "False")]
        assert await stage.page("one") is None


async def test_a_lease_is_taken_only_after_it_stood_still_for_its_duration(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    rings = Rings()
    async with ring(rings, real_kubeconfig, tmp_path) as stage:
        spec = {"holderIdentity": "old", "leaseDurationSeconds": 2, "renewTime": "2001-01-01T00:00:00.000000Z"}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "database"},
            "spec": spec,
        }
        await stage.hand.create(LEASES, stage.namespace, lease)
        await order(stage, "take over")
        renewed_at = boot_seconds()
        for number in range(8):
            await asyncio.sleep(0.5)
            patch = {"spec": {"leaseTransitions": number}}
            await stage.hand.merge_patch(LEASES, stage.namespace, "database", patch)
            renewed_at = boot_seconds()
        assert rings.taken == []
        await seen(lambda: bool(rings.taken), "the Lease has gone", within_seconds=30)
        assert rings.taken[0] >= renewed_at + 2.0
