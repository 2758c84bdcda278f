"""A `drop` where the watch cache is ours: it never hears the commit, so that lists that it serves miss it as well."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Protocol

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.match import Event
from fleet.devcluster.faults.words import DropEvents
from fleet.devcluster.storage.storage import Commit


class Loss(Protocol):
    """What a watch cache loses from now on."""

    def end(self) -> None:
        """Later commits are heard again; what was lost stays lost."""


class Lose(Protocol):
    """The watch cache's own door for it."""

    def __call__(self, predicate: Callable[[Commit], bool]) -> Loss: ...


def lost_by(injection: Injection, fault: DropEvents, rng: random.Random) -> Callable[[Commit], bool]:
    """Whether the cache loses a commit. Of the fault's `match` what names objects counts: a cache serves everybody."""
    match = fault.match

    def takes(commit: Commit) -> bool:
        shown = commit.new or commit.old
        if shown is None or (match.resource and match.resource != str(commit.kind.resource)):
            return False
        meta = shown.meta
        if match.namespace not in ("", meta.namespace) or match.name not in ("", meta.name):
            return False
        kind = "DELETED" if commit.new is None else "ADDED" if commit.old is None else "MODIFIED"
        event = Event.of(kind, meta.name, meta.namespace, commit.version)
        return fault.events.admit(event) and injection.strikes(asyncio.get_running_loop().time(), rng)

    return takes
