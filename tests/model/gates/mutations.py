"""Ways to get `shards.gates` wrong, each of which the exploration of the real gates has to find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import shards.gates.barrier
import shards.handover
from shards.gates.barrier import Barrier, Phase
from shards.gates.doomed import Doomed
from shards.gates.handover_gate import HandoverGate, mark_of
from shards.gates.levels import Levels
from shards.gates.own_writes import UNKNOWN, OwnWrites
from shards.stores.store import StoreReader
from tests.model.gates.parts import CHILDREN, OTHERS
from tests.model.search import LIVENESS, SAFETY

Patch = tuple[Any, str, Any]
"""An attribute of a module or class, and what stands in for it."""


class Mutation(NamedTuple):
    """what: is wrong with the gates. breaks: see `tests.model.explorer`, in that scenario."""

    what: str
    patches: tuple[Patch, ...]
    breaks: str
    scenario: str


@contextmanager
def in_force(mutation: Mutation) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, made in mutation.patches:
            stack.enter_context(patch.object(owner, name, made))
        yield


_seen, _blocked, _closed, _stale = Barrier.seen, OwnWrites.blocked, HandoverGate.closed, OwnWrites.stale


def _no_barrier(self: Any, key: Any, resource: Any, name: Any, uid: str, resource_version: str = "") -> Barrier:
    return Barrier(key, resource, name, uid, resource_version)


def _forgotten(self: Any, barrier: Barrier, *rest: Any, **more: Any) -> None:
    self.failed(barrier)


def _stale_instead_of_all_before(self: Any, barrier: Barrier) -> None:
    for each in self._answered(barrier):
        self._drop(each)
    _stale(self, barrier)


def _seen_when_the_view_is_past(self: Any, view: Any) -> bool:
    return bool(view.shows(self.name, self.uid, self.resource_version) or _seen(self, view))


def _seen_when_absent(self: Any, view: Any) -> bool:
    return self.name not in view if self.phase is Phase.DELETED else _seen(self, view)


def _seen_whatever_the_uid(self: Any, view: Any) -> bool:
    if self.phase is Phase.DELETED:
        return bool(view.shows(self.name, self.uid, self.resource_version))
    return _seen(self, view)


def _seen_by_version_alone(self: Any, view: Any) -> bool:
    return bool(view.reached(self.resource_version)) if self.phase is Phase.LANDED else _seen(self, view)


def _blocked_by_another_view(self: Any, key: Any, views: Any) -> Any:
    return _blocked(self, key, {**views, CHILDREN: views[OTHERS]})


def _marked_in_spite_of_doubt(digest: str, resource: Any, highest: str, barriers: Any) -> Any:
    return mark_of(digest, resource, highest, [each for each in barriers if each.phase not in UNKNOWN])


def _marked_without_the_unseen(digest: str, resource: Any, highest: str, barriers: Any) -> Any:
    return mark_of(digest, resource, highest, [each for each in barriers if each.phase in UNKNOWN])


def _closed_by_lists_alone(self: Any, views: Any) -> Any:
    return {view: why for view, why in _closed(self, views).items() if view in self._lists}


def _closed_by_marks_alone(self: Any, views: Any) -> Any:
    return {view: why for view, why in _closed(self, views).items() if view in self._marks}


def _assumed_fresh(self: Any, view: str) -> None:
    self._marks.pop(view, None)
    self._lists.pop(view, None)


def _no_level(self: Any, key: Any, resource: Any, version: str) -> None: ...


MUTATIONS = {
    "no-barrier": Mutation(
        "nothing is remembered before a request is sent", ((OwnWrites, "begin", _no_barrier),), SAFETY, "own writes"
    ),
    "no-doubt": Mutation(
        "a lost answer leaves nothing in doubt", ((OwnWrites, "in_doubt", _forgotten),), SAFETY, "own writes"
    ),
    "no-gate": Mutation(
        "no key waits for its writes", ((OwnWrites, "blocked", lambda self, key, views: None),), SAFETY, "own writes"
    ),
    "doubt-ended-by-a-view": Mutation(
        "a view that is past it ends a doubt", ((Barrier, "seen", _seen_when_the_view_is_past),), SAFETY, "late landing"
    ),
    "read-forgotten": Mutation(
        "what was read live is not waited for", ((OwnWrites, "settle", _forgotten),), SAFETY, "own writes"
    ),
    "deletion-forgotten": Mutation(
        "a deletion is not waited for",
        ((OwnWrites, "deleted", _forgotten),),
        SAFETY,
        "deleted and created again",
    ),
    "refusal-stands-for-all": Mutation(
        "a refusal stands in for what was written before",
        ((OwnWrites, "stale", _stale_instead_of_all_before),),
        SAFETY,
        "a refusal after a deletion",
    ),
    "lists-left-out": Mutation(
        "a mark does not say how far the old owner had listed",
        ((StoreReader, "listed_version", property(lambda self: "", lambda self, version: None)),),
        SAFETY,
        "a handover after a deletion",
    ),
    "absence-is-proof": Mutation(
        "what a view lacks is taken for deleted",
        ((Barrier, "seen", _seen_when_absent),),
        SAFETY,
        "deleted and created again",
    ),
    "uid-ignored": Mutation(
        "a deletion counts as seen while the object of that UID is there",
        ((Barrier, "seen", _seen_whatever_the_uid),),
        SAFETY,
        "deleted and created again",
    ),
    "version-alone": Mutation(
        "a view that is past a write, and still holds what was before, is believed",
        ((Barrier, "seen", _seen_by_version_alone),),
        SAFETY,
        "events are lost",
    ),
    "another-resource": Mutation(
        "the version of another resource's view is taken as proof",
        (
            (OwnWrites, "blocked", _blocked_by_another_view),
            (shards.gates.barrier, "must_be_one", lambda resource, other: None),
        ),
        SAFETY,
        "own writes",
    ),
    "watermark-ignored": Mutation(
        "the new owner does not wait for the mark",
        ((HandoverGate, "closed", _closed_by_lists_alone),),
        SAFETY,
        "a handover",
    ),
    "no-list-after-a-claim": Mutation(
        "without a mark it does not list", ((HandoverGate, "closed", _closed_by_marks_alone),), SAFETY, "an owner dies"
    ),
    "assumed-fresh": Mutation(
        "a mark that is not reached in time is given up, without a list",
        ((HandoverGate, "demand_list", _assumed_fresh),),
        SAFETY,
        "a handover",
    ),
    "mark-in-doubt": Mutation(
        "a mark is left though a write is in doubt",
        ((shards.handover, "mark_of", _marked_in_spite_of_doubt),),
        SAFETY,
        "a handover",
    ),
    "mark-without-the-unseen": Mutation(
        "a mark does not name what its view has not shown",
        ((shards.handover, "mark_of", _marked_without_the_unseen),),
        SAFETY,
        "a handover after a deletion",
    ),
    "no-levels": Mutation(
        "writes beyond the bound are forgotten",
        ((Levels, "lift", _no_level),),
        SAFETY,
        "more writes than are remembered",
    ),
    "levels-never-listed": Mutation(
        "the list that it waits for is not taken note of",
        ((Levels, "listed", lambda self, resource, number: None),),
        LIVENESS,
        "more writes than are remembered",
    ),
    "doomed-forgotten": Mutation(
        "nobody looks for the end of what lingers",
        ((Doomed, "sweep", lambda self, views, writes, now, limit=100: []),),
        LIVENESS,
        "deleted, and it lingers",
    ),
}
