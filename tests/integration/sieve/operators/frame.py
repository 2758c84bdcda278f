"""What the demo operators have in common: a controller of datastores, whose reconcile begins with the datastore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import wraps
from typing import Concatenate, ParamSpec

from shards import Context, Controller, Request
from shards.objects import Object
from tests.integration.sieve.operators.finalizing import is_deleted, is_ending
from tests.integration.sieve.parts import DATASTORES, PODS, STATEFUL_SETS, VOLUMES, by_cluster

P = ParamSpec("P")
Maker = Callable[..., Controller]
"""Of a controller; takes what its reconcile takes besides the datastore, as `cured`."""


def operator(
    *, owns: Collection[str] = (), watches: Collection[str] = (PODS, VOLUMES)
) -> Callable[[Callable[Concatenate[Context, Object, str, P], Awaitable[None]]], Callable[P, Controller]]:
    """Decorator: makes of a reconcile of (ctx, store, name, ...) the maker of its controller, which takes the rest.

    store, name: the datastore, and its name. The reconcile does not run for one that is gone, nor for one that is going
    and does not wait for the operator. owns: besides StatefulSets. watches: what belongs to a datastore by its label.
    """

    def maker_of(reconcile: Callable[Concatenate[Context, Object, str, P], Awaitable[None]]) -> Callable[P, Controller]:
        @wraps(reconcile)
        def make(*args: P.args, **kwargs: P.kwargs) -> Controller:
            controller = Controller("datastores", primary=DATASTORES)
            for resource in (STATEFUL_SETS, *owns):
                controller.owns(resource)
            for resource in watches:
                controller.watches(resource, map=by_cluster)

            @controller.reconcile
            async def framed(ctx: Context, request: Request) -> None:
                store = ctx.store.get()
                if store is not None and (is_ending(store) or not is_deleted(store)):
                    await reconcile(ctx, store, request.name, *args, **kwargs)

            return controller

        return make

    return maker_of
