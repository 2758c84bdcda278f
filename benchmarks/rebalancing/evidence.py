"""What the server's record and the workers' journals say about moves: spans and counts, not impressions. PURE, but for
`Notes`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from benchmarks.rebalancing.depot import PARCELS, USER_AGENT
from fleet.devcluster.recording.journal import Entry
from fleet.records.lease_records import member_record_from_lease, shard_record_from_lease
from fleet.records.object_names import CONFIG_MAPS, LEASES
from shards.api.useragent import UserAgent
from shards.journal import Note, decode_notes

EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a range had an owner that took no keys any more, or none. Times since 1970."""

    range: str
    source: str
    target: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Notes:
    """The journals of a directory, read on from where the last reading ended."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: Counter[Path] = Counter()
        self._raw: defaultdict[Path, list[Note]] = defaultdict(list)
        self._offsets: dict[Path, float] = {}
        self._all: list[Note] = []

    def read(self) -> list[Note]:
        """All of them, by time, since 1970."""
        fresh: list[Note] = []
        for file in sorted(self._directory.glob("*.jsonl")):
            with file.open("rb") as lines:
                lines.seek(self._read[file])
                data = lines.read()
            data = data[: data.rfind(b"\n") + 1]
            self._read[file] += len(data)
            for note in decode_notes(data):
                if note.what == "begin" and note.figures is not None:
                    self._offsets[file] = note.figures["wall"] - note.time
                note.time += self._offsets.get(file, 0.0)
                fresh.append(note)
        if fresh:
            self._all = sorted([*self._all, *fresh], key=lambda note: note.time)
        return self._all


def _step(note: Note) -> str:
    """The phase that a range has entered; "" for a line about anything else."""
    step = note.cause if note.what == "step" else note.what
    return "opened" if step == "open" else step


def held_now(notes: Iterable[Note]) -> dict[str, str]:
    """Range -> the member whose gate for it was opened last and who has not begun to drain it since.

    notes: by time. A member that begins anew holds nothing.
    """
    held: dict[str, str] = {}
    for note in notes:
        step = _step(note)
        if step == "opened":
            held[note.range] = note.member
        elif step in ("draining", "dropped", "stopped") and held.get(note.range) == note.member:
            del held[note.range]
        elif step == "begin":
            for each in [each for each, owner in held.items() if owner == note.member]:
                del held[each]
    return held


def handovers(notes: Iterable[Note]) -> list[Gap]:
    """Planned ones: from the moment at which the old owner takes no keys any more to the next owner's open gate."""
    found: list[Gap] = []
    closed: dict[str, Note] = {}
    for note in notes:
        step = _step(note)
        if step == "draining":
            closed[note.range] = note
        elif step == "opened" and (before := closed.pop(note.range, None)) is not None:
            found.append(Gap(note.range, before.member, note.member, before.time, note.time))
    return found


def openings(notes: Iterable[Note], since: float) -> dict[str, Note]:
    """By range: the first opening after a moment."""
    found: dict[str, Note] = {}
    for note in notes:
        if _step(note) == "opened" and note.time >= since:
            found.setdefault(note.range, note)
    return found


def is_status_write(entry: Entry) -> bool:
    """Whether a reconcile of the fleet wrote a status, and the server took it."""
    return (
        entry.resource == str(PARCELS)
        and entry.subresource == "status"
        and entry.succeeded
        and UserAgent.parse(entry.user_agent) is not None
    )


def is_change(entry: Entry) -> bool:
    """Whether the user changed a parcel."""
    return (
        entry.resource == str(PARCELS)
        and entry.verb == "patch"
        and not entry.subresource
        and entry.succeeded
        and entry.user_agent == USER_AGENT
    )


@dataclass(frozen=True, slots=True)
class Reaction:
    """A change, and the write of the reconcile that saw it. Times since 1970; seen: None if it never came."""

    name: str
    changed: float
    seen: float | None

    @property
    def seconds(self) -> float:
        return float("inf") if self.seen is None else self.seen - self.changed


def reactions(entries: Iterable[Entry]) -> list[Reaction]:
    """Of every change that no other change of the same parcel overtook. entries: in commit order.

    A reconcile writes under the version that it saw as a precondition, so that the first write which succeeds after a
    change has seen it.
    """
    waiting: dict[str, float] = {}
    found: list[Reaction] = []
    for entry in entries:
        if is_change(entry):
            waiting[entry.name] = entry.time
        elif is_status_write(entry) and entry.name in waiting:
            changed = waiting.pop(entry.name)
            found.append(Reaction(entry.name, changed, entry.time))
    return [*found, *(Reaction(name, changed, None) for name, changed in waiting.items())]


@dataclass(frozen=True, slots=True)
class Spent:
    """Writes that a server carried out, by what they were about. objects: writes of the fleet to parcels."""

    shard_leases: int
    member_leases: int
    other_leases: int
    maps: int
    events: int
    objects: int
    others: int


def spent(entries: Iterable[Entry], since: float, until: float) -> Spent:
    """Of a fleet, in a time. Reviews of permissions store nothing, and are left out."""
    counts: Counter[str] = Counter()
    for entry in entries:
        if (
            entry.resource.startswith("authorization.k8s.io/")
            or not since <= entry.time < until
            or not entry.succeeded
            or not entry.user_agent.startswith("fleet")
        ):
            continue
        counts[_kind(entry)] += 1
    return Spent(
        counts["shard"], counts["member"], counts["lease"], counts["map"], counts["event"], counts["object"],
        counts["other"],
    )  # fmt: skip


def _kind(entry: Entry) -> str:
    if entry.resource == str(LEASES):
        obj = entry.decoded()
        if obj is not None and shard_record_from_lease(obj) is not None:
            return "shard"
        return "member" if obj is not None and member_record_from_lease(obj) is not None else "lease"
    if entry.resource == str(CONFIG_MAPS):
        return "map" if entry.name.endswith("-map") else "other"
    if entry.resource.endswith(f"/{EVENTS}"):
        return "event"
    return "object" if entry.resource == str(PARCELS) else "other"


def renewals_per_second(entries: Sequence[Entry], since: float, until: float) -> float:
    """Writes of Leases a second in a time.

    Of each Lease the intervals between its writes are counted, so that where the time begins and ends does not matter;
    one that was written once counts as once in all of it.
    """
    times: defaultdict[str, list[float]] = defaultdict(list)
    for entry in entries:
        if entry.resource == str(LEASES) and entry.succeeded and since <= entry.time < until:
            times[entry.name].append(entry.time)
    return sum(
        (len(each) - 1) / (each[-1] - each[0]) if len(each) > 1 else 1 / (until - since) for each in times.values()
    )


def percentile(values: Sequence[float], share: float) -> float:
    """share: 0.5 for the median, 0.99 for the 99th percentile. Between the two values that are nearest to it.

    Raises ValueError for fewer than two.
    """
    if len(values) < 2:
        raise ValueError(f"a percentile of {len(values)} values says nothing")
    return quantiles(values, n=1000, method="inclusive")[round(share * 1000) - 1]
