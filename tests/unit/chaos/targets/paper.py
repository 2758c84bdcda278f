"""A fleet that exists on paper: what it answers is set by the test, its clock moves when somebody sleeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaos.targets.target import End, TargetFailed
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan, Verdict
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import Names
from shards.journal import Note
from shards.objects import Object, Resource

LOW, MIDDLE, HIGH = (
    "0000000000000000-3fffffffffffffff",
    "4000000000000000-7fffffffffffffff",
    "8000000000000000-ffffffffffffffff",
)
"""Three ranges that are all keys: a quarter, a quarter and a half."""


def span(
    of: str, holder: str, claimed_at: float, ended_at: float | None = None, *, epoch: int = 1, ended_by: str = ""
) -> OwnershipSpan:
    """One ownership; sequence numbers follow the times."""
    return OwnershipSpan(
        of, holder, epoch, int(claimed_at * 100), claimed_at, ended_at=ended_at, ended_by=ended_by or "takeover"
    )


def verdict(*spans: OwnershipSpan, gaps: Sequence[Gap] = ()) -> Verdict:
    timeline: dict[str, list[OwnershipSpan]] = {}
    for each in spans:
        timeline.setdefault(each.range, []).append(each)
    return Verdict(timeline=timeline, gaps=list(gaps))


class PaperPods:
    """Two pods of one worker each."""

    def __init__(self, target: PaperTarget) -> None:
        self._target = target
        self.ended: list[End] = []
        self.running = ["a", "b"]
        self.paused: list[tuple[str, str]] = []
        self.in_office = "a"

    @property
    def ends(self) -> Sequence[End]:
        return tuple(self.ended)

    def names(self) -> list[str]:
        return sorted(self.running)

    def members(self) -> Mapping[str, tuple[str, str]]:
        return {f"{pod}-0": (pod, "worker-0") for pod in self.names()}

    def coordinator(self) -> str:
        return self.in_office

    def start(self, pod: str, *, revision: str = "") -> None:
        self.running.append(pod)

    def come_back(self, pod: str) -> None:
        self.start(pod)

    def stop(self, pod: str) -> None:
        self.running.remove(pod)

    def kill_pod(self, pod: str) -> End:
        self.stop(pod)
        return self._ended(pod, "supervisor", "")

    def kill(self, pod: str, child: str) -> End:
        return self._ended(pod, child, f"{pod}-0" if child == "worker-0" else "")

    def pause(self, pod: str, child: str) -> None:
        self.paused.append((pod, child))

    def resume(self, pod: str, child: str) -> None:
        self.paused.remove((pod, child))

    def resume_all(self) -> None:
        self.paused.clear()

    def _ended(self, pod: str, child: str, member: str) -> End:
        end = End(pod, child, member, 4711, self._target.now())
        self.ended.append(end)
        return end


class PaperServer:
    def __init__(self, target: PaperTarget) -> None:
        self._target = target
        self.faults: dict[int, dict[str, Any]] = {}
        self.met: dict[int, int] = {}
        self.stopped = False
        self.done: list[str] = []

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        numbers = list(range(len(self.faults) + 1, len(self.faults) + 1 + len(faults)))
        self.faults.update({number: dict(fault) for number, fault in zip(numbers, faults, strict=True)})
        return numbers

    def release(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.faults.pop(number, None)

    def struck(self) -> dict[int, int]:
        return self.met

    def heal(self) -> None:
        self.faults.clear()
        self.stopped = False

    def pause(self) -> None:
        self.stopped = True

    def resume(self) -> None:
        self.stopped = False

    def freeze_replica(self) -> str:
        self.done.append("freeze")
        return "other"

    def compact(self) -> None:
        self.done.append("compact")

    def back_up(self) -> None:
        self.done.append("back up")

    def restore(self) -> None:
        self.done.append("restore")


class PaperApi:
    """Holds nothing."""

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        raise TargetFailed(name)

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[Object]:
        return []

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return body

    def patch(self, resource: Resource, namespace: str, name: str, patch: Object, *, subresource: str = "") -> Object:
        return patch

    def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return body

    def delete(self, resource: Resource, namespace: str, name: str) -> None: ...


class PaperPeople:
    def __init__(self, target: PaperTarget) -> None:
        self._target = target
        self.added = 0
        self.sites = Resource.parse("v1/configmaps")
        self.per_second = 10.0

    @property
    def resource(self) -> Resource:
        return self.sites

    def add(self, count: int) -> None:
        self.added += count

    def remove(self, count: int) -> list[str]:
        removed = min(count, self.added)
        self.added -= removed
        return [f"site-{number}" for number in range(removed)]

    def unsettled(self) -> int:
        return 0 if self._target.now() >= self._target.busy_until else 5

    def keep_changing(self, per_second: float) -> None:
        self.per_second = per_second

    @property
    def changes(self) -> int:
        return 3


class PaperEvidence:
    """recorded: requests, beside what the verdict says."""

    def __init__(self) -> None:
        self.recorded: list[Entry] = []
        self.found = verdict(span(LOW, "a-0@1", 1.0), span(MIDDLE, "a-0@1", 1.0), span(HIGH, "b-0@1", 1.0))

    def verdict(self) -> Verdict:
        return self.found

    def whole(self) -> Verdict:
        return self.found

    def entries(self) -> list[Entry]:
        return list(self.recorded)

    def notes(self) -> list[Note]:
        return []

    def lines(self) -> Iterator[Entry | Note]:
        return iter(())


class PaperTarget:
    """a-0 owns the lower half in two ranges, b-0 the upper one. Settled `busy_seconds` after the start."""

    name = "paper"
    names = Names("chaos", "chaos-0")
    ranges = 3
    lease_seconds = 3.0
    settled_at = 0.0

    def __init__(self, *, busy_seconds: float = 0.0) -> None:
        self.time = 100.0
        self.busy_until = self.time + busy_seconds
        self.pods = PaperPods(self)
        self.server = PaperServer(self)
        self.api = PaperApi()
        self.people = PaperPeople(self)
        self.evidence = PaperEvidence()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
