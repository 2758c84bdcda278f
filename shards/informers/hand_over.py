"""Who a view's changes are handed to. What they raise is reported, and stops neither the view nor anybody else."""

from __future__ import annotations

from collections.abc import Callable

from shards.informers.informer_meters import HANDLER, HookCounts
from shards.informers.informer_notes import InformerNotes
from shards.objects import Resource
from shards.stores.change import Change
from shards.stores.hooks import Hook


class HandOver:
    """handler, on_progress: as of `shards.informers.informer.Informer`. notes: told of a change before the handler
    is."""

    __slots__ = ("_failures", "_resource", "handler", "notes", "on_progress")

    def __init__(
        self,
        handler: Callable[[Change], None],
        on_progress: Callable[[], None],
        notes: InformerNotes,
        meters: HookCounts,
        resource: Resource,
    ) -> None:
        self.handler = handler
        self.on_progress = on_progress
        self.notes = notes
        self._resource = resource
        self._failures = Hook(HANDLER, handler, None, meters)

    def changed(self, change: Change) -> None:
        self.notes.changed(change)
        try:
            self.handler(change)
        except Exception as error:  # one bad object must not stop the others
            self._failures.failed(f"a change of {self._resource}", error)

    def progressed(self) -> None:
        try:
            self.on_progress()
        except Exception as error:  # as for the handler
            self._failures.failed(f"the progress of {self._resource}", error)
