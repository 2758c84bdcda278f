"""Acts that cannot be taken back: each on a live read that equals what was decided on, as far as the breaker allows.

Design 4.4. The snapshot of the decision, the one that is compared with the server, and the preconditions of the write
are one and the same: an act that was decided on A never carries the version of B (Patroni 3718).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from shards.errors import ApiError, BreakerOpen, ConfigError, Conflict, ConflictingOwner, NotFound, Unreachable
from shards.journal import Note
from shards.objects import Object, ObjectName, Resource, meta_of
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.live import in_trouble
from shards.ownership.overlay import Snapshot
from shards.ownership.view import Place, View, controller_uid

log = logging.getLogger("shards.reconcile")

REDECISIONS = 3
"""Times that an act is decided anew because only the version moved. Then the last live read is good enough: an object
whose status changes ten times a second must still be deletable."""

MOST_READS = 16
"""Objects that one decision may rest on. Each costs a live read, and all have to fit into the budget at once."""

_DELETING = ("foregroundDeletion", "orphan")
"""Finalizers that a deletion in the background would still change."""


class Absent(NamedTuple):
    """What a decision rests on as well: that there is no such object."""

    resource: str | Resource
    name: str | ObjectName


class Basis(NamedTuple):
    """One object as a decision was made on it. snapshot: None: it is not there. generation: 0 where it is not known."""

    resource: Resource
    name: ObjectName
    snapshot: Snapshot | None
    generation: int = 0


def basis_of(view: View, given: Object | Absent) -> Basis:
    """From what an author hands over. Raises ConfigError for what this run has not read."""
    if isinstance(given, Absent):
        name = given.name if isinstance(given.name, ObjectName) else ObjectName(view.key.namespace, given.name)
        return Basis(resource_of(given.resource), name, None)
    untrusted: Any = given
    metadata = (untrusted.get("metadata") if isinstance(untrusted, Mapping) else None) or {}
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if not uid or not version:
        raise ConfigError("reads", "give objects as ctx.store or ctx.live gave them, or Absent(resource, name)")
    place = view.place_of(uid)
    if place is None:
        raise ConfigError("reads", f"{metadata.get('name', uid)!r} was not read in this run; read it, then decide")
    return Basis(*place, Snapshot(uid, version), metadata.get("generation", 0))


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Resource:
    return Resource.parse(text)


def resource_of(resource: str | Resource) -> Resource:
    """Raises ConfigError for text that names no resource."""
    return _parsed(resource) if isinstance(resource, str) else resource


class Acts:
    """The destructive acts of one reconcile.

    sent_back: whether one has to be decided anew. paused: why the breaker refused one, "" for none. done: whether one
    went through, or found its work done.
    """

    __slots__ = ("_refused", "_requests", "done", "paused", "sent_back")

    def __init__(self, requests: FencedRequests) -> None:
        self._requests = requests
        self._refused: set[Place] = set()
        """What was decided on another state than the live one. For the rest of the run nothing is done to it: who
        catches the conflict and tries again has not decided again."""
        self.sent_back = False
        self.paused = ""
        self.done = False

    @property
    def tried(self) -> bool:
        """Whether one was paused, or went through."""
        return self.done or bool(self.paused)

    # -- the steps of an act, in order -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Raises NotOwner, BreakerOpen, and NotReadyYet while the gate's memory is at its bound."""
        self._requests.deadline()
        self._requests.fence.room_for_destruction(self._requests.view.key)
        self._unless_paused(self._requests.fence.live.refuse_destructive())

    async def look(self, basis: Basis, purpose: str) -> Object | None:
        """The object by a live read. None: it is gone, and the gate waits for the view to show that.

        Raises Conflict where a decision about it was sent back in this run, NotReadyYet, ApiError, Unreachable.
        """
        if (basis.resource, basis.name) in self._refused:
            raise _changed(basis)
        try:
            return await self._requests.read(basis.resource, basis.name, purpose, decided=basis.snapshot)
        except (ApiError, Unreachable) as error:
            if in_trouble(error) and self._requests.fence.live.guards.breaker.opened:
                self._pause(self._requests.fence.live.guards.breaker.reason, error)
            raise

    def compare(self, basis: Basis, found: Object | None) -> None:
        """Raises Conflict when the decision was made on another state than was found live, within REDECISIONS."""
        live = None if found is None else Snapshot.of(found)
        decided = basis.snapshot
        if decided == live:
            return
        fence, view = self._requests.fence, self._requests.view
        place = (basis.resource, basis.name)
        sent_back = fence.redecided.setdefault(view.key, {})
        times, before = sent_back.get(place, (0, None))
        # On the same state again it was not decided anew: with the gate off, nothing keeps a run from an old view.
        anew = decided != before
        times += anew
        sent_back[place] = (times, decided)
        if anew and decided is not None and live is not None and decided.uid == live.uid and times > REDECISIONS:
            generation = 0 if found is None else meta_of(found).generation
            if basis.generation in (0, generation):
                return
        self.sent_back = True
        self._refused.add(place)
        if decided is not None:
            # What else this run does to the object was decided on that state too.
            view.decided_on(basis.resource, basis.name, decided)
            seen = live is not None and fence.writes.expects(view.key, basis.resource, live.uid)
            if live is not None and not seen:
                self._doubt(basis.resource, basis.name, decided)
        own = view.snapshot(view.primary, view.name)
        if own is not None and own.uid == view.key.uid and place != (view.primary, view.name):
            # A view that was wrong about the object may be as old about the one that the decision is for.
            self._doubt(view.primary, view.name, own)
        raise _changed(basis)

    def _doubt(self, resource: Resource, name: ObjectName, decided: Snapshot) -> None:
        """The next run does not begin before the object was read live."""
        fence, key = self._requests.fence, self._requests.view.key
        if resource in fence.sources and not fence.writes.expects(key, resource, decided.uid):
            fence.writes.stale(fence.writes.begin(key, resource, name, *decided))

    async def confirm(self, bases: Sequence[Basis], purpose: str) -> None:
        """Reads them live, each once; all of them are as decided, at one instant. Raises as `look` and `compare`.

        At one instant: what must not exist is read first. What has the version at the read that it had at the decision
        had it all the time in between, that first instant included. Where several must not exist, each did not when it
        was read.
        """
        if len({each[:2] for each in bases}) > MOST_READS:
            raise ConfigError("reads", f"a decision may rest on at most {MOST_READS} objects")
        found: dict[Place, Object | None] = {}
        for basis in sorted(bases, key=lambda each: each.snapshot is not None):
            place = (basis.resource, basis.name)
            if place not in found:
                found[place] = await self.look(basis, purpose)
            self.compare(basis, found[place])

    def admit(self) -> None:
        """Right before it is sent: the breaker counts it. Raises NotOwner and BreakerOpen."""
        self._requests.deadline()
        self._unless_paused(self._requests.fence.live.admit_destructive())

    def clock(self) -> float:
        """Boot-clock reading."""
        return self._requests.fence.clock()

    def remaining_seconds(self) -> float:
        """For how long this reconcile may act, as things are now; 0.0 when that is over."""
        requests = self._requests
        return 0.0 if requests.revoked else max(requests.fence.tenure.deadline() - self.clock(), 0.0)

    def log(self, what: str) -> None:
        """With controller and key before it."""
        log.info("%s %s %s", self._requests.fence.controller, self._requests.view.key, what)

    def settled(self, *bases: Basis) -> None:
        """The act went through, or found its work done."""
        self.done = True
        times = self._requests.fence.redecided.get(self._requests.view.key, {})
        for basis in bases:
            times.pop((basis.resource, basis.name), None)

    def tell(self, act: str, basis: Basis, result: str, reason: str = "") -> None:
        """For metrics and journal. reason: of a confirmed act."""
        fence, key = self._requests.fence, self._requests.view.key
        fence.metrics.acts.done.labels(fence.controller, act, reason, result).inc()
        journal = fence.journal
        if journal.on:
            name, version = fence.controller, basis.snapshot.resource_version if basis.snapshot else ""
            note = Note("act", fence.clock(), "", name, str(fence.tenure.range), str(basis.resource), version=version)
            note.key, note.uid, note.outcome, note.cause = str(key), key.uid, result, reason or act
            journal.write(note)

    async def carry_out(self, act: str, bases: Sequence[Basis], steps: Awaitable[str]) -> None:
        """Does an act on the first of the objects, and tells what came of it. steps: they return the result."""
        try:
            result = await steps
        except BaseException as error:
            self.tell(act, bases[0], result_of(error))
            raise
        self.tell(act, bases[0], result)
        self.settled(*bases)

    # -- deletions ---------------------------------------------------------------------------------------------------

    async def delete(self, basis: Basis, propagation: str, reads: Sequence[Basis]) -> None:
        """See `FencedClient.delete`."""
        await self.carry_out("delete", (basis, *reads), self._delete(basis, propagation, reads))

    async def _delete(self, basis: Basis, propagation: str, reads: Sequence[Basis]) -> str:
        fence, view = self._requests.fence, self._requests.view
        resource, name = basis.resource, basis.name
        self.begin()
        await self.confirm(reads, "delete")
        found = await self.look(basis, "delete")
        if found is None:
            return "absent"
        self.check_controller(resource, name, found)
        live = Snapshot.of(found)
        if _ends_already(found, basis, propagation):
            return "absent"
        if basis.snapshot is not None or self._shown(resource, found):
            self.compare(basis, found)
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": {"uid": live.uid, "resourceVersion": live.resource_version},
        }
        self.admit()
        try:
            await self._requests.write("delete", resource, name, options, method="DELETE", snapshot=live)
        except NotFound as error:
            if not error.reason:
                raise  # of something between here and the server: it proves nothing
            fence.found_gone(view, resource, name, *live)
            return "absent"
        return "ok"

    def check_controller(self, resource: Resource, name: ObjectName, found: Object) -> None:
        """Raises ConflictingOwner for a child of somebody else."""
        key = self._requests.view.key
        uid = controller_uid(found)
        if self._requests.fence.owns(resource) and uid != key.uid:
            whose = f"is controlled by {uid}" if uid else "has no controller"
            raise ConflictingOwner(f"{resource} {name} {whose}, not by {key} ({key.uid})")

    def _shown(self, resource: Resource, found: Object) -> bool:
        """Whether the view will show the object: a decision on a view that does not yet was made on its absence."""
        return self._requests.view.holds(resource) and self._requests.fence.reached(resource, meta_of(found))

    def _unless_paused(self, refusal: str | None) -> None:
        if refusal is not None:
            self._pause(refusal)

    def _pause(self, why: str, error: Exception | None = None) -> NoReturn:
        self.paused = why
        raise BreakerOpen(f"destructive acts of {self._requests.fence.controller} are paused: {why}") from error


def result_of(error: BaseException) -> str:
    """How an act ended that raised this, for metrics and journal."""
    if isinstance(error, Conflict | ConflictingOwner):
        return "conflict"
    return "paused" if isinstance(error, BreakerOpen) else "failed"


def _ends_already(found: Object, basis: Basis, propagation: str) -> bool:
    """Whether the very object is being deleted, so that another deletion would change nothing."""
    metadata: Mapping[str, Any] = found["metadata"]
    if not metadata.get("deletionTimestamp") or propagation != "Background":
        return False
    same = basis.snapshot is None or basis.snapshot.uid == metadata["uid"]
    return same and not any(each in _DELETING for each in metadata.get("finalizers") or ())


def _changed(basis: Basis) -> Conflict:
    return Conflict(409, "Conflict", f"{basis.resource} {basis.name} has changed since the act was decided")
