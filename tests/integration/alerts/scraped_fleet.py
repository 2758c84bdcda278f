"""A small fleet whose pages are scraped, as Prometheus would, while it runs on virtual time."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.health.metrics import PodMetrics, snapshot
from shards.api.client import JSON, Query, Transport
from shards.api.request_meters import RequestMeters
from shards.errors import ApiError
from shards.metrics import RequestMetrics
from shards.testing.virtual_time import loop_seconds
from tests.integration.alerts.promtool import RULES, STEP_SECONDS, Labels
from tests.integration.small_fleet import SmallFleet

AGENT = "agent"
_NAME = re.compile(r"\b[a-z_]+_[a-z0-9_]+\b")


class MeteredTransport(Transport):
    """Counts requests as the transport over HTTP does."""

    def __init__(self, inner: Transport, meters: RequestMeters) -> None:
        self._inner = inner
        self._meters = meters

    async def request(self, method: str, path: str, *, body: bytes | None = None, **options: Any) -> bytes:
        began, status, received = self._meters.now(), 0, 0
        try:
            answer = await self._inner.request(method, path, body=body, **options)
            status, received = 200, len(answer)
            return answer
        except ApiError as error:
            status = error.status
            raise
        finally:
            self._meters.exchanged(method, status, began, len(body or b""), received)

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds)

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class ScrapedFleet(SmallFleet):
    """Each member is the worker of a pod of its own, and the coordinator the agent of one more.

    series: what was scraped so far, of the metrics that the rules name.
    """

    series: defaultdict[Labels, list[float | None]] = field(default_factory=lambda: defaultdict(list))
    scrapes: int = 0
    _pods: defaultdict[str, PodMetrics] = field(default_factory=lambda: defaultdict(PodMetrics))
    _named: set[str] = field(default_factory=lambda: set(_NAME.findall(RULES.read_text())))
    _meters: dict[CollectorRegistry, RequestMeters] = field(default_factory=dict)

    def meters(self, registry: CollectorRegistry) -> RequestMeters:
        if registry not in self._meters:
            self._meters[registry] = RequestMeters(RequestMetrics(registry), "https://api", loop_seconds)
        return self._meters[registry]

    def transport(self, registry: CollectorRegistry) -> Transport:
        return MeteredTransport(InProcessTransport(self.server, clock=loop_seconds), self.meters(registry))

    async def scrape_for(self, seconds: float) -> None:
        """Lets that time pass, and looks at all pods that there are every STEP_SECONDS."""
        for _ in range(int(seconds) // STEP_SECONDS):
            await asyncio.sleep(STEP_SECONDS)
            for pod, process, incarnation in self._measured():
                self._pods[pod].update(process, incarnation, snapshot(self.registries[pod]))
                self._scrape(pod)
            self.scrapes += 1

    def _measured(self) -> list[tuple[str, str, int]]:
        """The processes that live, with their gauges set: pod, process, incarnation."""
        found = [(AGENT, AGENT, 1)]
        agent, coordinator = self.telemetry[AGENT], self.coordinator
        agent.coordinator.set(int(coordinator is not None and coordinator.in_office))
        if coordinator is not None:
            agent.unowned_ranges.set(coordinator.unowned_ranges)
        if (lookout := self.lookouts.get(AGENT)) is not None:
            lookout.measure(agent)
        for name, worker in self.members.items():
            for runner in worker.runners.values():
                if runner.shard is not None:
                    runner.shard.measure()
            self.runtimes[name].limiter.measure()
            found.append((name, "worker-0", self._counts[name]))
        return found

    def _scrape(self, pod: str) -> None:
        for family in self._pods[pod].collect():
            for sample in family.samples:
                if sample.name in self._named:
                    labels = {"__name__": sample.name, "namespace": "default", "job": "web", "instance": pod}
                    seen = self.series[tuple((labels | sample.labels).items())]
                    seen.extend([None] * (self.scrapes - len(seen)))
                    seen.append(sample.value)
