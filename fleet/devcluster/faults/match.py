"""Which requests and which events a fault strikes."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

import msgspec

from fleet.devcluster.wire.requests import UNREADABLE, Request, Target, name_in, verb_of
from shards.api.useragent import UserAgent
from shards.errors import ConfigError
from shards.objects import Resource

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]

LARGEST = (1 << 63) - 1
"""Of whole numbers: what JSON readers agree on, and beyond all that is counted here."""

_VERSION_DIGITS = 40
"""The longest that a server can write has 39: 2^128 - 1 (KEP-5504)."""

_VERBS = get_args(Verb)
_EVENT_TYPES = get_args(EventType)


def version_in(text: str) -> int:
    """A resourceVersion as a number; 0 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _VERSION_DIGITS else 0


class Asked:
    """A request with what a selector looks at, each worked out at most once."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @cached_property
    def target(self) -> Target | None:
        """None where the path is none of an object or a collection."""
        return Target.parse(self.request.path)

    @cached_property
    def verb(self) -> str:
        """As in an audit log; the method in lower case where the path names no object."""
        return self.request.method.lower() if self.target is None else verb_of(self.request, self.target)

    @cached_property
    def name(self) -> str:
        """Of the object; of a create the name in its body."""
        if self.target is None:
            return ""
        return self.target.name or (name_in(self.request.body) if self.verb == "create" else "")

    @cached_property
    def member(self) -> str:
        """Name of the member of a fleet that asks, "" for anybody else."""
        agent = UserAgent.parse(self.request.user_agent)
        return "" if agent is None else agent.member


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Selects requests. A field that is left out selects all.

    verbs: any of them. resource: "v1/configmaps" or "apps/v1/deployments". name: of the object that the path names, or
    that a create makes. user_agent: a part of the header. member: of a fleet, as its User-Agent says. continues: only
    the pages of a list after its first.
    Raises ConfigError.
    """

    verbs: tuple[Verb, ...] = ()
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    member: str = ""
    continues: bool = False

    def __post_init__(self) -> None:
        unknown = [verb for verb in self.verbs if verb not in _VERBS]
        if unknown:
            raise ConfigError("match.verbs", f"{unknown[0]!r} is no verb; write {', '.join(_VERBS)}")
        if self.resource:
            Resource.parse(self.resource, "match.resource")

    def admits(self, asked: Asked) -> bool:
        """Whether the request is one of those."""
        if self.user_agent and self.user_agent not in asked.request.user_agent:
            return False
        if self.member and self.member != asked.member:
            return False
        if self.verbs and asked.verb not in self.verbs:
            return False
        if self.continues and not (asked.verb == "list" and asked.request.option("continue")):
            return False
        return not (self.resource or self.namespace or self.name or self.subresource) or self._names(asked)

    def _names(self, asked: Asked) -> bool:
        target = asked.target
        if target is None:
            return False
        return (
            (not self.resource or self.resource == str(target.resource))
            and (not self.namespace or self.namespace == target.namespace)
            and (not self.subresource or self.subresource == target.subresource)
            and (not self.name or self.name == asked.name)
        )


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Row(msgspec.Struct, frozen=True):
    object: _Object = msgspec.field(default_factory=lambda: _Object())


class _Object(msgspec.Struct, frozen=True):
    """rows: of a Table, as kubectl asks for it; each shows one object."""

    metadata: _Metadata = _Metadata()
    rows: tuple[_Row, ...] = ()


class Event(msgspec.Struct, frozen=True):
    """As much of a line of a watch as selectors look at."""

    type: str = ""
    object: _Object = _Object()

    @classmethod
    def of(cls, kind: str, name: str, namespace: str, version: int) -> Event:
        """kind: ADDED and so on."""
        return cls(kind, _Object(_Metadata(name, namespace, str(version))))

    @property
    def metadata(self) -> _Metadata:
        """Of the object; of a Table that of the object which it shows."""
        shown = self.object.rows[0].object if self.object.rows else self.object
        return shown.metadata

    @property
    def version(self) -> int:
        """The object's resourceVersion, 0 where it has none."""
        return version_in(self.metadata.resource_version or self.object.metadata.resource_version)

    @property
    def ends_initial_events(self) -> bool:
        """Whether it is the bookmark that ends the initial events (KEP-3157)."""
        shown = self.object.metadata.annotations or self.metadata.annotations or {}
        return "k8s.io/initial-events-end" in shown


_decoder = msgspec.json.Decoder(Event)


def event_in(line: bytes) -> Event | None:
    """None for a line that is no JSON event, such as one of a protobuf stream."""
    try:
        return _decoder.decode(line)
    except UNREADABLE:
        return None


class Events(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Selects events of a watch. A field that is left out selects all, bookmarks and errors aside.

    first_version, last_version: of the object, both included; 0 = no bound. Bookmarks and errors are selected only
    where `types` names them. Raises ConfigError.
    """

    types: tuple[EventType, ...] = ()
    namespace: str = ""
    name: str = ""
    first_version: int = 0
    last_version: int = 0

    def __post_init__(self) -> None:
        unknown = [each for each in self.types if each not in _EVENT_TYPES]
        if unknown:
            raise ConfigError("events.types", f"{unknown[0]!r} is no type; write {', '.join(_EVENT_TYPES)}")
        for field, version in (("first_version", self.first_version), ("last_version", self.last_version)):
            if not 0 <= version <= LARGEST:
                raise ConfigError(f"events.{field}", f"{version} is no resourceVersion; write 0 for no bound")
        if self.last_version and self.last_version < self.first_version:
            raise ConfigError("events.last_version", f"{self.last_version} is before first_version")

    def admit(self, event: Event) -> bool:
        """Whether the event is one of those."""
        metadata = event.metadata
        if event.type not in (self.types or ("ADDED", "MODIFIED", "DELETED")):
            return False
        if self.name and self.name != metadata.name:
            return False
        if self.namespace and self.namespace != metadata.namespace:
            return False
        return event.version >= self.first_version and (not self.last_version or event.version <= self.last_version)
