"""What one engine's reconciles see and write through, made when its tenure begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from shards.authoring.controller import Controller
from shards.errors import Undrained
from shards.objects import Key, Resource
from shards.ownership.degraded import Degraded, unmarkable
from shards.ownership.fence import Fence
from shards.ownership.live import LiveReader
from shards.ownership.tenure import Tenure
from shards.ownership.view import Views
from shards.reconciling.tally import Tally
from shards.runtime import WorkerRuntime
from shards.watching.source import Source


def make_fence(
    controller: Controller,
    tenure: Tenure,
    runtime: WorkerRuntime,
    stores: Views,
    sources: Mapping[Resource, Source],
    pause: Callable[[Key, float], None],
    tally: Tally,
    current_at: Callable[[], float],
) -> Fence:
    """pause: of a key, for as many seconds as a server asked for. current_at: of the view that is furthest behind."""
    guards = runtime.guards_of(controller.name)

    def count_read(purpose: str) -> None:
        # Those that an author asks for, or that come before a deletion, say nothing about the views.
        tally.requested(runtime.clock(), live=purpose == "gate")

    for resource in sources:
        runtime.metrics.gate.histories_lost.labels(controller.name, str(resource))  # there before the first
    return Fence(
        transport=runtime.transport,
        limiter=runtime.limiter,
        tenure=tenure,
        clock=runtime.clock,
        metrics=runtime.metrics,
        controller=controller.name,
        product=runtime.product,
        stores=stores,
        sources=sources,
        live=LiveReader(
            runtime.limited,
            guards,
            runtime.clock,
            runtime.metrics,
            controller.name,
            runtime.journal,
            shard=str(tenure.range),
            asking=count_read,
        ),
        kinds=runtime.kinds,
        pause=pause,
        asking=lambda: tally.requested(runtime.clock(), live=False),
        gated=lambda: runtime.gates.version_gate(controller.name, tenure.range),
        journal=runtime.journal,
        degraded=Degraded(unmarkable(controller.primary) if controller.degraded_condition else "it is turned off"),
        gate=lambda: runtime.settings.gate,
        mends=runtime.mends,
        current_at=current_at,
    )


async def reset_requests(fence: Fence, within_seconds: float) -> None:
    """A request of a task that outlived its reconcile would be on the wire when the shard is released (R4).

    Raises Undrained when one cannot be cancelled in time.
    """
    left = set(fence.on_the_wire)
    for task in left:
        task.cancel()
    if left:
        _, left = await asyncio.wait(left, timeout=within_seconds)
    if left:
        raise Undrained(f"requests of {fence.controller} cannot be cancelled: {', '.join(map(str, left))}")
