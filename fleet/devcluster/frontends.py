"""The front ends of one cluster, by name."""

from __future__ import annotations

from fleet.devcluster.faults import Forward
from shards.errors import ConfigError


class FrontEnds:
    """Each can hand its requests to every other one: where the fault `stale_replica` sends them."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Forward, dict[str, Forward]]] = {}
        """What carries out the requests of a front end, and where it can hand them."""

    def join(self, name: str, forward: Forward, routes: dict[str, Forward]) -> None:
        """forward: carries out a request at the new front end. routes: by the names of others, filled in here.

        They are filled in later too, when another front end joins. Raises ConfigError for a name that is taken.
        """
        if not name:
            raise ConfigError("name", "a front end needs a name; faults know it by that")
        if name in self._known:
            raise ConfigError("name", f"there is a front end {name!r} already; known are: {', '.join(self._known)}")
        for other, (its_forward, its_routes) in self._known.items():
            routes[other] = its_forward
            its_routes[name] = forward
        self._known[name] = forward, routes
