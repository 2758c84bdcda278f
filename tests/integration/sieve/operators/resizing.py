"""An operator that gives its members larger volumes. It stands for the cluster-operator of RabbitMQ."""

from __future__ import annotations

from shards import Context, Controller, Request
from tests.integration.sieve.parts import DATASTORES, STATEFUL_SETS, stateful_set
from tests.integration.sieve.plans import value_at

SIZE = "spec.volumeClaimTemplates.0.spec.resources.requests.storage"


def makes_its_set_anew_for_another_size(*, says_what_it_rests_on: bool = False) -> Controller:
    """28 cluster-operator 653: templates of volumes cannot be changed, so a set of another size than the datastore says
    is deleted, its pods left where they are, and made anew. The set is read from the server, the datastore from the
    view."""
    controller = Controller("datastores", primary=DATASTORES)
    controller.owns(STATEFUL_SETS)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        store = ctx.store.get()
        if store is None or store["metadata"].get("deletionTimestamp"):
            return
        name, spec = request.name, store["spec"]
        wanted = stateful_set(name, name, spec["replicas"], volume=spec["storage"])
        found = await ctx.live.get(STATEFUL_SETS, name)
        if found is not None and value_at(found, SIZE) != spec["storage"]:
            reads = [store] if says_what_it_rests_on else ()
            await ctx.client.delete(STATEFUL_SETS, name, propagation="Orphan", reads=reads)
            return
        if found is None:
            await ctx.client.create(STATEFUL_SETS, wanted)

    return controller
