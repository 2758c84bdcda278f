"""Operators of databases with parts that can be switched on and off: arbiters, shards, proxies, TLS.

They stand for those of Percona for MongoDB and XtraDB, and for yugabyte-operator.
"""

from __future__ import annotations

from shards import Context, Controller, Request
from tests.integration.sieve.parts import DATASTORES, SECRETS, STATEFUL_SETS, secret, stateful_set


def makes_both_secrets_where_the_first_is_missing() -> Controller:
    """19 K8SPSMDB-579 and its like (20, 34, 35): a pair of Secrets is made in one go, and whether that is to be done is
    decided by the first one alone."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)
    controller.owns(SECRETS)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None:
            return
        name = request.name
        if ctx.store.get(SECRETS, f"{name}-ssl") is None:
            await ctx.client.create(SECRETS, secret(f"{name}-ssl", name))
            await ctx.client.create(SECRETS, secret(f"{name}-ssl-internal", name))
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))

    return controller
