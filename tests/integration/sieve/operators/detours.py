"""Operators that go wrong without any fault of the cluster, or by what happens after their own deletion: each as it
was, and as it would be. They stand for cassandra-operator, zookeeper-operator, and those of Percona and Yugabyte."""

from __future__ import annotations

import asyncio

from shards import Context
from shards.objects import Object
from tests.integration.sieve.actor import is_ready
from tests.integration.sieve.operators.finalizing import is_ending, without_finalizer
from tests.integration.sieve.operators.frame import Maker, operator
from tests.integration.sieve.operators.steps import pods_of, scale, sealed
from tests.integration.sieve.parts import (
    CLUSTER_LABEL,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    ordinal,
    service,
    stateful_set,
)


@operator()
async def takes_the_last_of_the_list(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """5 cassandra-operator 400: the member that leaves is the last one of a list of pods, and is waited for. Cured: the
    one with the highest ordinal."""
    wanted, leaving = store["spec"]["replicas"], (store.get("status") or {}).get("leaving")
    members = ctx.store.get(STATEFUL_SETS, name)
    if members is None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted, volumes=False))
    elif leaving and not (cured and wanted < members["spec"]["replicas"]):
        if ctx.store.get(PODS, leaving) is None:
            await ctx.client.patch_status({"leaving": None})
    elif wanted < members["spec"]["replicas"]:
        names = [each["metadata"]["name"] for each in ctx.store.list(PODS, labels={CLUSTER_LABEL: name})]
        last = max(names, key=ordinal) if cured else names[-1]
        await ctx.client.patch_status({"leaving": last})
        await scale(ctx, name, wanted)


@operator()
async def admits_members_that_have_not_left(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """8 cassandra-operator 410: who has left is on a list until it is gone, and one that is wanted again before stays
    on it. Cured: who is wanted again is taken off."""
    wanted, status = store["spec"]["replicas"], store.get("status") or {}
    members, left = ctx.store.get(STATEFUL_SETS, name), status.get("left")
    have = members["spec"]["replicas"] if members is not None else 0
    if members is None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted, volumes=False))
    elif wanted < have:
        await ctx.client.patch_status({"phase": "down", "left": f"{name}-{have - 1}"})
        await scale(ctx, name, wanted)
    elif wanted > have:
        await ctx.client.patch_status({"phase": "up", "left": None if cured else left})
        await scale(ctx, name, wanted)
    elif status.get("phase") == "down" and ctx.store.get(PODS, str(left)) is None:
        await ctx.client.patch_status({"phase": "done", "left": None})
    for pod in pods_of(ctx, name):
        meta = pod["metadata"]
        if is_ready(pod) and meta["name"] != left and not meta["labels"].get("admitted"):
            await ctx.client.patch(PODS, meta["name"], {"metadata": {"labels": {"admitted": "yes"}}})


@operator()
async def looks_into_what_is_not_there(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """17 K8SPSMDB-434: the servers of the configuration are looked into before they are made. Cured: made first."""
    members = store["spec"]["replicas"]
    if store["spec"].get("sharding"):
        config = f"{name}-cfg"
        if cured:
            await ctx.client.ensure(STATEFUL_SETS, stateful_set(config, name, 1, component="cfg", volumes=False))
        held: Object = ctx.store.get(STATEFUL_SETS, config)  # type: ignore[assignment]
        members += held["spec"]["replicas"] - 1
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(config, name, 1, component="cfg", volumes=False))
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, members, volumes=False))


def keeps_what_users_need(resource: str) -> Maker:
    """22 K8SPSMDB-590, 45 zookeeper-operator 410: the run that lets the datastore go goes on afterwards, and makes
    again what is missing. By then the garbage collector has begun."""

    @operator(owns=(resource,))
    async def keeps(ctx: Context, store: Object, name: str) -> None:
        if is_ending(store):
            await without_finalizer(ctx, store)
            await asyncio.sleep(0.02)  # it asks the database
        for each in (f"{name}-users", f"{name}-internal"):
            if ctx.store.get(resource, each) is None:
                body = sealed(each, name)
                await ctx.client.create(resource, body if resource == SECRETS else {**body, "data": {"of": name}})

    return keeps


@operator()
async def stops_at_an_error(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """23 K8SPSMDB-591: servers of the configuration that are still going are an error, and an error is for somebody to
    look at. Cured: they are waited for, and the state is worked out anew each time."""
    if (store.get("status") or {}).get("state") == "error" and not cured:
        return
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"], volumes=False))
    config = ctx.store.get(STATEFUL_SETS, f"{name}-cfg")
    going = config is not None and config["metadata"].get("deletionTimestamp")
    if not store["spec"]["sharding"]:
        if config is not None and not going:
            await ctx.client.delete(STATEFUL_SETS, f"{name}-cfg", propagation="Foreground")
    elif going:
        await ctx.client.patch_status({"state": "waiting" if cured else "error"})
        return
    else:
        wanted = stateful_set(f"{name}-cfg", name, 1, component="cfg", volumes=False)
        await ctx.client.ensure(STATEFUL_SETS, wanted)
    await ctx.client.patch_status({"state": "ready"})


@operator(owns=(SERVICES,))
async def opens_a_port(ctx: Context, store: Object, name: str) -> None:
    """38 yugabyte-operator 33: the page is there while it has a port."""
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"], volumes=False))
    port = store["spec"].get("tserverUIPort")
    if port:
        await ctx.client.ensure(SERVICES, service(f"{name}-ui", name, port))
    elif ctx.store.get(SERVICES, f"{name}-ui") is not None:
        await ctx.client.delete(SERVICES, f"{name}-ui")


@operator()
async def restarts_members_until_it_is_recorded(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """42 yugabyte-operator 43: masters are restarted one by one with or without TLS, which is recorded when all are.
    What is switched back before counts as done. Cured: each master is looked at."""
    tls = "on" if store["spec"]["tls"] else "off"
    members = stateful_set(name, name, store["spec"]["replicas"], volumes=False)
    members["spec"]["template"]["metadata"]["annotations"] = {"tls": tls}
    await ctx.client.ensure(STATEFUL_SETS, members)
    if (store.get("status") or {}).get("tls", "off") == tls and not cured:
        return
    for pod in pods_of(ctx, name):
        meta = pod["metadata"]
        if meta["annotations"]["tls"] != tls and not meta.get("deletionTimestamp"):
            await ctx.client.delete(PODS, meta["name"])
        if meta["annotations"]["tls"] != tls or not is_ready(pod):
            return
    await ctx.client.patch_status({"tls": tls})
