"""Operators that take more along than volumes when their datastore is deleted: sets, proxies, secrets.

They stand for those of Percona, for the cluster-operator of RabbitMQ, and for cloud-on-k8s.
"""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.operators.finalizing import is_ending, without_finalizer
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.operators.rings import volumes_of
from tests.integration.sieve.parts import (
    CLUSTER_LABEL,
    PODS,
    SECRETS,
    STATEFUL_SETS,
    VOLUMES,
    labels,
    secret,
    stateful_set,
)


@operator(watches=(VOLUMES,))
async def removes_members_and_then_volumes(ctx: Context, store: Object, name: str) -> None:
    """15 K8SPSMDB-430: the finalizers delete-psmdb-pods-in-order and delete-psmdb-pvc: first the set goes, then what
    volumes have the name of the datastore as their label."""
    if is_ending(store):
        if ctx.store.get(STATEFUL_SETS, name) is not None:
            await ctx.client.delete(STATEFUL_SETS, name)
        for volume in volumes_of(ctx, name):
            await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
        await without_finalizer(ctx, store)
        return
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))


COMPONENTS = ("pxc", "proxysql")


@operator(watches=(VOLUMES,))
async def removes_volumes_of_each_component(ctx: Context, store: Object, name: str) -> None:
    """31 K8SPXC-716: the finalizers delete-pxc-pvc and delete-proxysql-pvc: a look for the volumes of each component,
    by labels that a successor of the datastore uses as well."""
    if is_ending(store):
        for component in COMPONENTS:
            for volume in ctx.store.list(VOLUMES, labels=labels(name, component)):
                await ctx.client.delete(VOLUMES, volume["metadata"]["name"])
        await without_finalizer(ctx, store)
        return
    for component in COMPONENTS:
        members = stateful_set(f"{name}-{component}", name, store["spec"]["replicas"], component=component)
        await ctx.client.ensure(STATEFUL_SETS, members)


@operator(watches=(PODS,))
async def ends_its_members_at_once(ctx: Context, store: Object, name: str) -> None:
    """27 cluster-operator 648: the set is deleted by name, so that its members need not wait for each other."""
    if is_ending(store):
        if ctx.store.get(STATEFUL_SETS, name) is not None:
            await ctx.client.delete(STATEFUL_SETS, name)
        await without_finalizer(ctx, store)
        return
    members = stateful_set(name, name, store["spec"]["replicas"], volumes=False)
    await ctx.client.ensure(STATEFUL_SETS, members)


@operator(watches=(SECRETS,))
async def removes_secrets_that_have_its_name(ctx: Context, store: Object, name: str) -> None:
    """13 cloud-on-k8s 5249: Secrets are owned softly, by labels with the name of the datastore, and collected by the
    operator once that is deleted. As in the catalogue, the target is inferred from Sieve's plan."""
    if is_ending(store):
        for each in ctx.store.list(SECRETS, labels={CLUSTER_LABEL: name}):
            await ctx.client.delete(SECRETS, each["metadata"]["name"])
        await without_finalizer(ctx, store)
        return
    if ctx.store.get(SECRETS, f"{name}-certs") is None:
        certificates = secret(f"{name}-certs", name)
        certificates["metadata"]["namespace"] = store["metadata"]["namespace"]
        await ctx.client.create(SECRETS, certificates)
    members = stateful_set(name, name, store["spec"]["replicas"], volumes=False)
    await ctx.client.ensure(STATEFUL_SETS, members)
