"""What an informer writes into its worker's journal."""

from __future__ import annotations

from shards.clock import Clock
from shards.journal import Journal, Note
from shards.objects import Meta, ObjectName
from shards.stores.store import Change, StoreReader
from shards.watching.source import Source


class InformerNotes:
    """The lines of one view. Nothing is written, and next to nothing paid, while the journal is off."""

    __slots__ = ("_by_list", "_clock", "_journal", "_namespace", "_noted", "_range", "_resource", "_role", "_whole")

    def __init__(self, journal: Journal, source: Source, clock: Clock) -> None:
        self._journal = journal
        self._by_list = False
        self._noted = ""
        self._clock = clock
        self._range = str(source.range)
        self._resource = str(source.resource)
        self._role = source.role
        self._namespace = source.whole_namespace
        self._whole = "whole" if source.whole else "namespace" if self._namespace else ""

    @property
    def on(self) -> bool:
        """Whether anybody reads them."""
        return self._journal.on

    def list_began(self, *, instead: bool) -> None:
        """instead: of one that was given up."""
        if self._journal.on:
            if instead:
                self._write(self._line("unlisted"))
            self._write(self._line("list"))

    def listed(self, version: str, count: int) -> None:
        """A complete list is in the store; the changes up to `handed_over` are what it brought."""
        self._by_list = True
        if self._journal.on:
            note = self._line("listed")
            note.version, note.count = version, count
            self._write(note)

    def handed_over(self) -> None:
        self._by_list = False

    def changed(self, change: Change) -> None:
        """The handlers are about to be told. One object in another's place is a deletion and an addition."""
        if not self._journal.on:
            return
        old, new = change.old, change.new
        replaced = old is not None and new is not None and old.uid != new.uid
        if old is not None and (new is None or replaced):
            self._change("deleted", old)
        if new is not None:
            self._change("added" if old is None or replaced else "modified", new)

    def view(self, store: StoreReader) -> None:
        """All that the view holds, once it is complete, and where it has moved since it was noted last."""
        if self._journal.on and store.resource_version not in ("", self._noted):
            self._noted = store.resource_version
            note = self._line("view")
            note.version, note.outcome, note.key = store.resource_version, self._whole, self._namespace
            note.objects = {meta.uid: meta.resource_version for meta in store.metas()}
            self._write(note)

    def _change(self, cause: str, meta: Meta) -> None:
        note = self._line("change")
        note.cause, note.outcome = cause, "list" if self._by_list else "event"
        note.key, note.uid = str(ObjectName(meta.namespace, meta.name)), meta.uid
        note.version = meta.resource_version
        self._write(note)

    def _line(self, what: str) -> Note:
        return Note(what, self._clock(), range=self._range, resource=self._resource, role=self._role)

    def _write(self, note: Note) -> None:
        self._journal.write(note)
