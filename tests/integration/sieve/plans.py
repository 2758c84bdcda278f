"""Plans as data: what a user does, and which faults strike when which change of state is seen.

The grammar follows Sieve's plans (sieve-project/sieve, bug_reproduction_test_plans): a trigger names a change of one
object, who has to have seen it, and which of several it is; then its acts are carried out. A rule waits for its trigger
once the rule before it has struck: `a;b` of that grammar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shards.authoring.controller import Controller
from shards.objects import Object

THAW_SECONDS = 20.0
"""From the switch to the frozen replica until it goes on: the figure of Sieve's plans."""

ANY = object()
"""Of a field: any value but the one before."""


class At(StrEnum):
    """Who has seen the change. REQUEST: nobody, it is about to be sent, by whomever. SERVER: it is stored. VIEW: the
    controller's view has it. WRITE: the controller itself made it, and was not answered yet."""

    REQUEST = "before the server"
    SERVER = "after the server"
    VIEW = "after the controller's view"
    WRITE = "after the controller's write"


@dataclass(frozen=True)
class On:
    """A change of one object. verb: create, update or delete. name: with a trailing * what it begins with. Of verb,
    resource and name "" is any.

    path, becomes: of an update, which field has to change, as "spec.replicas", and to what; None: it goes. nth: which
    of several such changes, from 1. subresource: of a request, which one it names; None: any.
    """

    verb: str
    resource: str
    name: str
    path: str = ""
    becomes: Any = ANY
    nth: int = 1
    at: At = At.SERVER

    def names(self, resource: str, name: str) -> bool:
        if self.resource not in ("", resource):
            return False
        if self.name in ("", name):
            return True
        return self.name.endswith("*") and name.startswith(self.name[:-1])

    def changes(self, old: Object | None, new: Object | None) -> bool:
        """Whether the step from one state to the other is such a change, of whichever object."""
        verb = "create" if old is None else "delete" if new is None else "update"
        if self.verb not in ("", verb):
            return False
        if not self.path or verb == "delete":
            return True
        before, after = value_at(old, self.path), value_at(new, self.path)
        return before != after and (self.becomes is ANY or after == self.becomes)


def any_change(nth: int, at: At) -> On:
    """Of whatever object."""
    return On("", "", "", nth=nth, at=at)


def created(resource: str, name: str, *, nth: int = 1, at: At = At.SERVER) -> On:
    return On("create", resource, name, nth=nth, at=at)


def deleted(resource: str, name: str, *, nth: int = 1, at: At = At.SERVER) -> On:
    """It is gone."""
    return On("delete", resource, name, nth=nth, at=at)


def doomed(resource: str, name: str, *, nth: int = 1, at: At = At.SERVER) -> On:
    """It has got its deletionTimestamp."""
    return On("update", resource, name, "metadata.deletionTimestamp", nth=nth, at=at)


def changed(resource: str, name: str, path: str, becomes: Any = ANY, *, nth: int = 1, at: At = At.SERVER) -> On:
    return On("update", resource, name, path, becomes, nth, at)


def value_at(body: Object | None, path: str) -> Any:
    """The field, None where it or one on the way to it is missing. A part of digits is an index of a list."""
    found: Any = body
    for part in path.split("."):
        if isinstance(found, list):
            found = found[int(part)] if part.isdigit() and int(part) < len(found) else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


# -- acts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Freeze:
    """The spare front end stands still from here on."""


@dataclass(frozen=True)
class Switch:
    """After so many seconds, whoever acts for the keys sees them through the spare front end (how: see `Way`); that
    goes on THAW_SECONDS later."""


@dataclass(frozen=True)
class Crash:
    """The process ends at once, and its next one begins so many seconds later."""

    restart_seconds: float = 1.0


@dataclass(frozen=True)
class Hide:
    """The controller's watches do not show changes of these objects from here on. types: of events, all if empty."""

    resource: str
    name: str
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Show:
    """What happens from here on is shown again."""


@dataclass(frozen=True)
class Pause:
    """The controller's process stands still: it sends nothing, and takes nothing from its watches."""


@dataclass(frozen=True)
class Resume:
    """It goes on, after so many seconds."""

    after_seconds: float = 0.0


@dataclass(frozen=True)
class Delay:
    """From here on the controller's watches come so much later; of one resource, or of all."""

    seconds: float
    resource: str = ""


Act = Freeze | Delay | Switch | Crash | Hide | Show | Pause | Resume


@dataclass(frozen=True)
class Rule:
    on: On
    acts: tuple[Act, ...]


class Way(StrEnum):
    """How a stale view comes to act. RESTART: the process ends and begins anew on the spare front end, as in Sieve.
    TAKEOVER, HANDOVER: another worker stood by, with views from there; the owner is killed, or lets go as planned."""

    RESTART = "restart"
    TAKEOVER = "takeover"
    HANDOVER = "handover"


def stale(freeze: On, switch: On) -> tuple[Rule, ...]:
    """Stand still at one change, act on that view after another."""
    return Rule(freeze, (Freeze(),)), Rule(switch, (Switch(),))


def crash(on: On, *, restart_seconds: float = 1.0) -> tuple[Rule, ...]:
    return (Rule(on, (Crash(restart_seconds),)),)


def hidden(begin: On, end: On, *hides: Hide) -> tuple[Rule, ...]:
    """The controller never sees what lies between two changes. begin is best At.REQUEST, so that it is hidden too."""
    return Rule(begin, hides), Rule(end, (Show(),))


# -- the workload ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Make:
    body: Object


@dataclass(frozen=True)
class Change:
    """Merge patch."""

    resource: str
    name: str
    patch: Object


@dataclass(frozen=True)
class Remove:
    resource: str
    name: str


@dataclass(frozen=True)
class Until:
    """Waits for an object to be there, and for a field of it to have a value. equals None: for it to be gone."""

    resource: str
    name: str
    path: str = "metadata.uid"
    equals: Any = ANY
    within_seconds: float = 120.0

    def holds(self, body: Object | None) -> bool:
        found = value_at(body, self.path)
        return found is not None if self.equals is ANY else bool(found == self.equals)


def gone(resource: str, name: str) -> Until:
    return Until(resource, name, equals=None)


@dataclass(frozen=True)
class Wait:
    seconds: float


Step = Make | Change | Remove | Until | Wait


@dataclass(frozen=True)
class Scenario:
    """One bug of the catalogue. number: as there. kind: S, I, U or X. make: the operator that has it.

    fails_without, fails_with: what comes of it without the product's protections and with them; docs/stale-scenarios.md
    tells. live_read_suffices: whether that of what is deleted, alone, holds a stale one off.
    masked: fields of the end state that no two runs have in common, as "resource path".
    """

    number: int
    bug: str
    kind: str
    make: Callable[[], Controller]
    workload: tuple[Step, ...]
    rules: tuple[Rule, ...] = ()
    fails_without: bool = True
    fails_with: bool = False
    live_read_suffices: bool = True
    masked: frozenset[str] = field(default_factory=frozenset)

    @property
    def name(self) -> str:
        return f"{self.number:02} {self.bug}"
