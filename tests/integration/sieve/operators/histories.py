"""Operators whose outcome depends on what they have seen on the way, and not only on what is wanted: each as it was,
and as it would be. They stand for cassandra-operator, casskop, zookeeper-operator, and those of Percona, RabbitMQ and
Yugabyte."""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.operators.rings import volumes_of
from tests.integration.sieve.operators.steps import pods_of, scale
from tests.integration.sieve.parts import STATEFUL_SETS, VOLUMES, ordinal, stateful_set


async def remove_volumes_beyond(ctx: Context, name: str, replicas: int) -> None:
    for claim in volumes_of(ctx, name):
        meta = claim["metadata"]
        if ordinal(meta["name"]) >= replicas and not meta.get("deletionTimestamp"):
            await ctx.client.delete(VOLUMES, meta["name"])


@operator()
async def removes_volumes_of_members_it_sees_going(
    ctx: Context, store: Object, name: str, *, cured: bool = False
) -> None:
    """4 cassandra-operator 398: a volume goes when its pod is seen with a deletionTimestamp. Cured: when it is beyond
    what is wanted."""
    wanted = store["spec"]["replicas"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))
    if cured:
        await remove_volumes_beyond(ctx, name, wanted)
        return
    for pod in pods_of(ctx, name):
        if pod["metadata"].get("deletionTimestamp"):
            await ctx.client.delete(VOLUMES, f"data-{pod['metadata']['name']}")


@operator()
async def shrinks_by_one_or_not_at_all(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """11 casskop 342: more than one step down at a time is refused. Cured: it takes one step at a time."""
    wanted, members = store["spec"]["replicas"], ctx.store.get(STATEFUL_SETS, name)
    if members is None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))
        return
    have = members["spec"]["replicas"]
    if have - wanted <= 1:
        await scale(ctx, name, wanted)
    elif cured and (members.get("status") or {}).get("replicas") == have:
        await scale(ctx, name, have - 1)


@operator()
async def puts_an_arbiter_in_the_place_of_a_member(
    ctx: Context, store: Object, name: str, *, cured: bool = False
) -> None:
    """21 K8SPSMDB-585, 36 K8SPXC-918: volumes of members that are not wanted any more stay. Cured: they go."""
    arbiter = bool(store["spec"].get("arbiter"))
    wanted = store["spec"]["replicas"] - arbiter
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))
    if arbiter:
        alone = stateful_set(f"{name}-arbiter", name, 1, component="arbiter", volumes=False)
        await ctx.client.ensure(STATEFUL_SETS, alone)
    elif ctx.store.get(STATEFUL_SETS, f"{name}-arbiter") is not None:
        await ctx.client.delete(STATEFUL_SETS, f"{name}-arbiter")
    if cured:
        await remove_volumes_beyond(ctx, name, wanted)


@operator()
async def never_shrinks(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """29 cluster-operator 758: fewer members than there are, are ignored. Cured: what is wanted last counts."""
    wanted, members = store["spec"]["replicas"], ctx.store.get(STATEFUL_SETS, name)
    have = members["spec"]["replicas"] if members is not None and not cured else 0
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, max(wanted, have), volumes=False))


@operator()
async def never_shrinks_its_masters(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """41 yugabyte-operator 39: servers follow what is wanted, masters only upwards. Cured: both follow."""
    wanted, masters = store["spec"]["replicas"], ctx.store.get(STATEFUL_SETS, f"{name}-master")
    have = masters["spec"]["replicas"] if masters is not None and not cured else 0
    await ctx.client.ensure(
        STATEFUL_SETS, stateful_set(f"{name}-master", name, max(wanted, have), component="master", volumes=False)
    )
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted, volumes=False))


@operator()
async def follows_what_is_wanted(ctx: Context, store: Object, name: str) -> None:
    """46 zookeeper-operator 453."""
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
