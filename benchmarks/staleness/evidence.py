"""What the recorder of a server and a worker's journal say about stale views: counts, not impressions. PURE."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import quantiles

from fleet.devcluster.recording.journal import READS, Entry
from shards.api.useragent import UserAgent


def p99(values: Sequence[float]) -> float:
    """The 99th percentile, between the two values that are nearest to it. Raises ValueError for fewer than two."""
    if len(values) < 2:
        raise ValueError(f"a percentile of {len(values)} values says nothing")
    return quantiles(values, n=100, method="inclusive")[98]


def live_reads(entries: Iterable[Entry]) -> dict[str, list[float]]:
    """When what was read live for which key (UID): every read that a reconcile, or the gate for it, asked the server
    for, whatever came of it. Informers read for no key, and people are no fleet."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for entry in entries:
        if entry.verb not in READS:
            continue
        agent = UserAgent.parse(entry.user_agent)
        if agent is not None and agent.uid:
            found[agent.uid].append(entry.time)
    return dict(found)


def most_within(times: Sequence[float], seconds: float) -> int:
    """The most of these times that lie within any span of less than that many seconds. times: ascending."""
    most, first = 0, 0
    for last, time in enumerate(times):
        while time - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def creates(entries: Iterable[Entry], resource: str) -> Counter[str]:
    """How often the server carried out a create of the resource for each intent. An intent is the prefix of a
    generated name: all of it up to the last dash."""
    made = (each for each in entries if each.verb == "create" and each.resource == resource and each.succeeded)
    return Counter(each.name.rpartition("-")[0] for each in made if UserAgent.parse(each.user_agent) is not None)


def beyond_once(times: Mapping[str, int]) -> int:
    """How many acts were one too many. times: how often each was done."""
    return sum(count - 1 for count in times.values() if count > 1)
