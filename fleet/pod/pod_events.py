"""What a process of a pod posts Events with."""

from __future__ import annotations

from collections.abc import Callable

from fleet.backends.event_poster import EventPoster
from fleet.pod.plan import PRODUCT, RunPlan
from fleet.records.object_names import EVENTS_REASON, Names
from shards.api.client import Transport
from shards.api.useragent import UserAgent


def event_poster(plan: RunPlan, transport: Transport, member: str, epoch: Callable[[], str]) -> EventPoster:
    """member: of a worker, or the agent's name. epoch: the present one, as text."""
    return EventPoster(
        transport,
        Names(plan.config.fleet, plan.namespace),
        reporter=member,
        user_agent=lambda: str(UserAgent(PRODUCT, member=member, epoch=epoch(), reason=EVENTS_REASON)),
    )
