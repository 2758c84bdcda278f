"""What operators with a finalizer have in common."""

from __future__ import annotations

from contextlib import suppress

from shards import Context
from shards.errors import NotFound
from shards.objects import Object
from tests.integration.sieve.parts import DATASTORES, FINALIZER


def is_deleted(store: Object) -> bool:
    """Whether it is being deleted."""
    return bool(store["metadata"].get("deletionTimestamp"))


def is_ending(store: Object) -> bool:
    """Whether it is being deleted, and waits for the operator."""
    return is_deleted(store) and FINALIZER in store["metadata"].get("finalizers", ())


async def without_finalizer(ctx: Context, store: Object) -> None:
    """Lets the datastore go. That it is gone already is no error, as everywhere."""
    rest = [each for each in store["metadata"].get("finalizers", ()) if each != FINALIZER]
    with suppress(NotFound):
        await ctx.client.patch(DATASTORES, store["metadata"]["name"], {"metadata": {"finalizers": rest}})
