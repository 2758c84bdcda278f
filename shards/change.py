"""What goes into a store, and what it says about it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from shards.objects import Meta


class Entry(msgspec.Struct, gc=False):
    """One object as it came. raw: its JSON, bytes of its own (never a slice of a larger buffer)."""

    meta: Meta
    raw: bytes


class Change(NamedTuple):
    """What one step did to the cache.

    old None: added. new None: deleted. Both, with different UIDs: deleted and created again under one name.
    initial: from the first list; work that it makes may wait behind other work.
    """

    old: Meta | None
    new: Meta | None
    initial: bool = False
