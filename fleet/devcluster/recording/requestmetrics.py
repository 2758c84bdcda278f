"""Metrics of requests in the Prometheus text format, under the names and labels of the real server.

One dictionary lookup and one bisection per request; text is made when somebody asks. Gauges are read at that moment.
"""

from __future__ import annotations

import resource as process
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fleet.devcluster.access.reviews import REVIEWS
from fleet.devcluster.discovery.wellknown import HEALTH_PATHS
from fleet.devcluster.kinds.resources import Registry, ResourceType
from fleet.devcluster.storage.storage import Table
from fleet.devcluster.wire.requests import Request, Target
from shards.objects import Resource

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
BUCKETS_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Fewer than the real server has; every bound is one of its own."""

_APPLY = "application/apply-patch"
_READS = ("GET", "HEAD")
_VERBS = frozenset({*_READS, "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
_ROOTS = frozenset(f"/{each}" for each in ("", "api", "apis", "openapi", "version", "metrics", *HEALTH_PATHS))


@dataclass(slots=True)
class _Series:
    """Requests of one kind. codes: how many by status. buckets: by the first bound that they did not exceed."""

    seconds: float = 0.0
    codes: dict[int, int] = field(default_factory=dict)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))


Key = tuple[str, str, str, str, str, str, bool]
"""group, version, plural, subresource, verb, scope, dry run. Plain strings: they are hashed once a request."""


class _Watch(Protocol):
    """An open one."""

    @property
    def kind(self) -> ResourceType: ...


class _Tally(Protocol):
    """Of the watches of one resource."""

    @property
    def events(self) -> int: ...


class Watches(Protocol):
    """Those of a front end: the open ones, and what all so far gave to their clients."""

    @property
    def streams(self) -> Iterable[_Watch]: ...

    @property
    def tallies(self) -> Mapping[Resource, _Tally]: ...


class RequestMetrics:
    """Counts what a server answers."""

    def __init__(self, watches: Watches, tables: Callable[[], Iterable[Table]], registry: Registry) -> None:
        self._watches = watches
        self._registry = registry
        self._tables = tables
        self._series: dict[Key, _Series] = {}

    def count(self, request: Request, target: Target | None, code: int, seconds: float) -> None:
        """seconds: how long the answer took, that of a watch until its stream began."""
        key = _key(request, target)
        known = self._series.get(key)
        if known is None:
            known = self._series.setdefault(self._bounded(key), _Series())
        known.seconds += seconds
        known.codes[code] = known.codes.get(code, 0) + 1
        known.buckets[bisect_left(BUCKETS_SECONDS, seconds)] += 1

    def _bounded(self, key: Key) -> Key:
        """The key with labels that a client cannot invent: what nobody serves is counted together."""
        group, version, plural, subresource, verb, scope, dry_run = key
        verb = verb if verb in _VERBS else "other"
        if not plural:
            return "", "", "", subresource if subresource in _ROOTS else "", verb, "", False
        kind = self._registry.get(Resource(group, version, plural))
        if kind is None:
            known = (group, plural) in REVIEWS and version == "v1"
            return (group, version, plural, "", verb, scope, dry_run) if known else ("", "", "", "", verb, "", False)
        served = {each.name for each in kind.subresources}
        return group, version, plural, subresource if subresource in served else "", verb, scope, dry_run

    def text(self) -> str:
        """The whole page."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _head("apiserver_request_total", "counter", "Requests by verb, resource, scope and code.")
        everything = sorted(self._series.items(), key=lambda each: each[0])
        for key, series in everything:
            for code, count in sorted(series.codes.items()):
                yield f'apiserver_request_total{{code="{code}",{_labels(key)}}} {count}'
        yield from _head("apiserver_request_duration_seconds", "histogram", "How long answers took, in seconds.")
        for key, series in everything:
            yield from _histogram(key, series)
        open_watches = Counter(stream.kind.resource for stream in self._watches.streams)
        yield from _head("apiserver_longrunning_requests", "gauge", "Open watches.")
        for resource, count in sorted(open_watches.items(), key=str):
            labels = _labels((resource.group, resource.version, resource.plural, "", "WATCH", "cluster", False))
            yield f"apiserver_longrunning_requests{{{labels}}} {count}"
        yield from self._objects()
        yield from _head("apiserver_watch_events_total", "counter", "Events that were sent to watches.")
        for resource, tally in sorted(self._watches.tallies.items(), key=str):
            group, version, plural = resource.group, resource.version, resource.plural
            labels = f'group="{group}",resource="{plural}",version="{version}"'
            yield f"apiserver_watch_events_total{{{labels}}} {tally.events}"
        yield from _process()

    def _objects(self) -> Iterator[str]:
        counts = sorted(((table.kind.resource, len(table.objects)) for table in self._tables()), key=str)
        yield from _head("apiserver_storage_objects", "gauge", "Stored objects by resource.")
        for resource, count in counts:
            name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            yield f'apiserver_storage_objects{{resource="{name}"}} {count}'
        yield from _head("apiserver_resource_objects", "gauge", "Stored objects by group and resource.")
        for resource, count in counts:
            yield f'apiserver_resource_objects{{group="{resource.group}",resource="{resource.plural}"}} {count}'


def _key(request: Request, target: Target | None) -> Key:
    verb = request.method
    if target is None:
        return "", "", "", f"/{request.path.strip('/').partition('/')[0]}", verb, "", False
    scope = "resource" if target.name or verb == "POST" else "namespace" if target.namespace else "cluster"
    if verb in _READS and not target.name:
        verb = "WATCH" if request.flag("watch") else "LIST"
    elif verb == "PATCH" and request.headers.get("content-type", "").startswith(_APPLY):
        verb = "APPLY"
    resource, dry_run = target.resource, bool(request.query) and request.has("dryRun")
    return resource.group, resource.version, resource.plural, target.subresource, verb, scope, dry_run


def _labels(key: Key) -> str:
    group, version, plural, subresource, verb, scope, dry_run = key
    return (
        f'component="apiserver",dry_run="{"All" if dry_run else ""}",group="{group}",resource="{plural}",'
        f'scope="{scope}",subresource="{subresource}",verb="{verb}",version="{version}"'
    )


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _histogram(key: Key, series: _Series) -> Iterator[str]:
    labels, name, below = _labels(key), "apiserver_request_duration_seconds", 0
    for bound, count in zip((*BUCKETS_SECONDS, float("inf")), series.buckets, strict=True):
        below += count
        yield f'{name}_bucket{{{labels},le="{"+Inf" if bound == float("inf") else f"{bound:g}"}"}} {below}'
    yield f"{name}_sum{{{labels}}} {series.seconds:.6f}"
    yield f"{name}_count{{{labels}}} {below}"


def _process() -> Iterator[str]:
    used = process.getrusage(process.RUSAGE_SELF)
    yield from _head("process_cpu_seconds_total", "counter", "User and system time of this process, in seconds.")
    yield f"process_cpu_seconds_total {used.ru_utime + used.ru_stime:.2f}"
    yield from _head("process_resident_memory_bytes", "gauge", "Resident memory of this process, in bytes.")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    yield f"process_resident_memory_bytes {pages * process.getpagesize()}"
