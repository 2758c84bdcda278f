"""Those who use the operator of somebody's fleet in a cluster."""

from __future__ import annotations

from chaos.targets.api import BlockingApi
from chaos.targets.reach import refuse
from chaos.targets.target import TargetFailed
from fleet.dev.demo import observed, touched
from shards.objects import Resource


class KubePeople:
    """What `chaos.targets.target.People` asks, of the objects that are there. primary: None where nobody named it."""

    def __init__(self, api: BlockingApi, primary: Resource | None, namespace: str) -> None:
        self._api = api
        self._primary = primary
        self._namespace = namespace
        self._changes = 0

    @property
    def resource(self) -> Resource:
        if self._primary is None:
            raise TargetFailed("say with --primary which objects the fleet looks after, such as apps/v1/deployments")
        return self._primary

    @property
    def changes(self) -> int:
        return self._changes

    def add(self, count: int) -> None:
        refuse("making objects of somebody else's controller")

    def remove(self, count: int) -> list[str]:
        refuse("deleting objects of somebody else's controller")

    def unsettled(self) -> int:
        if self._primary is None:
            return 0
        return sum(1 for each in self._api.list(self._primary, self._namespace) if not observed(each))

    def touch(self) -> None:
        """An annotation on every object, once: a change that means nothing, and that the fleet has to look at."""
        for each in self._api.list(self.resource, self._namespace):
            self._api.patch(self.resource, self._namespace, each["metadata"]["name"], touched(each, self._changes))
            self._changes += 1

    def keep_changing(self, per_second: float) -> None:
        """Not here: objects of others are touched when an experiment says so, and no oftener."""
