"""A request as the server understands it: path, verb and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.causes import Cause
from shards.objects import Resource

Query = Sequence[tuple[str, str]]

_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names. name "": the collection. namespace "": all of them, or a cluster-scoped resource."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def parse(cls, path: str) -> Target | None:
        """None where the path is none of an object or a collection."""
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 2:
            group, version, rest = "", parts[1], parts[2:]
        elif parts[0] == "apis" and len(parts) > 3:
            group, version, rest = parts[1], parts[2], parts[3:]
        else:
            return None
        namespace = ""
        within = rest[0] == "namespaces" and len(rest) > 2
        if within and not (group == "" and len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
            namespace, rest = rest[1], rest[2:]
        if len(rest) > 3:
            return None
        plural, name, subresource = (*rest, "", "")[:3]
        return cls(Resource(group, version, plural), namespace, name, subresource)


@dataclass(frozen=True, slots=True)
class Request:
    """headers: names in lower case."""

    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def user_agent(self) -> str:
        return self.headers.get("user-agent", "")

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip()

    def option(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def flag(self, name: str) -> bool:
        """Whether a query parameter is true; `?watch` without a value is."""
        for key, value in self.query:
            if key == name:
                return value in _TRUE or value == ""
        return False

    def has(self, name: str) -> bool:
        return any(key == name for key, _ in self.query)

    def number(self, name: str) -> int:
        """A whole number that is not negative, 0 where absent. Raises StatusError 400."""
        text = self.option(name)
        if not text:
            return 0
        try:
            return max(int(text), 0)
        except ValueError:
            raise statuses.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def dry_run(self) -> bool:
        """Raises StatusError 422 for anything but All."""
        value = self.option("dryRun")
        if value not in ("", "All"):
            message = f'Unsupported value: ["{value}"]: supported values: "All"'
            cause = Cause("FieldValueNotSupported", message, "dryRun")
            raise statuses.invalid_options(self._options_kind(), [cause])
        return value == "All"

    def _options_kind(self) -> str:
        kinds = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}
        return kinds.get(self.method, "ListOptions")


def verb_of(request: Request, target: Target) -> str:
    """As in an audit log."""
    if request.method == "GET":
        return "watch" if request.flag("watch") else "get" if target.name else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(request.method, request.method.lower())


class _Named(msgspec.Struct):
    name: str = ""


class _WithName(msgspec.Struct):
    metadata: _Named


def name_in(body: bytes | None) -> str:
    """Name of the object that a failed create wanted."""
    try:
        return msgspec.json.decode(body or b"", type=_WithName).metadata.name
    except msgspec.DecodeError:
        return ""
