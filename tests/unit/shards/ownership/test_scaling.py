"""The number of replicas: upwards any other write, downwards an act like a deletion."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.authoring.context import Context
from shards.authoring.controller import Controller
from shards.authoring.plain_context import PlainContext
from shards.errors import BreakerOpen, ConfigError, Conflict, ConflictingOwner, NotFound, Unreachable
from shards.objects import Object, Resource
from shards.settings import BreakerSettings
from tests.unit.shards.ownership.desk import Desk, page
from tests.unit.shards.world import CONFIGMAPS, CRDS, WEBSITES, World

pytestmark = pytest.mark.looptime

DEPLOYMENTS = Resource("apps", "v1", "deployments")
POOLS = Resource("demo.shardfleet.dev", "v1", "pools")

LABELS = {"app": "a"}
POD = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
POOL_DEFINITION: Object = {
    "metadata": {"name": "pools.demo.shardfleet.dev"},
    "spec": {
        "group": "demo.shardfleet.dev",
        "scope": "Namespaced",
        "names": {"plural": "pools", "kind": "Pool"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.members.wanted", "statusReplicasPath": ".status.members"},
                },
            }
        ],
    },
}


@pytest.fixture
def desk(world: World) -> Desk:
    desk = Desk(world)
    world.server.seed(CRDS, POOL_DEFINITION)
    desk.owns = [CONFIGMAPS, DEPLOYMENTS, POOLS]
    return desk


async def deployment(desk: Desk, replicas: int = 3) -> None:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": POD}
    body = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    await desk.do(lambda ctx: ctx.client.create(DEPLOYMENTS, body))
    await asyncio.sleep(1)


async def pool(desk: Desk, members: int = 3) -> None:
    body = {"kind": "Pool", "metadata": {"name": "web"}, "spec": {"replicas": 99, "members": {"wanted": members}}}
    await desk.do(lambda ctx: ctx.client.create(POOLS, body))
    await asyncio.sleep(1)


async def scale(desk: Desk, replicas: int, resource: Resource = DEPLOYMENTS) -> None:
    await desk.do(lambda ctx: ctx.client.scale(resource, "web", replicas))


async def wanted(world: World) -> int:
    found: int = (await world.kubectl.get(DEPLOYMENTS, "default", "web"))["spec"]["replicas"]
    return found


class TestUpwards:
    async def test_it_is_one_write_of_the_scale_with_what_was_read(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        metadata = (await world.kubectl.get(DEPLOYMENTS, "default", "web"))["metadata"]
        before = len(world.transport.sent)
        await scale(desk, 5)
        [sent] = world.transport.sent[before:]
        assert (sent.method, sent.agent.reason) == ("PATCH", "scale")
        assert sent.path.endswith("/deployments/web/scale")
        both = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        assert sent.body == {"metadata": both, "spec": {"replicas": 5}}
        assert await wanted(world) == 5

    async def test_nothing_is_sent_when_it_is_that_many(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        before = len(world.transport.sent)
        await scale(desk, 3)
        assert len(world.transport.sent) == before

    async def test_a_view_that_is_behind_writes_over_nothing(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        world.lag(DEPLOYMENTS)
        await world.kubectl.merge_patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 9}})
        with pytest.raises(Conflict):
            await scale(desk, 5)
        assert await wanted(world) == 9

    async def test_the_breaker_does_not_concern_it(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        breaker = world.runtime.guards_of("sites").breaker
        for _ in range(BreakerSettings().failures_to_open):
            breaker.read_failed(world.clock())
        await scale(desk, 5)
        with pytest.raises(BreakerOpen):
            await scale(desk, 1)
        assert await wanted(world) == 5


class TestDownwards:
    async def test_a_live_read_comes_first_and_the_breaker_counts_it(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        before = len(world.transport.sent)
        await scale(desk, 1)
        sent = world.transport.sent[before:]
        assert [each.method for each in sent] == ["GET", "PATCH"]
        assert len(world.runtime.guards_of("sites").breaker._acts) == 1
        assert await wanted(world) == 1
        labels = {"controller": "sites", "act": "scale", "reason": "", "result": "ok"}
        assert world.metric("shardfleet_destructive_acts_total", **labels) == 1

    async def test_what_changed_since_is_decided_again(self, world: World, desk: Desk) -> None:
        """Somebody scaled up meanwhile: 5 to 1 is another decision than 3 to 1."""
        await deployment(desk)
        world.lag(DEPLOYMENTS)
        await world.kubectl.merge_patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 5}})
        with pytest.raises(Conflict, match="has changed since the act was decided"):
            await scale(desk, 1)
        assert await wanted(world) == 5
        await scale(desk, 1)
        assert await wanted(world) == 1

    async def test_a_successor_of_the_name_keeps_its_replicas(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        world.lag(DEPLOYMENTS)
        await world.kubectl.delete(DEPLOYMENTS, "default", "web")
        spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": POD}
        world.server.seed(DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
        with pytest.raises(ConflictingOwner):
            await scale(desk, 0)
        assert await wanted(world) == 3

    async def test_one_that_is_gone_is_not_there(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        world.lag(DEPLOYMENTS)
        await world.kubectl.delete(DEPLOYMENTS, "default", "web")
        with pytest.raises(NotFound):
            await scale(desk, 0)
        assert desk.blocked.startswith("apps/v1/deployments default/web deleted")

    async def test_what_the_decision_rests_on_is_read_too(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page("plan", replicas="1")))
        await asyncio.sleep(1)
        world.lag(CONFIGMAPS)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "plan", {"data": {"replicas": "3"}})

        async def act(ctx: Context) -> None:
            plan = ctx.store.get(CONFIGMAPS, "plan")
            assert plan is not None
            await ctx.client.scale(DEPLOYMENTS, "web", int(plan["data"]["replicas"]), reads=[plan])

        with pytest.raises(Conflict, match="default/plan"):
            await desk.do(act)
        assert await wanted(world) == 3


class TestTheGate:
    async def test_the_answer_counts_for_the_parent(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        release = world.lag(DEPLOYMENTS)
        await scale(desk, 5)
        version = (await world.kubectl.get(DEPLOYMENTS, "default", "web"))["metadata"]["resourceVersion"]
        assert desk.blocked == f"apps/v1/deployments default/web landed {version}"
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""

    async def test_two_in_one_run_build_on_each_other(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        world.lag(DEPLOYMENTS)

        async def act(ctx: Context) -> None:
            await ctx.client.scale(DEPLOYMENTS, "web", 5)
            await ctx.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"more": "yes"}}})

        await desk.do(act)
        assert await wanted(world) == 5

    async def test_a_lost_answer_is_in_doubt_until_the_parent_was_read(self, world: World, desk: Desk) -> None:
        await deployment(desk)
        world.lag(DEPLOYMENTS)
        world.server.faults.inject(LostAck(match=Match(verbs=("patch",)), times=1))
        with pytest.raises(Unreachable):
            await scale(desk, 1)
        assert "in doubt" in desk.blocked

        async def look(ctx: Context) -> Any:
            found = ctx.store.get(DEPLOYMENTS, "web")
            return found and found["spec"]["replicas"]

        assert await desk.do(look) == 1


class TestOtherResources:
    async def test_where_a_definition_says_how_many_only_the_server_knows(self, world: World, desk: Desk) -> None:
        await pool(desk)
        await scale(desk, 4, POOLS)
        await asyncio.sleep(1)
        await scale(desk, 2, POOLS)
        found = await world.kubectl.get(POOLS, "default", "web")
        assert found["spec"] == {"replicas": 99, "members": {"wanted": 2}}
        assert len(world.runtime.guards_of("sites").breaker._acts) == 1

    async def test_a_resource_without_the_subresource_is_refused_by_name(self, desk: Desk) -> None:
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page("web")))
        await asyncio.sleep(1)
        with pytest.raises(ConfigError, match="v1/configmaps: its objects have no scale subresource"):
            await scale(desk, 2, CONFIGMAPS)

    async def test_what_is_not_there_is_not_found(self, desk: Desk) -> None:
        for resource in (DEPLOYMENTS, POOLS):
            with pytest.raises(NotFound):
                await scale(desk, 2, resource)

    @pytest.mark.parametrize("replicas", [-1, 1.5, True, "3", None, 2**31])
    async def test_what_is_no_number_of_replicas_is_refused(self, desk: Desk, replicas: Any) -> None:
        with pytest.raises(ValueError, match="replicas is a whole number from 0"):
            await scale(desk, replicas)


class TestPlainFunctions:
    async def test_it_blocks_until_it_is_done(self, world: World) -> None:
        spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": POD}
        world.server.seed(DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
        world.website("a")
        told: list[str] = []
        plain = Controller("sites", primary=str(WEBSITES)).watches(str(DEPLOYMENTS), map=lambda _: [])

        @plain.reconcile
        def reconcile(ctx: PlainContext) -> None:
            site = ctx.store.get()
            assert site is not None
            ctx.client.scale(DEPLOYMENTS, "web", 5)
            ctx.client.scale(DEPLOYMENTS, "web", 2, reads=[site])
            try:
                ctx.client.scale(DEPLOYMENTS, "web", -2)
            except ValueError as error:
                told.append(str(error))

        await world.running(plain)
        while not told:
            await asyncio.sleep(0.01)
        assert await wanted(world) == 2
        assert [each.agent.reason for each in world.transport.writes()] == ["scale", "scale"]
        world.runtime.close()
