"""The objects of one resource in key order, with the commits that led there. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.commits import Commit, Stored

Test = Callable[[Stored], bool]

_AFTER_SLASH = chr(ord("/") + 1)


class HistoryGone(Exception):
    """The history does not reach back to that version. oldest: the first version that it can still continue from."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a table. left: objects in the range behind the last item, whether or not they would be selected."""

    items: list[Stored]
    left: int


class Table:
    """Objects of one resource in key order, with the commits that led here.

    Invariants: `keys` is sorted and equals the keys of `objects`; every commit after `floor` is in `history`, in order.

    kind: the resource in the version in which its objects are stored. compacted: versions below it cannot be listed;
    it is never below `floor` and may be above it, as etcd may have forgotten what a watch cache remembers.
    """

    def __init__(self, kind: ResourceType, floor: int, history_limit: int) -> None:
        self.kind = kind
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.history: deque[Commit] = deque()
        self.floor = floor
        self.compacted = floor
        self.history_limit = history_limit
        self.listeners: list[Callable[[Commit], None]] = []

    def copy(self) -> Table:
        """The same content and history, without the listeners. O(objects)."""
        made = Table(self.kind, self.floor, self.history_limit)
        made.objects, made.keys, made.history = dict(self.objects), list(self.keys), deque(self.history)
        made.compacted = self.compacted
        return made

    def apply(self, key: str, version: int, new: Stored | None) -> Commit:
        """Raises KeyError for the deletion of what is not there."""
        old = self.objects.get(key)
        if new is None:
            del self.objects[key]
            self.keys.pop(bisect_left(self.keys, key))
        else:
            if old is None:
                insort(self.keys, key)
            self.objects[key] = new
        commit = Commit(self.kind, version, old, new)
        self.history.append(commit)
        if len(self.history) > self.history_limit:
            self.floor = self.history.popleft().version
            if self.compacted < self.floor:
                self.compacted = self.floor
        return commit

    def forget(self, up_to: int, *, watches: bool = True) -> None:
        """Lists below that version fail from now on: what etcd's compaction does.

        watches: so do watches, as after a restart of the server, whose watch cache does not survive one.
        """
        self.compacted = max(self.compacted, up_to)
        if not watches:
            return
        while self.history and self.history[0].version <= up_to:
            self.history.popleft()
        self.floor = max(self.floor, up_to)

    def after(self, version: int) -> list[Commit]:
        """Commits later than a version, oldest first. Raises HistoryGone."""
        if version < self.floor:
            raise HistoryGone(self.floor)
        found = []
        for commit in reversed(self.history):
            if commit.version <= version:
                break
            found.append(commit)
        found.reverse()
        return found

    def scan(self, prefix: str = "", after_key: str = "") -> Iterator[Stored]:
        """Objects in key order. prefix: "namespace/" or "". after_key: the last key that is not wanted any more."""
        begin, end = self._range(prefix)
        if after_key:
            begin = max(begin, bisect_right(self.keys, after_key))
        return (self.objects[key] for key in self.keys[begin:end])

    def page(self, prefix: str, begin_key: str, test: Test | None, limit: int) -> Page:
        """The first `limit` objects from a key on that the test admits; limit 0: all. test None: admits everything."""
        begin, end = self._range(prefix)
        if begin_key:
            begin = max(begin, bisect_left(self.keys, begin_key))
        stop = min(begin + limit, end) if limit and test is None else end
        keys = self.keys if begin == 0 and stop == len(self.keys) else islice(self.keys, begin, stop)
        items, seen = _chosen(map(self.objects.__getitem__, keys), test, limit)
        return Page(items, max(end - begin - seen, 0))

    def at(self, version: int) -> Table | Past:
        """This table as it was at a version. Raises HistoryGone. O(commits since)."""
        if version < self.compacted:
            raise HistoryGone(self.compacted)
        commits = self.after(version)
        return Past(self, commits) if commits else self

    def _range(self, prefix: str) -> tuple[int, int]:
        """Positions in `keys` of those that begin with "namespace/", or of all."""
        if not prefix:
            return 0, len(self.keys)
        begin = bisect_left(self.keys, prefix)
        return begin, bisect_left(self.keys, prefix[:-1] + _AFTER_SLASH, begin)


class Past:
    """A table as it was before some commits. Valid until the table's next commit; costs nothing but those commits."""

    def __init__(self, table: Table, undone: list[Commit]) -> None:
        self.kind = table.kind
        self._table = table
        self._changed: dict[str, Stored | None] = {}
        for commit in reversed(undone):
            self._changed[commit.key] = commit.old
        self._revived = sorted(key for key, old in self._changed.items() if old and key not in table.objects)
        self._unborn = sorted(key for key, old in self._changed.items() if not old and key in table.objects)

    def scan(self, prefix: str = "", after_key: str = "") -> Iterator[Stored]:
        """See Table.scan."""
        return iter(self.page(prefix, f"{after_key}\0" if after_key else "", None, 0).items)

    def page(self, prefix: str, begin_key: str, test: Test | None, limit: int) -> Page:
        """See Table.page."""
        first, last = max(prefix, begin_key), prefix[:-1] + _AFTER_SLASH if prefix else ""
        live = _between(self._table.keys, first, last)
        revived = _between(self._revived, first, last)
        total = len(live) + len(revived) - len(_between(self._unborn, first, last))
        keys = (
            merge(_of(self._table.keys, live), _of(self._revived, revived)) if revived else _of(self._table.keys, live)
        )
        items, seen = _chosen(self._then(keys), test, limit)
        return Page(items, max(total - seen, 0))

    def _then(self, keys: Iterable[str]) -> Iterator[Stored]:
        """Versions of that time; keys that did not exist are left out."""
        changed, objects = self._changed, self._table.objects
        for key in keys:
            if key not in changed:
                yield objects[key]
            elif (old := changed[key]) is not None:
                yield old


def _chosen(candidates: Iterable[Stored], test: Test | None, limit: int) -> tuple[list[Stored], int]:
    """Those that the test admits, up to the limit, and how many were looked at."""
    if test is None:
        items = list(islice(candidates, limit) if limit else candidates)
        return items, len(items)
    items, seen = [], 0
    for each in candidates:
        seen += 1
        if test(each):
            items.append(each)
            if len(items) == limit:
                break
    return items, seen


def _between(keys: list[str], first: str, last: str) -> range:
    """Positions of the sorted keys from `first` up to, but without, `last`; "" on either side: no bound."""
    begin = bisect_left(keys, first)
    return range(begin, bisect_left(keys, last, begin) if last else len(keys))


def _of(keys: list[str], positions: range) -> Iterator[str]:
    return islice(keys, positions.start, positions.stop)
