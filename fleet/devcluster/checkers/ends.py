"""I23: what nobody may do any more once an ownership has ended."""

from __future__ import annotations

from collections import defaultdict

from fleet.devcluster.evidence.rangeindex import LeaseKey
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.informers import Unconfirmed
from fleet.devcluster.invariants.invariant import NOTES, Act, Invariant, LeaseWrite
from fleet.devcluster.recording.journal import Entry
from fleet.records.record import Holder
from shards.journal import Note

Author = tuple[str, Holder]
"""(fleet, incarnation)."""


class Stopped(Invariant):
    """No write of a reconcile is accepted from who has released the range, lost it, left or been fenced; in worker
    journals none begins, or still runs, in a range that was drained, or that the worker does not hold any more.

    An end is a test where its owner had acted before: it is then that it may go on. A hand ends nothing.
    """

    id = "I23"
    sentence = "Stop means stop: nothing is written or started after a release, a drain or a lost lease."
    what = "ends of ownerships under which something was written or started"
    also = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._acted: set[Author] = set()
        self._left: set[Author] = set()
        self._let_go: dict[Author, set[LeaseKey]] = defaultdict(set)
        self._holders: dict[tuple[str, str], dict[str, Holder | None]] = defaultdict(dict)
        """By (member, range): by fleet, the incarnation of the member that holds it, None once it does not."""
        self._closed: set[tuple[str, str]] = set()
        self._drained: set[tuple[str, str]] = set()
        """Those of the closed ones whose reconciles were said to have ended."""
        self._started: set[tuple[str, str]] = set()
        self._unconfirmed = Unconfirmed()

    def hears_gap(self, entry: Entry) -> None:
        self._left.clear()
        self._let_go.clear()
        self._holders.clear()
        self._unconfirmed.clear()

    # -- the server's journal ----------------------------------------------------------------------------------------

    def hears_lease(self, write: LeaseWrite) -> None:
        for at, what in self._unconfirmed.confirmed(write.entry.time):
            self.found(at, what)
        if write.agent is None:
            self._by_hand(write)
            return
        self._member(write)
        before, now = write.shard_before, write.shard
        old, new = before.holder if before else None, now.holder if now else None
        if write.key is None or old == new:
            return
        fleet, covered = write.owned.fleet, str(write.key[1])
        if old is not None:
            self._end((fleet, old))
            self._let_go[fleet, old].add(write.key)
            self._holders[old.member, covered][fleet] = None
        if new is not None:
            self._let_go[fleet, new].discard(write.key)
            self._holders[new.member, covered][fleet] = new

    def _member(self, write: LeaseWrite) -> None:
        old, new = write.member_before, write.member
        if old is None and new is not None:
            # Somebody deleted its record, nobody knew its epoch, and it begins anew (R14).
            self._left.discard((write.owned.fleet, Holder(new.name, new.epoch)))
        if old is not None and old.holder is not None and (new is None or new.epoch != old.epoch or new.holder is None):
            author = write.owned.fleet, Holder(old.name, old.epoch)
            self._end(author)
            self._left.add(author)
            for (member, _), holders in self._holders.items():
                if member == old.name and holders.get(author[0]) == author[1]:
                    holders[author[0]] = None

    def _by_hand(self, write: LeaseWrite) -> None:
        """Whom a hand takes a Lease from cannot know: nothing is said of it until the fleet writes that Lease."""
        before = write.shard_before
        if before is not None and before.holder is not None and write.key is not None:
            self._holders.pop((before.holder.member, str(write.key[1])), None)
        member = write.member_before
        if member is not None:
            for where in [each for each in self._holders if each[0] == member.name]:
                del self._holders[where]

    def _end(self, author: Author) -> None:
        self.checks += author in self._acted

    def hears_act(self, act: Act) -> None:
        if not act.entry.succeeded or act.late:
            return
        author = act.owned.fleet, act.holder
        self._acted.add(author)
        if author in self._left:
            self.checks += 1
            self.found(act.entry, f"{act.path} was written by {act.holder} after its membership ended")
        elif not act.holds and self._has_let_go(author, act):
            self.checks += 1
            self.found(act.entry, f"{act.path} was written by {act.holder} after its release, or the loss of its range")

    def _has_let_go(self, author: Author, act: Act) -> bool:
        let_go = self._let_go.get(author, set())
        return any(where in let_go for where in act.owned.places(*act.key)) if let_go else False

    # -- worker journals ---------------------------------------------------------------------------------------------

    def hears_note(self, note: Note) -> None:
        where, what = (note.member, note.range), note.what
        if what in ("drained", "stopped"):
            self.checks += where in self._started
            self._started.discard(where)
            self._closed.add(where)
            if what == "drained":
                self._drained.add(where)
        elif what in ("begin", "lost"):
            for known in (self._closed, self._drained, self._started):
                known -= {each for each in known if each[0] == note.member}
        elif what == "opened":
            self._closed.discard(where)
            self._drained.discard(where)
        elif what == "started":
            self._start(note, where)
        elif what == "ended" and where in self._drained:
            self.checks += 1
            self.found(note.time, f"{note.key} still ran on {note.member} in {note.range}, which it had drained")

    def _start(self, note: Note, where: tuple[str, str]) -> None:
        holders = self._holders.get(where)
        started = f"{note.member} started {note.key} in {note.range}, which it"
        if where in self._closed:
            self.checks += 1
            self.found(note.time, f"{started} had drained")
        elif holders and not any(holders.values()):
            self.checks += 1
            self._unconfirmed.hold(note.time, f"{started} does not hold any more")
        else:
            self._started.add(where)
