"""Operators of databases with parts that can be switched on and off: shards, arbiters, proxies, TLS, an interface.

Each stands for bugs of one structure: what the view says is off is deleted by name. They stand for the operators of
Percona for MongoDB (16, 18) and XtraDB (32, 33), for yugabyte-operator (39, 40) and cloud-on-k8s (14).
"""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.parts import (
    BUDGETS,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    budget,
    secret,
    service,
    stateful_set,
)

database = operator(owns=(SERVICES, SECRETS, BUDGETS), watches=(PODS,))


@database
async def runs_sets_of_its_own_for(
    ctx: Context, store: Object, name: str, switch: str, *components: str, port: int = 0
) -> None:
    """16 K8SPSMDB-433 (sharding: configuration servers and routers), 18 K8SPSMDB-438 (arbiter), 32 K8SPXC-725 (haproxy)
    and 33 K8SPXC-763 (proxysql), with a Service: sets of a part that is off are deleted where the view has them.

    switch: field of the spec.
    """
    spec = store["spec"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, spec["replicas"]))
    for component in components:
        part = f"{name}-{component}"
        if spec[switch]:
            await ctx.client.ensure(STATEFUL_SETS, stateful_set(part, name, 1, component=component, volumes=False))
            if port:
                await ctx.client.ensure(SERVICES, service(part, name, port, component=component))
            continue
        if ctx.store.get(STATEFUL_SETS, part) is not None:
            await ctx.client.delete(STATEFUL_SETS, part)
        if port and ctx.store.get(SERVICES, part) is not None:
            await ctx.client.delete(SERVICES, part)


@database
async def removes_certificates_while_tls_is_off(ctx: Context, store: Object, name: str) -> None:
    """39 yugabyte-operator 35: the certificates of masters and tablet servers are deleted where TLS is off."""
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
    for certificate in (f"{name}-master-cert", f"{name}-tserver-cert"):
        there = ctx.store.get(SECRETS, certificate) is not None
        if store["spec"]["tls"] and not there:
            await ctx.client.create(SECRETS, secret(certificate, name))
        elif there and not store["spec"]["tls"]:
            await ctx.client.delete(SECRETS, certificate)


@database
async def removes_its_interface_at_port_0(ctx: Context, store: Object, name: str) -> None:
    """40 yugabyte-operator 36: a port of 0 means that there is to be no Service of the user interface."""
    port = store["spec"]["uiPort"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))
    if port:
        await ctx.client.ensure(SERVICES, service(f"{name}-ui", name, port))
    elif ctx.store.get(SERVICES, f"{name}-ui") is not None:
        await ctx.client.delete(SERVICES, f"{name}-ui")


@database
async def has_no_budget_for_a_single_node(ctx: Context, store: Object, name: str) -> None:
    """14 cloud-on-k8s 5274: one node alone gets no budget, and one that is there is deleted, whether or not the view
    has it. As in the catalogue, the outcome is inferred."""
    count = store["spec"]["count"]
    await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, count))
    if count > 1:
        await ctx.client.ensure(BUDGETS, budget(name, name, 1))
    else:
        await ctx.client.delete(BUDGETS, name)
