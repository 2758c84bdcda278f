"""An operator that gives its members larger volumes. It stands for the cluster-operator of RabbitMQ."""

from __future__ import annotations

from shards import Context
from shards.objects import Object
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.parts import STATEFUL_SETS, stateful_set
from tests.integration.sieve.plans import value_at

SIZE = "spec.volumeClaimTemplates.0.spec.resources.requests.storage"


@operator(watches=())
async def makes_its_set_anew_for_another_size(
    ctx: Context, store: Object, name: str, *, says_what_it_rests_on: bool = False
) -> None:
    """28 cluster-operator 653: templates of volumes cannot be changed, so a set of another size than the datastore says
    is deleted, its pods left where they are, and made anew. The set is read from the server, the datastore from the
    view."""
    spec = store["spec"]
    wanted = stateful_set(name, name, spec["replicas"], volume=spec["storage"])
    found = await ctx.live.get(STATEFUL_SETS, name)
    if found is not None and value_at(found, SIZE) != spec["storage"]:
        reads = [store] if says_what_it_rests_on else ()
        await ctx.client.delete(STATEFUL_SETS, name, propagation="Orphan", reads=reads)
        return
    if found is None:
        await ctx.client.create(STATEFUL_SETS, wanted)
