"""Operators that do their work in steps, and take what one step left behind for the whole of it: each as it was, and as
it would get on after a crash at any step. They stand for cass-operator, casskop, nifikop, and those of RabbitMQ and
Percona."""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.actor import is_ready
from tests.integration.sieve.operators.finalizing import is_ending, without_finalizer
from tests.integration.sieve.operators.frame import Maker, operator
from tests.integration.sieve.operators.rings import volumes_of
from tests.integration.sieve.parts import (
    CLUSTER_LABEL,
    PODS,
    SECRETS,
    STATEFUL_SETS,
    VOLUMES,
    labels,
    ordinal,
    stateful_set,
)

SEALED = "c2VhbGVk"


def sealed(name: str, cluster: str, value: str = SEALED) -> Object:
    """A Secret. value: base64."""
    return {"metadata": {"name": name, "labels": labels(cluster)}, "data": {"value": value}}


def pods_of(ctx: Context, name: str) -> list[Object]:
    """In order of their ordinals."""
    found = list(ctx.store.list(PODS, labels={CLUSTER_LABEL: name}))
    return sorted(found, key=lambda each: ordinal(each["metadata"]["name"]))


async def scale(ctx: Context, name: str, replicas: int) -> None:
    await ctx.client.patch(STATEFUL_SETS, name, {"spec": {"replicas": replicas}})


@operator(owns=(SECRETS,))
async def signs_what_it_has_just_made(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """2 K8SSAND-1023: the keystore of the members is signed with a key that is known only where the authority's Secret
    was made. Cured: the key is kept in that Secret, and each of both is ensured."""
    authority, keystore = sealed(f"{name}-ca", name), sealed(f"{name}-keystore", name)
    if cured:
        await ctx.client.ensure(SECRETS, authority)
        await ctx.client.ensure(SECRETS, keystore)
    elif ctx.store.get(SECRETS, f"{name}-ca") is None:
        await ctx.client.create(SECRETS, authority)
        await ctx.client.create(SECRETS, keystore)
    if ctx.store.get(SECRETS, f"{name}-keystore") is not None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))


async def mark(ctx: Context, pod: Object, state: str) -> None:
    await ctx.client.patch(PODS, pod["metadata"]["name"], {"metadata": {"labels": {"state": state}}})


@operator()
async def starts_members_one_by_one(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """3 K8SSAND-1362: a member is marked as starting, and then told to start. One that is marked is left to whoever
    marked it. Cured: it is told again, which does no harm."""
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
    for pod in pods_of(ctx, name):
        state = pod["metadata"]["labels"].get("state", "ready to start")
        if not is_ready(pod) or (state == "starting" and not cured):
            return
        if state != "started":
            await mark(ctx, pod, "starting")
            await mark(ctx, pod, "started")


async def leave(ctx: Context, name: str, have: int, member: str, *, cured: bool) -> None:
    if ctx.store.get(PODS, member) is not None:
        await scale(ctx, name, min(have, ordinal(member)))
    elif not cured:
        raise LookupError(f"pod {member} not found")
    await ctx.client.patch_status({"phase": "removing"})


@operator()
async def removes_a_member_by_phases(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """12 casskop 370: a phase is recorded after its work, and the work of the phase before cannot be done twice.
    Cured: a member that is gone already has left."""
    wanted, status = store["spec"]["replicas"], store.get("status") or {}
    members = ctx.store.get(STATEFUL_SETS, name)
    if members is None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))
        return
    have, phase = members["spec"]["replicas"], status.get("phase", "running")
    member = status.get("member") or f"{name}-{have - 1}"
    if phase == "running" and wanted > have:
        await scale(ctx, name, wanted)
    elif phase == "running" and wanted < have:
        await ctx.client.patch_status({"phase": "leaving", "member": member})
        await leave(ctx, name, have, member, cured=cured)
    elif phase == "leaving":
        await leave(ctx, name, have, member, cured=cured)
    elif phase == "removing" and ctx.store.get(PODS, member) is None:
        await ctx.client.delete(VOLUMES, f"data-{member}")
        await ctx.client.patch_status({"phase": "running", "member": None})


@operator(owns=(SECRETS,))
async def restarts_members_when_it_writes_their_config(
    ctx: Context, store: Object, name: str, *, cured: bool = False
) -> None:
    """24 nifikop 49: members are restarted by the run that changes their config. Cured: each carries the config that
    it began with, and is restarted when that is another one."""
    config = store["spec"]["config"]
    held = ctx.store.get(SECRETS, f"{name}-config")
    await ctx.client.ensure(SECRETS, sealed(f"{name}-config", name, config))
    members = stateful_set(name, name, store["spec"]["replicas"])
    if cured:
        members["spec"]["template"]["metadata"]["annotations"] = {"config": config}
    await ctx.client.ensure(STATEFUL_SETS, members)
    changed = held is not None and held["data"]["value"] != config
    for pod in pods_of(ctx, name):
        meta = pod["metadata"]
        behind = (meta.get("annotations") or {}).get("config") != config if cured else changed
        if behind and not meta.get("deletionTimestamp"):
            await ctx.client.delete(PODS, meta["name"])


@operator()
async def makes_what_its_status_lacks(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """25 nifikop 79: a member whose status is there counts as made. Cured: what is there is looked at."""
    if (store.get("status") or {}).get("member") and not cured:
        return
    await ctx.client.patch_status({"member": "made"})
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))


@operator()
async def records_a_size_before_it_asks_for_it(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """30 cluster-operator 782: volumes are resized when the recorded size is another one. Cured: when theirs is."""
    size = store["spec"]["volume"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
    recorded = (store.get("status") or {}).get("volume")
    await ctx.client.patch_status({"volume": size})
    for claim in volumes_of(ctx, name):
        requests = claim["spec"]["resources"]["requests"]
        if requests["storage"] != size if cured else recorded not in (None, size):
            patch = {"spec": {"resources": {"requests": {"storage": size}}}}
            await ctx.client.patch(VOLUMES, claim["metadata"]["name"], patch)


@operator()
async def tears_down_while_there_are_members(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
    """37 K8SPXC-979: volumes go together with the StatefulSet. Cured: whether that is there or not."""
    if not is_ending(store):
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
        return
    members = ctx.store.get(STATEFUL_SETS, name)
    if members is not None:
        await ctx.client.delete(STATEFUL_SETS, name)
    if members is not None or cured:
        for claim in volumes_of(ctx, name):
            await ctx.client.delete(VOLUMES, claim["metadata"]["name"])
    await without_finalizer(ctx, store)


@operator()
async def goes_on_with_a_removal_that_is_recorded(
    ctx: Context, store: Object, name: str, *, cured: bool = False
) -> None:
    """26 nifikop 86: a removal that was recorded is waited for, though it is not wanted any more and was never begun.
    Cured: what is wanted decides, and the record is dropped."""
    wanted, removing = store["spec"]["replicas"], (store.get("status") or {}).get("removing")
    members = ctx.store.get(STATEFUL_SETS, name)
    have = members["spec"]["replicas"] if members is not None else 0
    if wanted < have:
        await ctx.client.patch_status({"removing": f"{name}-{have - 1}"})
        await scale(ctx, name, have - 1)
    elif removing:
        if ctx.store.get(PODS, removing) is None or (cured and ordinal(removing) < wanted):
            await ctx.client.patch_status({"removing": None})
    else:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, wanted))


def makes_a_pair_where_the_first_is_missing(resource: str) -> Maker:
    """19 K8SPSMDB-578, 20 K8SPSMDB-579, 34 K8SPXC-896, 35 K8SPXC-897: two Secrets, or two certificates (which stand as
    ConfigMaps here), are made in one go, and the first one alone decides whether. Cured: each is ensured."""

    @operator(owns=(resource,))
    async def makes(ctx: Context, store: Object, name: str, *, cured: bool = False) -> None:
        pair = [sealed(f"{name}-ssl", name), sealed(f"{name}-ssl-internal", name)]
        if resource != SECRETS:
            pair = [{**each, "data": {"issuer": name}} for each in pair]
        if cured or ctx.store.get(resource, f"{name}-ssl") is None:
            for each in pair:
                await (ctx.client.ensure if cured else ctx.client.create)(resource, each)
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))

    return makes
