"""What the engine of one controller in one shard writes into its worker's journal."""

from __future__ import annotations

from shards.authoring.controller import Controller
from shards.journal import Journal, Note
from shards.keyrange import KeyRange
from shards.objects import Key
from shards.ownership.view import Views


class EngineNotes:
    """The lines about its reconciles. on: whether anybody reads them; ask before each."""

    __slots__ = ("_controller", "_journal", "_primary", "_range", "_stores", "on")

    def __init__(self, journal: Journal, controller: Controller, shard: KeyRange, stores: Views) -> None:
        self.on = journal.on
        self._journal = journal
        self._controller = controller.name
        self._primary = str(controller.primary)
        self._range = str(shard)
        self._stores = stores

    def started(self, key: Key, now: float, waited_seconds: float) -> None:
        """waited_seconds: since the key was ready."""
        views = {str(resource): store.resource_version for resource, store in self._stores.items()}
        note = Note("started", now, controller=self._controller, range=self._range, key=str(key), uid=key.uid)
        note.resource, note.views, note.seconds = self._primary, views, waited_seconds
        self._journal.write(note)

    def ended(self, key: Key, now: float, outcome: str, seconds: float) -> None:
        name, covered = self._controller, self._range
        self._journal.write(
            Note("ended", now, "", name, covered, key=str(key), uid=key.uid, outcome=outcome, seconds=seconds)
        )

    def aside(self, key: Key, now: float, why: str) -> None:
        """It does not run. why: see `shards.journal.Note`."""
        views = {str(resource): store.resource_version for resource, store in self._stores.items()}
        note = Note("aside", now, controller=self._controller, range=self._range, key=str(key), uid=key.uid, cause=why)
        note.resource, note.views = self._primary, views
        self._journal.write(note)
