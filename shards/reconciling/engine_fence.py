"""What one engine's reconciles see and write through, made when its tenure begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shards.authoring.controller import Controller
from shards.objects import Key, Resource
from shards.ownership.degraded import Degraded, unmarkable
from shards.ownership.fence import Fence
from shards.ownership.live import LiveReader
from shards.ownership.tenure import Tenure
from shards.ownership.view import Views
from shards.runtime import WorkerRuntime
from shards.watching.source import Source


def make_fence(
    controller: Controller,
    tenure: Tenure,
    runtime: WorkerRuntime,
    stores: Views,
    sources: Mapping[Resource, Source],
    pause: Callable[[Key, float], None],
    current_at: Callable[[], float],
) -> Fence:
    """pause: of a key, for as many seconds as a server asked for. current_at: of the view that is furthest behind."""
    guards = runtime.guards_of(controller.name)
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
        ),
        kinds=runtime.kinds,
        pause=pause,
        gated=lambda: runtime.gates.version_gate(controller.name, tenure.range),
        journal=runtime.journal,
        degraded=Degraded(unmarkable(controller.primary) if controller.degraded_condition else "it is turned off"),
        gate=lambda: runtime.settings.gate,
        current_at=current_at,
    )
