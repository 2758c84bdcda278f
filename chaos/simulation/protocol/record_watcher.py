"""A watcher of records: the feed of a simulated view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.simulation.protocol.server import Event
from chaos.simulation.protocol.watcher import Watcher


class RecordWatcher(Watcher):
    """Holds records."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._records: dict[str, Any] = {}
        self._version = ""
        self._regressions = 0

    @property
    def version(self) -> str:
        return self._version

    @property
    def regressions(self) -> int:
        return self._regressions

    def replace(self, found: Mapping[str, Any], version: str) -> None:
        before = self._records
        if self._version and int(version) < int(self._version):
            self._regressions += 1
        self._records, self._version = dict(found), version
        for name in sorted(before.keys() | found.keys()):
            if before.get(name) != found.get(name):
                self._changed(name)

    def apply(self, event: Event) -> None:
        if event.found is None:
            self._records.pop(event.name, None)
        else:
            self._records[event.name] = event.found
        self._version = str(event.version)

    def record(self, name: str) -> Any:
        return self._records.get(name)

    def everything(self) -> dict[str, Any]:
        return dict(self._records)

    def holds(self, name: str) -> bool:
        return name in self._records
