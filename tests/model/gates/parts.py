"""The real objects of `shards.gates` and `shards.stores`, as values: what is done to one is done to a copy.

Each is kept once, under a fingerprint of all that its answers depend on; a state of the model holds its number. What
was once done to a number is remembered, so that an exploration costs as many calls of the code as there are different
ones.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from shards.gates.barrier import Barrier
from shards.gates.doomed import Doom, Doomed
from shards.gates.handover_gate import HandoverGate
from shards.gates.own_writes import OVERDUE_SECONDS, OwnWrites
from shards.gates.watermark import Watermark
from shards.handover import watermark_of
from shards.objects import Key, Meta, ObjectName, Resource
from shards.stores.change import Entry
from shards.stores.store import StoreReader, StoreWriter

CHILDREN, OTHERS = Resource("", "v1", "children"), Resource("", "v1", "others")
KEY, NAME = Key("ns", "primary", "uid-of-primary"), ObjectName("ns", "child")
VIEW, DIGEST = str(CHILDREN), "digest"

Basis = tuple[int, int, bool] | None
"""An object as somebody sees it: UID, version, and whether it is going; None: there is none."""


def text(version: int) -> str:
    return str(version) if version else ""


def meta_of(seen: tuple[int, int, bool]) -> Meta:
    uid, version, dying = seen
    return Meta(NAME.name, NAME.namespace, f"u{uid}", text(version), deletion_timestamp="now" if dying else None)


class Held(NamedTuple):
    """What the gate says of the key. whole, needs_read: of `Blocked`."""

    whole: bool
    needs_read: bool


class Ledger:
    """What one tenure remembers of its writes. refs: barriers that a request, or a live read, will settle."""

    def __init__(self, most: int) -> None:
        self.writes = OwnWrites(most)
        self.doomed = Doomed()
        self.refs: dict[str, list[Barrier]] = {}


class Parts:
    """Everything of one exploration. most: barriers that are remembered one by one."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._things: list[Any] = []
        self._numbers: dict[object, int] = {}
        self._done: dict[tuple[object, ...], Any] = {}
        self.other = _view(OTHERS)
        self.other.replace([], "1000")  # far ahead: whoever asks it by mistake is told that all is there

    def __getitem__(self, number: int) -> Any:
        return self._things[number]

    def _kept(self, thing: Any, fingerprint: object) -> int:
        number = self._numbers.get(fingerprint)
        if number is None:
            number = self._numbers[fingerprint] = len(self._things)
            self._things.append(thing)
        return number

    def _once(self, question: tuple[object, ...], answer: Callable[[], Any]) -> Any:
        if question not in self._done:
            self._done[question] = answer()
        return self._done[question]

    # -- views --------------------------------------------------------------------------------------------------------

    def new_view(self) -> int:
        return self._keep_view(_view(CHILDREN))

    def _keep_view(self, view: StoreWriter) -> int:
        reader = view.reader
        entries = tuple(sorted((key, kept.uid, kept.version) for key, kept in reader._entries.items()))
        dying = tuple(sorted(key for key, kept in reader._entries.items() if kept.deletion_timestamp))
        tombs = tuple(reader._tombstones.items())
        marks = reader.resource_version, reader.highest_object_version, reader.listed_version, reader.regressions
        return self._kept(view, ("view", entries, dying, tombs, marks))

    def moved_view(self, view: int, how: str, *what: Any) -> int:
        """how: "apply" or "delete" of an object, "bookmark" of a version, "list" of what there is at a version."""

        def do() -> int:
            copy = _copied(self[view])
            if how == "apply":
                copy.apply(meta_of(what[0]), b"{}")
            elif how == "delete":
                copy.delete(meta_of(what[0]))
            elif how == "bookmark":
                copy.bookmark(text(what[0]))
            else:
                copy.replace([] if what[0] is None else [Entry(meta_of(what[0]), b"{}")], text(what[1]))
            return self._keep_view(copy)

        return cast(int, self._once(("moved", view, how, what), do))

    def version_of(self, view: int) -> int:
        return int(self[view].reader.resource_version or 0)

    def seen_in(self, view: int) -> Basis:
        def do() -> Basis:
            meta = self[view].reader.meta(NAME)
            if meta is None:
                return None
            return int(meta.uid[1:]), int(meta.resource_version), meta.deletion_timestamp is not None

        return cast(Basis, self._once(("seen", view), do))

    def _views(self, view: int) -> dict[Resource, StoreReader]:
        return {CHILDREN: self[view].reader, OTHERS: self.other.reader}

    # -- ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger(self) -> int:
        return self._keep_ledger(Ledger(self.most))

    def _keep_ledger(self, ledger: Ledger) -> int:
        barriers = ledger.writes._barriers.get(KEY, [])
        order = {id(each): i for i, each in enumerate(barriers)}
        shown = tuple((each.uid, each.resource_version, each.phase.value) for each in barriers)
        refs = tuple(
            (name, tuple(order.get(id(each), -1) for each in refs)) for name, refs in sorted(ledger.refs.items())
        )
        levels = ledger.writes.levels
        keys = tuple((str(of), level) for of, level in sorted(levels._keys.get(KEY, {}).items()))
        resources = tuple(sorted((str(of), n) for of, n in levels._resources.items()))
        dooms = tuple(str(each) for each in ledger.doomed._since)
        return self._kept(ledger, ("ledger", shown, refs, keys, resources, levels.numbers, dooms))

    def told(self, ledger: int, view: int, what: str, ref: str, *rest: Any) -> int:
        """One call of the gate's memory. ref: whose barrier. rest: UID and version, as they are there."""

        def do() -> int:
            copy: Ledger = deepcopy(self[ledger])
            _TELL[what](copy, self._views(view), ref, *rest)
            return self._keep_ledger(copy)

        return cast(int, self._once(("told", ledger, view, what, ref, rest), do))

    def held_back(self, ledger: int, view: int) -> Held | None:
        """Whether the key must wait on that view now."""

        def do() -> Held | None:
            copy: Ledger = deepcopy(self[ledger])
            blocked = copy.writes.blocked(KEY, self._views(view))
            return None if blocked is None else Held(blocked.whole, blocked.needs_read)

        return cast("Held | None", self._once(("blocked", ledger, view), do))

    # -- handover -----------------------------------------------------------------------------------------------------

    def watermark(self, ledger: int, view: int, highest: int, epoch: int) -> int:
        """What a release leaves, by the code that makes it of a shard's views."""

        def do() -> int:
            copy: Ledger = deepcopy(self[ledger])
            reader = self[view].reader
            fence = SimpleNamespace(writes=copy.writes, highest={CHILDREN: text(highest)} if highest else {})
            engine = SimpleNamespace(fence=fence, stores=self._views(view))
            shown = SimpleNamespace(
                store=reader,
                engines=[engine],
                source=SimpleNamespace(digest=DIGEST, resource=CHILDREN),
                informer=SimpleNamespace(
                    synced=SimpleNamespace(is_set=lambda: bool(reader.resource_version)), blind=frozenset()
                ),
            )
            mark = watermark_of(cast(Any, {VIEW: shown}), epoch)
            return self._kept(mark, ("watermark", repr(mark)))

        return cast(int, self._once(("watermark", ledger, view, highest, epoch), do))

    def new_gate(self, watermark: int, expected_epoch: int) -> int:
        def do() -> int:
            mark: Watermark | None = None if watermark < 0 else self[watermark]
            return self._keep_gate(HandoverGate(mark, expected_epoch, {VIEW: DIGEST}))

        return cast(int, self._once(("gate", watermark, expected_epoch), do))

    def _keep_gate(self, gate: HandoverGate) -> int:
        marks, lists = sorted(gate._marks.items()), sorted(gate._lists.items())
        return self._kept(gate, ("gate", repr(marks), repr(lists)))

    def changed_gate(self, gate: int, how: str, *what: Any) -> int:
        def do() -> int:
            copy: HandoverGate = deepcopy(self[gate])
            if how == "listed":
                copy.listed(VIEW, text(what[0]))
            else:
                copy.demand_list(VIEW)
            return self._keep_gate(copy)

        return cast(int, self._once(("gate", gate, how, what), do))

    def needs_list(self, gate: int) -> bool:
        return bool(self[gate].needs_list(VIEW))

    def is_open(self, gate: int, view: int) -> bool:
        return cast(bool, self._once(("open", gate, view), lambda: self[gate].open({VIEW: self[view].reader})))


def _view(resource: Resource) -> StoreWriter:
    return StoreWriter(resource=resource)


def _copied(view: StoreWriter) -> StoreWriter:
    """Of objects without owners, labels and indexes."""
    copy, old = StoreWriter(resource=view.reader.resource), view.reader
    new = copy.reader
    new._entries, new._names, new._tombstones = dict(old._entries), dict(old._names), dict(old._tombstones)
    new.resource_version, new.highest_object_version = old.resource_version, old.highest_object_version
    new.listed_version, new.regressions = old.listed_version, old.regressions
    return copy


def _begin(ledger: Ledger, views: Any, ref: str, uid: str, version: str) -> None:
    ledger.refs[ref] = [ledger.writes.begin(KEY, CHILDREN, NAME, uid, version)]


def _settle(ledger: Ledger, views: Any, ref: str, live: Basis) -> None:
    """As `ParkedKeys._read_live` does with what it was answered."""
    for barrier in ledger.refs.pop(ref, []):
        ledger.writes.settle(barrier, None if live is None else meta_of(live), views[CHILDREN], admitted=True)


def _landed(ledger: Ledger, views: Any, ref: str, uid: str, version: str, doomed: bool) -> None:
    """As `FencedRequests._took` does."""
    ledger.writes.landed(ledger.refs.pop(ref)[0], uid, version)
    if doomed:
        ledger.doomed.begin(Doom(KEY, CHILDREN, NAME, uid), 0.0)


def _deleted(ledger: Ledger, views: Any, ref: str) -> None:
    barrier = ledger.refs.pop(ref)[0]
    ledger.writes.deleted(barrier, barrier.uid, barrier.resource_version)


def _sweep(ledger: Ledger, views: Any, ref: str) -> None:
    """An OVERDUE_SECONDS passes, and the engine looks at what lingers."""
    ledger.doomed.sweep(views, ledger.writes, OVERDUE_SECONDS)
    for doom in list(ledger.doomed._since):
        ledger.doomed._since[doom] = 0.0


_TELL: dict[str, Callable[..., None]] = {
    "begin": _begin,
    "landed": _landed,
    "deleted": _deleted,
    "stale": lambda ledger, views, ref: ledger.writes.stale(ledger.refs.pop(ref)[0]),
    "in doubt": lambda ledger, views, ref: ledger.writes.in_doubt(ledger.refs.pop(ref)[0]),
    "asked": lambda ledger, views, ref: ledger.refs.update({ref: list(ledger.writes.waiting(KEY, views))}),
    "settle": _settle,
    "listed": lambda ledger, views, ref: ledger.writes.levels.listed(CHILDREN, ledger.writes.levels.numbers),
    "sweep": _sweep,
    "blocked": lambda ledger, views, ref: ledger.writes.blocked(KEY, views),
}
