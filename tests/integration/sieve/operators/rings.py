"""Operators of rings: one StatefulSet with a volume per member, kept through restarts and removed with the datastore.

They stand for cass-operator, the cassandra-operator of Instaclustr, casskop and zookeeper-operator. Volumes belong to
no owner, as those of StatefulSets do: the operator finds them by the label with the name of the datastore.
"""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.operators.finalizing import is_ending, without_finalizer
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.parts import (
    BUDGETS,
    CLUSTER_LABEL,
    PODS,
    STATEFUL_SETS,
    VOLUMES,
    budget,
    ordinal,
    stateful_set,
)


def volumes_of(ctx: Context, name: str) -> list[Object]:
    return list(ctx.store.list(VOLUMES, labels={CLUSTER_LABEL: name}))


@operator()
async def removes_volumes_that_have_its_name(ctx: Context, store: Object, name: str) -> None:
    """1 K8SSAND-559, 9 casskop 316, 43 zookeeper-operator 312: a datastore that is being deleted takes along whatever
    volumes have its name as their label, and a successor of that name labels its own ones alike."""
    if is_ending(store):
        for volume in volumes_of(ctx, name):
            await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
        await without_finalizer(ctx, store)
        return
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))


@operator()
async def removes_volumes_of_its_members(ctx: Context, store: Object, name: str) -> None:
    """6 cassandra-operator 402: the same, but the volumes are those that its members would have by their names; whether
    they are there is not looked at."""
    if is_ending(store):
        for index in range(store["spec"]["replicas"]):
            await ctx.client.delete(VOLUMES, f"data-{name}-{index}")
        await without_finalizer(ctx, store)
        return
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))


@operator()
async def removes_volumes_of_members_that_leave(ctx: Context, store: Object, name: str) -> None:
    """7 cassandra-operator 407: the volume of a member goes while its pod is being deleted; the next pod of that
    ordinal gets a volume of the same name."""
    wanted = store["spec"]["replicas"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))
    for pod in ctx.store.list(PODS, labels={CLUSTER_LABEL: name}):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and ordinal(meta["name"]) >= wanted:
            await ctx.client.delete(VOLUMES, f"data-{meta['name']}")


@operator()
async def removes_volumes_beyond_what_is_ready(ctx: Context, store: Object, name: str) -> None:
    """44 zookeeper-operator 314: once as many members are ready as are wanted, volumes with higher ordinals are taken
    for left over from a scale-down (cleanupOrphanPVCs)."""
    wanted = store["spec"]["replicas"]
    members = ctx.store.get(STATEFUL_SETS, name)
    if members is None:
        members = await ctx.client.create(STATEFUL_SETS, stateful_set(name, name, wanted))
    await ctx.client.scale(STATEFUL_SETS, name, wanted)
    ready = (members.get("status") or {}).get("readyReplicas", 0)
    if ready == wanted:
        for volume in volumes_of(ctx, name):
            if ordinal(volume["metadata"]["name"]) >= wanted:
                await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
    await ctx.client.patch_status({"readyReplicas": ready})


@operator(owns=(BUDGETS,))
async def makes_its_budget_anew(ctx: Context, store: Object, name: str, *, says_what_it_rests_on: bool = False) -> None:
    """10 casskop 321: budgets could not be changed once, so one that is not as the datastore says is deleted and made
    anew. The budget is read from the server, the datastore from the view."""
    spec = store["spec"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, spec["replicas"]))
    wanted = budget(name, name, spec["maxPodUnavailable"])
    found = await ctx.live.get(BUDGETS, name)
    if found is not None and found["spec"]["maxUnavailable"] != wanted["spec"]["maxUnavailable"]:
        await ctx.client.delete(BUDGETS, name, reads=[store] if says_what_it_rests_on else ())
        found = None
    if found is None:
        await ctx.client.create(BUDGETS, wanted)
