"""Controllers at work on an embedded server, and when they have nothing left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.reads.listoptions import filter_of
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.requests import Request
from shards.authoring.controller import Controller
from shards.errors import ConfigError
from shards.objects import Meta, ObjectName, Resource
from shards.shard import Shard
from shards.shard_views import ShardView
from shards.testing.observed import Failure, Failures
from shards.testing.virtual_time import loop_seconds

QUIET_SECONDS = 1.0
POLL_SECONDS = 0.05
_SHOWN = 5
"""Objects of a view that a message names."""


class NotSettled(TimeoutError):
    """Something was left to do when the time was up. The message names it; the cause is the last error of a key."""


class RunningControllers:
    """shard: the one that runs them all."""

    def __init__(self, server: ApiServer, shard: Shard, failures: Failures, garbage: asyncio.Task[None]) -> None:
        """garbage: the server's own controllers at work."""
        self.shard = shard
        self._server = server
        self._failures = failures
        self._garbage = garbage

    @property
    def errors(self) -> list[Failure]:
        """What reconciles raised so far, in order, also where a later run of the key succeeded.

        Not among them: conflicts and waiting, which a right function lets pass.
        """
        return list(self._failures.all)

    async def settled(self, *, within_seconds: float = 60.0, quiet_seconds: float = QUIET_SECONDS) -> None:
        """Returns when for a while nobody wrote anything, no key was ready, running, parked or failing, and every view
        showed what the server has.

        What is due later, such as `Result(requeue_after_seconds=300)`, is not waited for. Raises NotSettled, which
        names the keys with their errors, and what views lack; and what ends a test, such as `pytest.fail()`, when a
        reconcile has raised it.
        """
        __tracebackhide__ = True
        deadline = loop_seconds() + within_seconds
        before, since = None, loop_seconds()
        while True:
            self._failures.raise_outcome()
            if self._garbage.done():
                self._garbage.result()
            keys, now = self.shard.unsettled(), loop_seconds()
            state = self._server.storage.version, keys
            if state != before:
                before, since = state, now
            calm, late = not keys and now - since >= quiet_seconds, now >= deadline
            # Views are compared as a whole, which is not to be done at every look.
            behind = [text for view in self.shard.views.values() for text in self._lacks(view)] if calm or late else []
            if calm and not behind:
                return
            if late:
                raise self._not_settled(within_seconds, keys, behind)
            if behind:
                since = now
            await asyncio.sleep(POLL_SECONDS)

    def _not_settled(self, seconds: float, keys: Sequence[str], behind: Sequence[str]) -> NotSettled:
        last = self._failures.last
        told, cause = [], None
        for key in keys:
            failure = last.get(key.rpartition(" (")[0])
            told.append(f"{key}: {failure.error!r}" if failure is not None else key)
            cause = failure.error if failure is not None else cause
        what = "; ".join((*told, *behind)) or "no key is left, but objects are being written"
        error = NotSettled(f"not settled within {seconds:g} s: {what}")
        error.__cause__ = cause
        return error

    def _lacks(self, view: ShardView) -> Iterator[str]:
        """At most one sentence: how the view differs from what the server has."""
        kind = self._server.registry.get(view.source.resource)
        if kind is None:
            yield f"{view.source.resource} is not served any more"
            return
        asked = Request("GET", "", view.source.query())
        wanted = filter_of(kind, "".join(view.source.scope.namespaces), asked, sharded=True)
        table = self._server.storage.table(kind)
        metas = [each.meta for each in table.objects.values() if wanted.admits(each) and view.source.admits(each.meta)]
        store = view.store
        stale = [name for name, meta in _named(metas) if not _is_held(store.meta(name), meta)]
        there = {each.uid for each in metas}
        stale += [name for name, meta in _named(store.metas()) if meta.uid not in there]
        if stale:
            shown = ", ".join(map(str, stale[:_SHOWN])) + (", ..." if len(stale) > _SHOWN else "")
            trouble = f" ({view.informer.trouble})" if view.informer.trouble else ""
            yield f"the view of {view.name} does not show what the server has of {shown}{trouble}"


def _named(metas: Iterable[Meta]) -> Iterator[tuple[ObjectName, Meta]]:
    return ((ObjectName(each.namespace, each.name), each) for each in metas)


def _is_held(held: Meta | None, meta: Meta) -> bool:
    return held is not None and (held.uid, held.resource_version) == (meta.uid, meta.resource_version)


def check_served(controllers: Sequence[Controller], registry: Registry) -> None:
    """Raises ConfigError for a resource of theirs that the server does not have: its view would never be complete."""
    for controller in controllers:
        watched = [(each.resource, "watches") for each in controller.watched]
        owned = [(each, "owns") for each in controller.owned]
        for resource, verb in ((controller.primary, "primary"), *owned, *watched):
            require_served(resource, f"{controller.name}.{verb}", registry)


def require_served(resource: Resource, path: str, registry: Registry) -> None:
    """path: what is to blame. Raises ConfigError."""
    if registry.get(resource) is not None:
        return
    close = get_close_matches(str(resource), [str(each.resource) for each in registry], 1, 0.8)
    hint = f"did you mean {close[0]}? Otherwise install" if close else "install"
    raise ConfigError(
        path,
        f"nothing serves {resource}; {hint} its CustomResourceDefinition first: await cluster.install('my-crd.yaml')",
    )
