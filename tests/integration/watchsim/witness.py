"""Looks at one informer: at every change that it tells of, and at what it holds when all is calm."""

from __future__ import annotations

from collections.abc import Iterator

from shards.informers.feed import Feed
from shards.objects import Meta, ObjectName
from shards.stores.store import Change
from shards.versions import at_least
from tests.integration.watchsim.truth import Truth

SHOWN = 20
"""Findings that are kept: one fault shows itself many times."""


class Witness:
    """findings: sentences about what must not happen, the first few. told: changes so far."""

    def __init__(self, name: str, truth: Truth) -> None:
        self.findings: list[str] = []
        self.told = 0
        self._name = name
        self._truth = truth
        self._known: dict[ObjectName, Meta] = {}
        self._shown = ""
        self._regressions = 0
        self._restores = 0
        """Of the server, when the view went back last: one restore excuses one step back."""

    def changed(self, change: Change) -> None:
        """The informer's handler."""
        self.told += 1
        old, new = change.old, change.new
        meta = new or old
        assert meta is not None
        name = ObjectName(meta.namespace, meta.name)
        if _which(self._known.pop(name, None)) != _which(old):
            self._found(f"{name} was told of from another version than the last one")
        if new is not None:
            self._known[name] = new
            self._arrived(name, old, new)
        if old is not None and (new is None or new.uid != old.uid) and not self._truth.left_since(old):
            self._found(f"{name} was deleted from the view, and the server has had it all the time")

    def _arrived(self, name: ObjectName, old: Meta | None, new: Meta) -> None:
        if not self._truth.had(new):
            self._found(f"{name} was shown at {new.resource_version}, which it never had")
        elif old is not None and old.uid == new.uid and self._truth.had(old) and not self._truth.in_order(old, new):
            self._found(f"{name} went back from {old.resource_version} to {new.resource_version}")

    def progressed(self, informer: Feed) -> None:
        """The informer's progress."""
        store = informer.store
        before, self._shown = self._shown, store.resource_version
        went_back = store.regressions - self._regressions
        self._regressions = store.regressions
        if went_back:
            if self._truth.restores == self._restores:
                self._found("the view went back, and the server was not restored since it last did")
            self._restores = self._truth.restores
        if not went_back and before and not at_least(store.resource_version, before):
            self._found(f"the view went back from {before} to {store.resource_version}")

    def differences(self, informer: Feed) -> Iterator[str]:
        """How the view, and what its handler knows, differ from what the server has; at most a few."""
        wanted = self._truth.objects()
        held = {ObjectName(meta.namespace, meta.name) for meta in informer.store.metas()}
        for name in sorted(held ^ wanted.keys()):
            yield f"{self._name}: {name} is {'only in the view' if name in held else 'not in the view'}"
        for name in held & wanted.keys():
            if informer.store.get(name) != wanted[name]:
                yield f"{self._name}: {name} is not what the server has"
        if self._known.keys() != held:
            yield f"{self._name}: the handler knows {len(self._known)} objects, the view has {len(held)}"
        if not informer.synced.is_set():
            yield f"{self._name}: not synced: {informer.trouble}"

    def _found(self, what: str) -> None:
        if len(self.findings) < SHOWN:
            self.findings.append(f"{self._name}: {what}")


def _which(meta: Meta | None) -> tuple[str, str] | None:
    return None if meta is None else (meta.uid, meta.resource_version)
