"""The front ends of one cluster, by name."""

from __future__ import annotations

from typing import NamedTuple

from fleet.devcluster.faults import Forward
from fleet.devcluster.faults.replicas import Cache, Replicas
from shards.errors import ConfigError


class FrontEnd(NamedTuple):
    """forward: carries out its requests. replicas: where its faults can send them."""

    forward: Forward
    cache: Cache
    replicas: Replicas


class FrontEnds:
    """Each can hand its requests to every other one: where the fault `stale_replica` sends them."""

    def __init__(self) -> None:
        self._known: dict[str, FrontEnd] = {}

    def check(self, name: str) -> None:
        """Whether a front end may join under that name. Raises ConfigError."""
        if not name:
            raise ConfigError("name", "a front end needs a name; faults know it by that")
        if name in self._known:
            raise ConfigError("name", f"there is a front end {name!r} already; known are: {', '.join(self._known)}")

    def join(self, name: str, front_end: FrontEnd) -> None:
        """Makes it known to the others, and them to it. Raises ConfigError for a name that is taken."""
        self.check(name)
        for other, known in self._known.items():
            _make_known(other, known, front_end.replicas)
            _make_known(name, front_end, known.replicas)
        self._known[name] = front_end


def _make_known(name: str, front_end: FrontEnd, replicas: Replicas) -> None:
    replicas.routes[name], replicas.caches[name] = front_end.forward, front_end.cache
