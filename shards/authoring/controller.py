"""What an operator author declares: which objects, and what to do for one of them.

    websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")
    websites.owns("v1/configmaps")

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result | None: ...

A reconcile is level-based: it is told which object, never what happened to it, and may run at any time and again.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from shards.authoring.context import Context, Request
from shards.authoring.plain_context import PlainContext
from shards.errors import ConfigError
from shards.objects import Meta, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.indexes import Index
from shards.stores.intake import Transform

__all__ = [
    "Context",
    "Controller",
    "MapFunction",
    "PlainContext",
    "Request",
    "Result",
    "Watch",
    "identity_of",
    "scope_of",
]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

MapFunction = Callable[[Meta], Iterable[ObjectName]]
"""From the metadata of a watched object to the primaries that depend on it. Runs for old and new state; fast, pure."""

ReconcileFunction = Callable[..., "Awaitable[Result | None] | Result | None"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Result:
    """How a reconcile ended well. requeue_after_seconds: run again then, at the latest; None or 0: when something
    changes. requeue: run again soon, after a delay that doubles until a run ends without it, as for failures."""

    requeue_after_seconds: float | None = None
    requeue: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for what is no time to wait, and for both at once."""
        seconds: object = self.requeue_after_seconds
        if seconds is not None and not (isinstance(seconds, int | float) and 0 <= seconds < float("inf")):
            raise ValueError(f"requeue_after_seconds is a finite number of seconds, not {seconds!r}")
        if seconds and self.requeue:
            raise ValueError("give requeue_after_seconds to choose the time, or requeue to leave it to the queue")


@dataclass(frozen=True, slots=True)
class Watch:
    """A watched resource and the primaries that its objects concern."""

    resource: Resource
    map: MapFunction


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource a view holds, and what of them.

    namespaces: None for those of the fleet. Selectors as kubectl writes them, "" for all objects.
    """

    label_selector: str = ""
    field_selector: str = ""
    namespaces: tuple[str, ...] | None = None
    transform: Transform | None = None
    metadata_only: bool = False
    indexes: tuple[Index, ...] = ()


class Controller:
    """One reconcile function and the resources that wake it. Declared at import time; checked as it is declared.

    name: DNS label, unique in the fleet; part of metrics, logs and the fleet's identity.
    primary: the resource whose objects are reconciled, such as "apps/v1/deployments".
    label_selector, field_selector: which of its objects, besides what the fleet's scope says; as kubectl writes them.
    transform: drops, from objects on their way into the view, what no reconcile reads. metadata_only: keeps no more
    than metadata of them. indexes: what the view can be searched by.
    reconcile_timeout_seconds, resync_seconds: instead of the fleet's settings of the queue; a resync of 0 is none.
    degraded_condition: whether the condition shardfleet.dev/Degraded shows in the status of a primary whose destructive
    acts are paused. Raises ConfigError from every declaration that cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        primary: str,
        label_selector: str = "",
        field_selector: str = "",
        transform: Transform | None = None,
        metadata_only: bool = False,
        indexes: Sequence[Index] = (),
        reconcile_timeout_seconds: float | None = None,
        resync_seconds: float | None = None,
        degraded_condition: bool = True,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ConfigError("name", f"{name!r} is no controller name; use lower-case letters, digits and dashes")
        self.name = name
        self.primary = Resource.parse(primary, f"{name}.primary")
        self.selections: dict[Resource, Selection] = {}
        """What is held of each resource, by what its declaration says."""
        chosen = Selection(label_selector, field_selector, None, transform, metadata_only, tuple(indexes))
        self._select(self.primary, "primary", chosen)
        self.reconcile_timeout_seconds = _seconds(f"{name}.reconcile_timeout_seconds", reconcile_timeout_seconds)
        self.resync_seconds = _seconds(f"{name}.resync_seconds", resync_seconds, or_none=True)
        self.degraded_condition = degraded_condition
        self.owned: tuple[Resource, ...] = ()
        self.watched: tuple[Watch, ...] = ()
        self.plain = False
        """Whether the function is an ordinary one: it runs in a thread and cannot be cancelled."""
        self._function: ReconcileFunction | None = None
        self._takes_request = True

    def owns(
        self,
        resource: str,
        *,
        transform: Transform | None = None,
        metadata_only: bool = False,
        indexes: Sequence[Index] = (),
    ) -> Controller:
        """Objects of this resource are created by the reconcile and carry the primary as their controller.

        A change of one wakes its primary. The rest as for the primary. Returns the controller, for chaining.
        """
        owned = self._secondary(resource, "owns")
        kept = Selection(transform=transform, metadata_only=metadata_only, indexes=tuple(indexes))
        self._select(owned, "owns", kept)
        self.owned += (owned,)
        return self

    def watches(
        self,
        resource: str,
        *,
        map: MapFunction,
        namespaces: Sequence[str] | None = None,
        label_selector: str = "",
        field_selector: str = "",
        transform: Transform | None = None,
        metadata_only: bool = False,
        indexes: Sequence[Index] = (),
    ) -> Controller:
        """A change of these objects wakes the primaries that `map` names. Returns the controller, for chaining.

        `map` gets the metadata of the object before and after the change. namespaces: where to look; empty: in all of
        them, as for a resource without namespaces; None: in those of the fleet's scope. The rest as for the primary.
        """
        if not callable(map):
            raise ConfigError(f"{self.name}.watches", "map must be a function from Meta to names of primaries")
        if isinstance(namespaces, str):
            raise ConfigError(f"{self.name}.watches", f"namespaces is a list of names; write [{namespaces!r}]")
        watched = self._secondary(resource, "watches")
        where = None if namespaces is None else tuple(sorted(namespaces))
        chosen = Selection(label_selector, field_selector, where, transform, metadata_only, tuple(indexes))
        self._select(watched, "watches", chosen)
        self.watched += (Watch(watched, map),)
        return self

    def reconcile(self, function: F) -> F:
        """Decorator: the function that brings one primary to its desired state. Takes (ctx, request), or only (ctx).

        `async def` gets a Context. An ordinary `def` gets a PlainContext, whose methods block; it runs in a thread,
        which nothing can cancel: a worker that has to stop while it runs past its grace period exits as a process.
        """
        path = f"{self.name}.reconcile"
        if self._function is not None:
            raise ConfigError(path, "a controller has one reconcile function; declare a second controller")
        if not callable(function):
            raise ConfigError(path, "decorate a function that takes (ctx, request)")
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [each.name for each in inspect.signature(function).parameters.values() if each.kind in kinds]
        if len(names) not in (1, 2) or names[0] in ("request", "req"):
            raise ConfigError(path, f"the function must take (ctx, request) or (ctx), not ({', '.join(names)})")
        self._takes_request = len(names) == 2
        self.plain = not inspect.iscoroutinefunction(function)
        self._function = function
        return function

    def call(self, ctx: Context | PlainContext, request: Request) -> Awaitable[Result | None] | Result | None:
        """Calls the author's function. Raises ConfigError when there is none."""
        if self._function is None:
            raise ConfigError(f"{self.name}.reconcile", "missing; decorate a function with @controller.reconcile")
        return self._function(ctx, request) if self._takes_request else self._function(ctx)

    def check(self) -> None:
        """Raises ConfigError when the declaration is not complete."""
        if self._function is None:
            raise ConfigError(f"{self.name}.reconcile", "missing; decorate a function with @controller.reconcile")

    def _select(self, resource: Resource, verb: str, chosen: Selection) -> None:
        path = f"{self.name}.{verb}"
        for name in ("label_selector", "field_selector"):
            selector = getattr(chosen, name)
            if not isinstance(selector, str):
                raise ConfigError(path, f"{name} is text as kubectl writes it, such as 'tier=web', not {selector!r}")
        if chosen.transform is not None and not callable(chosen.transform):
            raise ConfigError(path, "transform must be a function from an object to what is kept of it")
        if len({index.name for index in chosen.indexes}) != len(chosen.indexes):
            raise ConfigError(path, "two indexes have one name")
        self.selections[resource] = chosen

    def _secondary(self, text: str, verb: str) -> Resource:
        path = f"{self.name}.{verb}"
        resource = Resource.parse(text, path)
        if resource == self.primary:
            raise ConfigError(path, f"{resource} is the primary; its changes wake the reconcile already")
        if resource in self.owned:
            raise ConfigError(path, f"{resource} is owned already; name each resource once")
        if any(resource == watch.resource for watch in self.watched):
            raise ConfigError(path, f"{resource} is watched already; name each resource once")
        return resource


def identity_of(controllers: Sequence[Controller]) -> str:
    """Digest of which controllers these are: names and primaries, in any order (design R16).

    Raises ConfigError for an incomplete declaration, and for two controllers of one name.
    """
    names = [controller.name for controller in controllers]
    if len(set(names)) != len(names) or not names:
        raise ConfigError("controllers", "give at least one controller, and each another name")
    for controller in controllers:
        controller.check()
    return _digest(f"{controller.name} {controller.primary}" for controller in controllers)


def scope_of(controllers: Sequence[Controller], scope: ScopeSettings) -> str:
    """Digest of what these controllers look at besides: owned and watched resources, namespaces, selectors.

    It may change from one revision to the next: a view of another scope cannot be compared, and is listed anew.
    """
    lines = [f"{','.join(sorted(scope.namespaces))} {scope.label_selector} {scope.field_selector}"]
    for controller in controllers:
        owned = ",".join(sorted(map(str, controller.owned)))
        watched = ",".join(sorted(str(watch.resource) for watch in controller.watched))
        lines.append(f"{controller.name} {owned} {watched}")
        for resource, each in controller.selections.items():
            if (each.label_selector, each.field_selector, each.namespaces) != ("", "", None):
                where = "" if each.namespaces is None else f"in {','.join(each.namespaces)}"
                lines.append(f"{controller.name} {resource} {each.label_selector} {each.field_selector} {where}")
    return _digest(lines)


def _seconds(path: str, value: object, *, or_none: bool = False) -> float | None:
    """A time to wait, None for no own one. Raises ConfigError."""
    if value is None or (value == 0 and or_none):
        return None if value is None else 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ConfigError(path, f"{value!r} is no number of seconds above 0")
    return float(value)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
