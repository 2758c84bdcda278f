"""Operators of rings: one StatefulSet with a volume per member, kept through restarts and removed with the datastore.

They stand for cass-operator, the cassandra-operator of Instaclustr, casskop and zookeeper-operator. Volumes belong to
no owner, as those of StatefulSets do: the operator finds them by the label with the name of the datastore.
"""

from __future__ import annotations

from shards import Context, Controller, Request
from shards.objects import Object
from tests.integration.sieve.parts import (
    CLUSTER_LABEL,
    DATASTORES,
    FINALIZER,
    PODS,
    STATEFUL_SETS,
    VOLUMES,
    by_cluster,
    ordinal,
    stateful_set,
)


def ring() -> Controller:
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.watches(PODS, map=by_cluster)
    controller.watches(VOLUMES, map=by_cluster)
    return controller


def volumes_of(ctx: Context, name: str) -> list[Object]:
    return list(ctx.store.list(VOLUMES, labels={CLUSTER_LABEL: name}))


async def without_finalizer(ctx: Context, store: Object) -> None:
    rest = [each for each in store["metadata"].get("finalizers", ()) if each != FINALIZER]
    await ctx.client.patch(DATASTORES, store["metadata"]["name"], {"metadata": {"finalizers": rest}})


def removes_volumes_with_the_datastore() -> Controller:
    """1 K8SSAND-559, 9 casskop 316, 43 zookeeper-operator 312: a datastore that is being deleted takes along whatever
    volumes have its name as their label, and a successor of that name labels its own ones alike."""
    controller = ring()

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        if store["metadata"].get("deletionTimestamp"):
            if FINALIZER in store["metadata"].get("finalizers", ()):
                for volume in volumes_of(ctx, request.name):
                    await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
                await without_finalizer(ctx, store)
            return
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(request.name, request.name, store["spec"]["replicas"]))

    return controller


def removes_volumes_beyond_what_is_ready() -> Controller:
    """44 zookeeper-operator 314: once as many members are ready as are wanted, volumes with higher ordinals are taken
    for left over from a scale-down (cleanupOrphanPVCs)."""
    controller = ring()

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None or store["metadata"].get("deletionTimestamp"):
            return
        wanted = store["spec"]["replicas"]
        members = await ctx.client.ensure(STATEFUL_SETS, stateful_set(request.name, request.name, wanted))
        ready = (members.get("status") or {}).get("readyReplicas", 0)
        if ready == wanted:
            for volume in volumes_of(ctx, request.name):
                if ordinal(volume["metadata"]["name"]) >= wanted:
                    await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
        await ctx.client.patch_status({"readyReplicas": ready})

    return controller
