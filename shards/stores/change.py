"""What goes into a store, and what it says about it."""

from __future__ import annotations

import msgspec

from shards.objects import Key, Meta
from shards.stores.kept import Kept, primary_in

Held = tuple[str, Kept]
"""An object as a store keeps it: its key there, and the rest."""


class Entry(msgspec.Struct, gc=False):
    """One object as it came. raw: its JSON, bytes of its own (never a slice of a larger buffer)."""

    meta: Meta
    raw: bytes


class Change:
    """What one step did to the cache.

    old None: added. new None: deleted. Both, with different UIDs: deleted and created again under one name.
    initial: from the first list; work that it makes may wait behind other work.
    final_unknown: old has gone, and nobody saw how: a list lacks it, or another object has its name. It is the last
    state that this view had; what happened to the object after that and before its end is not known
    (client-go's DeletedFinalStateUnknown).

    Metadata is put together when somebody asks for it: most want the keys, which cost a tenth.
    """

    __slots__ = ("_new", "_old", "final_unknown", "initial")

    def __init__(
        self, old: Meta | Held | None, new: Meta | Held | None, initial: bool = False, *, final_unknown: bool = False
    ) -> None:
        self._old = old
        self._new = new
        self.initial = initial
        self.final_unknown = final_unknown

    @property
    def old(self) -> Meta | None:
        state = self._old
        if isinstance(state, tuple):
            self._old = state = state[1].meta(state[0])
        return state

    @property
    def new(self) -> Meta | None:
        state = self._new
        if isinstance(state, tuple):
            self._new = state = state[1].meta(state[0])
        return state

    @property
    def old_key(self) -> Key | None:
        """Name and UID of what was there."""
        return None if self._old is None else _key(self._old)

    @property
    def new_key(self) -> Key | None:
        """Name and UID of what is there."""
        return None if self._new is None else _key(self._new)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Change):
            return NotImplemented
        one = (self.old, self.new, self.initial, self.final_unknown)
        return one == (other.old, other.new, other.initial, other.final_unknown)

    __hash__ = None  # type: ignore[assignment]  # metadata holds dicts

    def __repr__(self) -> str:
        return f"Change({self.old!r}, {self.new!r}, initial={self.initial}, final_unknown={self.final_unknown})"


def _key(state: Meta | Held) -> Key:
    if isinstance(state, tuple):
        return primary_in(state[0], state[1].uid)
    return Key(state.namespace, state.name, state.uid)
