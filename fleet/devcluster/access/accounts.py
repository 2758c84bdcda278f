"""The service account that every namespace has; on a real cluster a controller makes it."""

from __future__ import annotations

from collections.abc import Callable

from fleet.devcluster.kinds.resources import NAMESPACES
from fleet.devcluster.storage.storage import Commit, Storage
from shards.objects import Object, Resource

_ACCOUNTS = Resource("", "v1", "serviceaccounts")


class DefaultAccounts:
    """Makes one for every namespace that is there or comes."""

    def __init__(self, storage: Storage, seed: Callable[[Resource, Object], Object]) -> None:
        """seed: stores an object without a request."""
        self._seed = seed
        namespaces = storage.table(NAMESPACES)
        self._waiting = list(namespaces.objects)
        storage.listeners.append(self._follow)
        self.catch_up()

    def catch_up(self) -> None:
        """To be called between two requests: a listener must not write."""
        while self._waiting:
            self._seed(_ACCOUNTS, {"metadata": {"name": "default", "namespace": self._waiting.pop()}})

    def _follow(self, commit: Commit) -> None:
        if commit.kind.resource == NAMESPACES.resource and commit.old is None and commit.new is not None:
            self._waiting.append(commit.new.meta.name)
