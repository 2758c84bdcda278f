"""Operators that take more along than volumes when their datastore is deleted: sets, proxies, secrets.

They stand for those of Percona, for the cluster-operator of RabbitMQ, and for cloud-on-k8s.
"""

from __future__ import annotations

from shards import Context, Controller, Request
from tests.integration.sieve.operators.finalizing import is_ending, without_finalizer
from tests.integration.sieve.parts import (
    CLUSTER_LABEL,
    DATASTORES,
    PODS,
    SECRETS,
    STATEFUL_SETS,
    VOLUMES,
    by_cluster,
    labels,
    secret,
    stateful_set,
)


def removes_members_and_then_volumes() -> Controller:
    """15 K8SPSMDB-430: the finalizers delete-psmdb-pods-in-order and delete-psmdb-pvc: first the set goes, then what
    volumes have the name of the datastore as their label."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.watches(VOLUMES, map=by_cluster)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        if store["metadata"].get("deletionTimestamp"):
            if is_ending(store):
                if ctx.store.get(STATEFUL_SETS, request.name) is not None:
                    await ctx.client.delete(STATEFUL_SETS, request.name)
                for volume in ctx.store.list(VOLUMES, labels={CLUSTER_LABEL: request.name}):
                    await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
                await without_finalizer(ctx, store)
            return
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(request.name, request.name, store["spec"]["replicas"]))

    return controller


COMPONENTS = ("pxc", "proxysql")


def removes_volumes_of_each_component() -> Controller:
    """31 K8SPXC-716: the finalizers delete-pxc-pvc and delete-proxysql-pvc: a look for the volumes of each component,
    by labels that a successor of the datastore uses as well."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.watches(VOLUMES, map=by_cluster)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        name = request.name
        if store["metadata"].get("deletionTimestamp"):
            if is_ending(store):
                for component in COMPONENTS:
                    for volume in ctx.store.list(VOLUMES, labels=labels(name, component)):
                        await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
                await without_finalizer(ctx, store)
            return
        for component in COMPONENTS:
            members = stateful_set(f"{name}-{component}", name, store["spec"]["replicas"], component=component)
            await ctx.client.ensure(STATEFUL_SETS, members)

    return controller


def ends_its_members_at_once() -> Controller:
    """27 cluster-operator 648: the set is deleted by name, so that its members need not wait for each other."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.watches(PODS, map=by_cluster)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        if store["metadata"].get("deletionTimestamp"):
            if is_ending(store):
                if ctx.store.get(STATEFUL_SETS, request.name) is not None:
                    await ctx.client.delete(STATEFUL_SETS, request.name)
                await without_finalizer(ctx, store)
            return
        members = stateful_set(request.name, request.name, store["spec"]["replicas"], volumes=False)
        await ctx.client.ensure(STATEFUL_SETS, members)

    return controller


def removes_secrets_that_have_its_name() -> Controller:
    """13 cloud-on-k8s 5249: Secrets are owned softly, by labels with the name of the datastore, and collected by the
    operator once that is deleted. As in the catalogue, the target is inferred from Sieve's plan."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.watches(SECRETS, map=by_cluster)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        name = request.name
        if store["metadata"].get("deletionTimestamp"):
            if is_ending(store):
                for each in ctx.store.list(SECRETS, labels={CLUSTER_LABEL: name}):
                    await ctx.client.delete(SECRETS, each["metadata"]["name"])
                await without_finalizer(ctx, store)
            return
        if ctx.store.get(SECRETS, f"{name}-certs") is None:
            certificates = secret(f"{name}-certs", name)
            certificates["metadata"]["namespace"] = request.namespace
            await ctx.client.create(SECRETS, certificates)
        members = stateful_set(name, name, store["spec"]["replicas"], volumes=False)
        await ctx.client.ensure(STATEFUL_SETS, members)

    return controller
