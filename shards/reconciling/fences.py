"""The fence of one controller in one shard, for one tenure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shards.authoring.controller import Controller
from shards.objects import Resource
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
    current_at: Callable[[], float],
) -> Fence:
    """current_at: of the view that is furthest behind."""
    name = controller.name
    guards = runtime.guards_of(name)
    return Fence(
        transport=runtime.transport,
        limiter=runtime.limiter,
        tenure=tenure,
        clock=runtime.clock,
        metrics=runtime.metrics,
        controller=name,
        product=runtime.product,
        stores=stores,
        sources=sources,
        journal=runtime.journal,
        live=LiveReader(runtime.limited, guards, runtime.clock, runtime.metrics, name, runtime.journal),
        degraded=Degraded(unmarkable(controller.primary) if controller.degraded_condition else "it is turned off"),
        gate=lambda: runtime.settings.gate,
        current_at=current_at,
        kinds=runtime.kinds,
    )
