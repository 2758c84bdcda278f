"""What all requests of one controller in one shard have in common, for one tenure."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from shards.api.client import Transport
from shards.api.useragent import UserAgent, words
from shards.clock import Clock
from shards.errors import ApiError, ConfigError, NotReadyYet
from shards.gates.doomed import Doomed
from shards.gates.own_writes import OwnWrites
from shards.journal import NO_JOURNAL, Journal
from shards.limits.breaker import TokenBucket
from shards.limits.request_limiter import RequestLimiter
from shards.metrics import ShardMetrics
from shards.objects import SLOT_LABEL, Key, Meta, Object, ObjectName, Resource, meta_of
from shards.ownership.degraded import Degraded
from shards.ownership.lease_sightings import LeaseSightings
from shards.ownership.live import LiveReader
from shards.ownership.overlay import Snapshot
from shards.ownership.tenure import Tenure
from shards.ownership.view import Place, View, Views
from shards.settings import GateSettings
from shards.versions import Version, includes, newest
from shards.watching.source import FilterMode, Source

log = logging.getLogger(__name__)

LATELY_SECONDS = 60.0
CREATED_LIMIT = 4096
"""Children remembered as created lately. A forgotten one costs a create for an owner that is gone."""


@dataclass(slots=True)
class Fence:
    """The state behind every fenced client of one controller in one shard.

    transport: not limited; whoever sends has waited for the limiter.
    sources: the controller's views, by resource. highest: per resource, the highest version of an object of the
    range that a write or a live read returned (for the watermark). redecided: how often an act was decided anew,
    and on what last. leases: what was seen of Leases of others. on_the_wire: tasks with a write that was sent and
    not answered yet. created: children that were created of late, and when; oldest first. pause: told when a server
    asks that a key be left alone for so many seconds. degraded: the marks on objects whose acts are paused. gate:
    the settings of now. current_at: reading of the clock at which the view that is furthest behind was known to be
    current. gated: whether the version gate holds anything back now. setbacks: how often a history was found to
    have gone back. asking: told of each request before it is sent; live reads tell theirs.
    """

    transport: Transport
    limiter: RequestLimiter
    tenure: Tenure
    clock: Clock
    metrics: ShardMetrics
    controller: str
    product: str
    stores: Views
    sources: Mapping[Resource, Source]
    live: LiveReader
    journal: Journal = NO_JOURNAL
    leases: LeaseSightings = field(default_factory=LeaseSightings)
    degraded: Degraded = field(default_factory=Degraded)
    gate: Callable[[], GateSettings] = GateSettings
    current_at: Callable[[], float] = lambda: float("inf")
    writes: OwnWrites = field(default_factory=OwnWrites)
    doomed: Doomed = field(default_factory=Doomed)
    kinds: dict[Resource, str] = field(default_factory=dict)
    highest: dict[Resource, str] = field(default_factory=dict)
    redecided: dict[Key, dict[Place, tuple[int, Snapshot | None]]] = field(default_factory=dict)
    on_the_wire: set[asyncio.Task[object]] = field(default_factory=set)
    created: OrderedDict[tuple[Key, Place], float] = field(default_factory=OrderedDict)
    pause: Callable[[Key, float], None] = lambda key, seconds: None
    asking: Callable[[], None] = lambda: None
    gated: Callable[[], bool] = lambda: True
    mends: TokenBucket | None = None
    setbacks: int = 0
    _agent: str = ""
    """What all User-Agents begin with: who owns the range."""
    _counts: dict[tuple[str, str], Callable[[], None]] = field(default_factory=dict)

    def owns(self, resource: Resource) -> bool:
        """Whether objects of the resource are children of the controller's primaries."""
        source = self.sources.get(resource)
        return source is not None and source.role == "owned"

    def filters_slots(self, resource: Resource) -> bool:
        """Whether the view shows nothing without a slot label."""
        return self.sources[resource].mode is FilterMode.SLOT_LABELS

    def may_mend(self, resource: Resource) -> bool:
        """Whether a child may be written for its slot label alone. Always where the view does not show it without."""
        return self.filters_slots(resource) or self.mends is None or self.mends.take(self.clock())

    def user_agent(self, view: View, resource: Resource, reason: str) -> str:
        key = view.key
        if not self._agent:
            tenure = self.tenure
            owner = UserAgent(self.product, tenure.member, str(tenure.member_epoch), str(tenure.range))
            self._agent = str(owner)
        return f"{self._agent} {words(key=str(key), uid=key.uid, cache=view.version(resource), reason=reason)}"

    def count_write(self, reason: str, result: str) -> None:
        """For the metrics: what became of one write."""
        count = self._counts.get((reason, result))
        if count is None:
            count = self._counts[reason, result] = self.metrics.writes.labels(self.controller, reason, result).inc
        count()

    def reached(self, resource: Resource, meta: Meta) -> bool:
        """Notes the version of an object that came in an answer. Whether this shard's informers deliver it."""
        source = self.sources.get(resource)
        if source is None:
            return False
        # A Scale carries its parent's identity but not its labels or owners, hence the second question.
        if not _delivers(source, meta) and self.stores[resource].name_of(meta.uid) is None:
            return False
        self.highest[resource] = newest(self.highest.get(resource, ""), meta.resource_version)
        return True

    def check_status(self) -> None:
        """While the breaker is open, a status is written on a view that is not too old. Raises NotReadyYet."""
        window = self.gate().status_stale_window_seconds
        if self.live.guards.breaker.opened and self.clock() - self.current_at() > window:
            raise NotReadyYet(
                f"destructive acts of {self.controller} are paused, and its view is older than {window:g} s:"
                " a status that was made on it is not written"
            )

    def refused(self, key: Key, error: ApiError) -> None:
        """A request for the key failed: a pause that the server asks for begins, whatever the author makes of it."""
        if error.retry_after_seconds:
            self.pause(key, error.retry_after_seconds)

    async def read_live(
        self, view: View, resource: Resource, name: ObjectName, purpose: str, *, subresource: str = ""
    ) -> Object | None:
        """A live read for a reconcile. None: no such object. Raises NotReadyYet, ApiError, Unreachable."""
        agent = self.user_agent(view, resource, "live" if purpose == "author" else purpose)
        held = self.held(resource, name)
        try:
            found = await self.live.get(resource, name, purpose=purpose, user_agent=agent, subresource=subresource)
            self.compare_read(resource, held, found)
            return found
        except ApiError as error:
            self.refused(view.key, error)
            raise

    def given(self, view: View, resource: Resource, name: ObjectName, body: Object) -> None:
        """A reconcile was given the object live: it sees it from now on, and the next one must not decide on less."""
        if resource not in self.sources:
            view.read(resource, name, body)
            return
        meta = meta_of(body)
        delivered = self.reached(resource, meta)
        if delivered and not self.stores[resource].shows(name, meta.uid, meta.resource_version):
            self.writes.read(view.key, resource, name, meta.uid, meta.resource_version)
        view.remember(resource, name, body, hidden=not delivered)

    def found_gone(self, view: View, resource: Resource, name: ObjectName, uid: str, resource_version: str) -> None:
        """The server says that the object is gone: the key waits until its view says so too.

        resource_version: the last one that is known of it.
        """
        if resource in self.sources:
            barrier = self.writes.begin(view.key, resource, name, uid, resource_version)
            self.writes.deleted(barrier, uid, resource_version)
            view.remember(resource, name, None, resource_version)

    def history_lost(self, resource: Resource) -> None:
        """The view of the resource went back, or should: versions from before compare with nothing any more.

        Nor does what was remembered of deletions and creations: they may not have happened.
        """
        log.warning("%s: the history of %s went back: its view is listed again", self.controller, resource)
        self.setbacks += 1
        self.metrics.gate.histories_lost.labels(self.controller, str(resource)).inc()
        self.writes.history_lost(resource)
        self.highest.pop(resource, None)
        self.redecided.clear()
        self.created.clear()

    def compare_answer(self, answered: Version, *, based_on: str, view: Version) -> None:
        """A write was answered with that version. Where the view was past that when it was sent, the server's history
        went back since, and the view does not know yet: a server gives out no version twice.

        based_on: the version that the write was based on, which one that changes nothing is answered with. view: the
        version of the resource's view when it was sent.
        """
        if answered.text != based_on and view.includes(answered):
            self.history_lost(answered.resource)

    def held(self, resource: Resource, name: ObjectName) -> str:
        """Version of the object of that name in the view; "" where there is none, or no view."""
        known = self.stores[resource].version_of(name) if resource in self.stores else None
        return "" if known is None else known[1]

    def compare_read(self, resource: Resource, held: str, found: Object | None) -> None:
        """The object of one name was read live. Where the view had a later one before, the history went back.

        held: its version in the view when it was asked for.
        """
        version = "" if found is None else found["metadata"]["resourceVersion"]
        if version not in ("", held) and includes(held, version):
            self.history_lost(resource)

    def room_for_destruction(self, key: Key) -> None:
        """Raises NotReadyYet where writes are not remembered one by one any more: nothing is destroyed then."""
        if self.gated() and self.writes.full(key):
            raise NotReadyYet(
                f"{self.controller} has more writes that its views do not show than the gate remembers: nothing is "
                "destroyed until they do"
            )

    def created_lately(self, key: Key, place: Place) -> bool:
        """Whether the key has created this very object a moment ago, and somebody deleted it since."""
        at = self.created.get((key, place))
        return at is not None and self.clock() - at < LATELY_SECONDS

    def note_created(self, key: Key, place: Place) -> None:
        self.created[key, place] = self.clock()
        self.created.move_to_end((key, place))
        if len(self.created) > CREATED_LIMIT:
            self.created.popitem(last=False)

    async def kind_of(self, resource: Resource) -> str:
        """`kind` of the resource's objects, from discovery; asked once. Raises ConfigError when the server has none."""
        kind = self.kinds.get(resource)
        if kind is None:
            path = resource.path().removesuffix(f"/{resource.plural}")
            await self.limiter.take("GET")
            self.asking()
            found = msgspec.json.decode(await self.transport.request("GET", path))
            kind = next((each["kind"] for each in found["resources"] if each["name"] == resource.plural), "")
            if not kind:
                raise ConfigError(str(resource), "the server has no such resource")
            self.kinds[resource] = kind
        return kind


def _delivers(source: Source, meta: Meta) -> bool:
    """Whether the view's filter passes the object. A primary's own selectors are not evaluated here."""
    if not source.admits(meta):
        return False
    if source.mode is not FilterMode.SLOT_LABELS:
        return True
    slot = (meta.labels or {}).get(SLOT_LABEL)
    return slot is not None and (source.range.is_whole or slot in source.range.slots())
